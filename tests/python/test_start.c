// SPDX-License-Identifier: MIT
// loader/python/start.c: options of a start, and the states of an interpreter until it is
// destroyed.

#define _GNU_SOURCE
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Wants no more than one.
static bool note_progress(void *ctx, const struct gorgon_value *value)
{
	int *count = ctx;

	assert_int_equal(value->kind, GORGON_VALUE_LIST);
	assert_int_equal(value->list.items[0].integer, *count);
	return !(*count)++;
}

static void start_progress_reaches_the_host_which_may_stop_it(void **state)
{
	int count = 0;
	struct gorgon_start_opts opts = {.size = sizeof(opts), .progress = note_progress,
					 .progress_ctx = &count};
	struct gorgon_interp *interp = test_interp_start(NULL, &opts);

	(void)state;
	assert_raised(gorgon_interp_run_string(interp,
					       "import gorgon\n"
					       "assert gorgon.progress([0]) is True\n"
					       "gorgon.progress([1])\n"
					       "gorgon.progress([2])\n",
					       NULL),
		      "KeyboardInterrupt", "");
	assert_int_equal(count, 2);
	destroy(interp);
	interp = start();
	run(interp, "import gorgon; assert gorgon.progress({1}) is False"); // nobody looks
	destroy(interp);
}

static void start_options_are_what_python_sees(void **state)
{
	static const char *const argv[] = {"-host", "gr\303\274n", NULL};
	static const char *const path[] = {"/a", "/b", NULL};
	static const char *const options[] = {"-X", "host=yes", "-W", "error", NULL};
	struct gorgon_start_opts opts = {.size = sizeof(opts), .argv = argv, .path = path,
					 .options = options, .isolated = true, .no_site = true};
	struct gorgon_interp *interp = test_interp_start(NULL, &opts);

	(void)state;
	run(interp, "import sys\n"
		    "assert sys.argv == ['-host', 'gr\\xfcn'], sys.argv\n"
		    "assert sys.path[:2] == ['/a', '/b'] and len(sys.path) > 3, sys.path\n"
		    "assert sys._xoptions == {'host': 'yes'} and sys.warnoptions == ['error']\n"
		    "assert sys.flags.isolated and sys.flags.no_site and 'site' not in sys.modules\n");
	destroy(interp);
}

static void start_defaults_are_python3s(void **state)
{
	struct gorgon_start_opts ignore = {.size = sizeof(ignore), .ignore_environment = true};
	struct gorgon_interp *interp;

	(void)state;
	setenv("PYTHONPATH", "/of/the/environment", 1);
	interp = start();
	run(interp, "import sys, os, __main__\n"
		    "assert sys.argv == [''] and 'site' in sys.modules\n"
		    "assert not sys.flags.isolated and not sys.flags.no_site\n"
		    "assert sys.path[0] == '/of/the/environment', sys.path\n"
		    "assert os.path.exists(sys.executable)\n"
		    "import gorgon; assert gorgon.count() == 1\n");
	destroy(interp);
	interp = test_interp_start(NULL, &ignore);
	run(interp, "import sys; assert '/of/the/environment' not in sys.path");
	destroy(interp);
	unsetenv("PYTHONPATH");
}

// PYTHONHOME of the process is meant for another Python, and children get it all the same. In an environment of the
// interpreter's own it is meant for the interpreter.
static void start_home_of_the_process_is_for_others(void **state)
{
	static const char *const own[] = {"PYTHONHOME=/nonexistent", NULL};
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	struct gorgon_interp *interp;

	(void)state;
	setenv("PYTHONHOME", "/nonexistent", 1);
	interp = start();
	run(interp, "import sys, os, subprocess\n"
		    "assert sys.prefix == sys.exec_prefix == '/usr', sys.prefix\n"
		    "assert os.environ['PYTHONHOME'] == '/nonexistent'\n"
		    "assert subprocess.check_output(['printenv', 'PYTHONHOME']) == b'/nonexistent\\n'\n");
	destroy(interp);
	unsetenv("PYTHONHOME");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .environment = own};
	interp = test_interp_create(&opts);
	assert_error(gorgon_interp_start(interp, NULL), GORGON_ERROR_PYTHON, "Python did not start");
	destroy(interp);
}

static void start_virtual_environment_is_found(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .python = "build/venv/bin/python"};
	struct gorgon_value arg = VALUE_INT(10), ret;
	struct gorgon_interp *interp;

	(void)state;
	if (access(opts.python, X_OK))
		skip_because("no build/venv in the current directory (make venv)");
	test_hide_leaks(true); // of numpy's
	interp = test_interp_start(&opts, NULL);
	run(interp, "import sys, numpy\n"
		    "assert sys.prefix.endswith('/build/venv') and sys.prefix != sys.base_prefix\n"
		    "def f(x): return numpy.arange(x, dtype=float).sum()\n");
	assert_ok(call_f(interp, &arg, &ret));
	assert_true(ret.kind == GORGON_VALUE_FLOAT && ret.number == 45);
	destroy(interp);
	test_hide_leaks(false);
}

static void start_refused_options_say_why(void **state)
{
	static const char *const unknown[] = {"--nothing-like-it", NULL};
	static const char *const version[] = {"-V", NULL};
	struct gorgon_start_opts opts = {.size = 1};
	struct gorgon_interp *interp = test_interp_create(NULL);

	(void)state;
	assert_error(gorgon_interp_start(interp, &opts), GORGON_ERROR_ARGUMENT,
		     "gorgon_start_opts: size is 1, expected");
	opts = (struct gorgon_start_opts){.size = sizeof(opts), .options = unknown};
	assert_error(gorgon_interp_start(interp, &opts), GORGON_ERROR_PYTHON,
		     "Python ended with status 2 instead of starting");
	assert_error(gorgon_interp_start(interp, NULL), GORGON_ERROR_BUSY,
		     "has ended, and cannot be started again");
	destroy(interp);
	interp = test_interp_create(NULL);
	opts.options = version;
	assert_error(gorgon_interp_start(interp, &opts), GORGON_ERROR_PYTHON,
		     "Python ended with status 0 instead of starting");
	destroy(interp);
}

// --- states -------------------------------------------------------------------------------

static void call_wrong_state_is_refused(void **state)
{
	const char *const argv[] = {"-c", "pass"};
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	struct gorgon_interp *interp = test_interp_create(NULL);
	int status;

	(void)state;
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "is not started");
	assert_error(gorgon_interp_try_stop(interp), GORGON_ERROR_BUSY, "is not started");
	assert_ok(gorgon_interp_start(interp, NULL));
	usleep(20000);
	assert_error(gorgon_interp_start(interp, NULL), GORGON_ERROR_BUSY, "is started");
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_true(stats.run_ns >= 20000000); // since the first one
	assert_error(gorgon_interp_main(interp, 2, argv, &status), GORGON_ERROR_BUSY, "is started");
	assert_ok(gorgon_interp_try_stop(interp));
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "has ended, and cannot be started again");
	assert_error(gorgon_interp_try_stop(interp), GORGON_ERROR_BUSY, "has ended, and cannot be started again");
	destroy(interp);
}

static void stop_runs_atexit_and_joins_threads(void **state)
{
	struct gorgon_interp *interp = start();
	const char *path = test_temp("atexit");
	char source[600];
	uint8_t *text;
	size_t size;

	(void)state;
	snprintf(source, sizeof(source),
		 "import atexit, threading, time\n"
		 "def note(x):\n"
		 "    with open('%s', 'a') as out: out.write(x)\n"
		 "def late(): time.sleep(0.2); note('thread ')\n"
		 "atexit.register(note, 'atexit ')\n"
		 "threading.Thread(target=late).start()\n",
		 path);
	run(interp, source);
	destroy(interp);
	text = test_read(path, &size);
	assert_int_equal(size, 14);
	assert_memory_equal(text, "thread atexit ", 14);
	free(text);
}

static void destroy_loop_leaves_nothing(void **state)
{
	struct test_snapshot before, now;

	(void)state;
	destroy(start_with_identity());
	before = test_snapshot();
	for (int i = 0; i < 5; i++)
		destroy(start_with_identity());
	now = test_snapshot();
	assert_int_equal(now.file_maps, before.file_maps);
	assert_int_equal(now.fds, before.fds);
	assert_int_equal(now.objects, before.objects);
	assert_int_equal(now.jit_entries, before.jit_entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_progress_reaches_the_host_which_may_stop_it),
		cmocka_unit_test(start_options_are_what_python_sees),
		cmocka_unit_test(start_defaults_are_python3s),
		cmocka_unit_test(start_home_of_the_process_is_for_others),
		cmocka_unit_test(start_virtual_environment_is_found),
		cmocka_unit_test(start_refused_options_say_why),
		cmocka_unit_test(call_wrong_state_is_refused),
		cmocka_unit_test(stop_runs_atexit_and_joins_threads),
		cmocka_unit_test(destroy_loop_leaves_nothing),
	};

	return cmocka_run_group_tests_name("start", tests, test_warm_up, NULL);
}
