// SPDX-License-Identifier: MIT
// loader/python: a host that starts interpreters and calls into them: values across the
// border, exceptions, states, exit(), interrupts.

#define _GNU_SOURCE
#include "helpers.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VALUE_INT(n)	{.kind = GORGON_VALUE_INT, .integer = (n)}
#define VALUE_STRING(s) {.kind = GORGON_VALUE_STRING, .text = {(s), sizeof(s) - 1}}
#define VALUE_LIST(items)                                                                          \
	{.kind = GORGON_VALUE_LIST, .list = {(items), sizeof(items) / sizeof(*(items))}}

static struct gorgon_interp *start(void)
{
	return test_interp_start(NULL, NULL);
}

static void destroy(struct gorgon_interp *interp)
{
	assert_ok(gorgon_interp_destroy(interp));
}

static void run(struct gorgon_interp *interp, const char *source)
{
	assert_ok(gorgon_interp_run_string(interp, source, NULL));
}

// The error is an exception of @type whose message contains @message. Destroys it.
static void assert_raised(struct gorgon_error *err, const char *type, const char *message)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (!exception)
		fail_msg("%s", gorgon_error_message(err));
	assert_string_equal(exception->type, type);
	if (!strstr(exception->message, message))
		fail_msg("\"%s\" has no \"%s\"", exception->message, message);
	gorgon_error_destroy(err);
}

// Call f of __main__ with one argument.
static struct gorgon_error *call_f(struct gorgon_interp *interp, struct gorgon_value *arg,
				   struct gorgon_value *ret)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {arg, 1}};

	return gorgon_interp_call(interp, NULL, "f", &args, NULL, ret);
}

// An interpreter whose f gives back what it got.
static struct gorgon_interp *start_with_identity(void)
{
	struct gorgon_interp *interp = start();

	run(interp, "def f(x): return x");
	return interp;
}

// --- values -----------------------------------------------------------------------------

static void call_each_kind_of_value_comes_back_as_it_went(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value inner[] = {
		VALUE_INT(INT64_MIN),
		VALUE_INT(INT64_MAX),
		{.kind = GORGON_VALUE_FLOAT, .number = -0.5},
		{.kind = GORGON_VALUE_BOOL, .boolean = true},
		{.kind = GORGON_VALUE_BOOL, .boolean = false},
		{.kind = GORGON_VALUE_NONE},
		VALUE_STRING("gr\303\274n\0x"),
		{.kind = GORGON_VALUE_BYTES, .text = {"\0\377", 2}},
	};
	struct gorgon_value entry[] = {VALUE_STRING("key"), VALUE_LIST(inner)};
	struct gorgon_value dict = {.kind = GORGON_VALUE_DICT, .list = {entry, 1}}, ret, *items;

	(void)state;
	run(interp, "def f(x):\n"
		    "    assert x == {'key': [-2**63, 2**63-1, -0.5, True, False, None,\n"
		    "                         'gr\\xfcn\\0x', b'\\0\\xff']}, x\n"
		    "    assert [type(i) for i in x['key'][3:6]] == [bool, bool, type(None)]\n"
		    "    return x\n");
	assert_ok(call_f(interp, &dict, &ret));
	assert_int_equal(ret.kind, GORGON_VALUE_DICT);
	assert_int_equal(ret.list.count, 1);
	assert_string_equal(ret.list.items[0].text.data, "key");
	items = ret.list.items[1].list.items;
	assert_int_equal(ret.list.items[1].list.count, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(items[i].kind, inner[i].kind);
	assert_true(items[0].integer == INT64_MIN && items[1].integer == INT64_MAX);
	assert_true(items[2].number == -0.5 && items[3].boolean && !items[4].boolean);
	assert_int_equal(items[6].text.size, 7);
	assert_memory_equal(items[6].text.data, "gr\303\274n\0x", 8); // and a zero byte
	assert_int_equal(items[7].text.size, 2);
	assert_memory_equal(items[7].text.data, "\0\377", 3);
	gorgon_value_deinit(&ret);
	assert_int_equal(ret.kind, GORGON_VALUE_NONE);
	destroy(interp);
}

static void call_subclasses_cross_as_their_base(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, ret, *items;

	(void)state;
	run(interp, "import enum, collections\n"
		    "def f(x):\n"
		    "    return (enum.IntEnum('E', 'a b').b, type('F', (float,), {})(2.5),\n"
		    "            collections.OrderedDict(a=1), collections.namedtuple('P', 'x')(7),\n"
		    "            type('S', (str,), {})('s'), bytearray(b'ba'))\n");
	assert_ok(call_f(interp, &none, &ret));
	items = ret.list.items;
	assert_int_equal(ret.kind, GORGON_VALUE_LIST);
	assert_int_equal(ret.list.count, 6);
	assert_int_equal(items[0].integer, 2);
	assert_true(items[1].kind == GORGON_VALUE_FLOAT && items[1].number == 2.5);
	assert_int_equal(items[2].kind, GORGON_VALUE_DICT);
	assert_int_equal(items[3].list.items[0].integer, 7);
	assert_string_equal(items[4].text.data, "s");
	assert_true(items[5].kind == GORGON_VALUE_BYTES && !strcmp(items[5].text.data, "ba"));
	gorgon_value_deinit(&ret);
	destroy(interp);
}

static void call_result_that_cannot_cross_is_refused(void **state)
{
	static const struct {
		const char *expression, *text;
	} cases[] = {
		{"[0, {'a': {1}}]", "result[1][0]: a value of type set, expected None, bool, int"},
		{"2 ** 63", "result: an int that needs more than 64 bits"},
		{"[-2 ** 63 - 1]", "result[0]: an int that needs more than 64 bits"},
		{"cyclic", "result[0][0][0]: nested deeper than 64, or within itself"},
		{"own_value", "nested deeper than 64, or within itself"},
		{"doubled", "more than 1048576 values at once"},
		{"[None] * 1048576", "result: more than 1048576 values at once"},
		{"dict.fromkeys(range(600000))", "result: more than 1048576 values at once"},
		{"3j", "a value of type complex"},
	};
	struct gorgon_interp *interp = start();

	(void)state;
	run(interp, "cyclic = []; cyclic.append(cyclic)\n"
		    "own_value = {}; own_value['x'] = own_value\n"
		    "doubled = []\n"
		    "for i in range(50): doubled = [doubled, doubled]\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gorgon_value ret = VALUE_INT(42);
		char source[100];

		snprintf(source, sizeof(source), "def f(): return %s", cases[i].expression);
		run(interp, source);
		assert_error(gorgon_interp_call(interp, NULL, "f", NULL, NULL, &ret),
			     GORGON_ERROR_UNSUPPORTED, cases[i].text);
		assert_int_equal(ret.integer, 42); // untouched
		assert_ok(gorgon_interp_call(interp, NULL, "f", NULL, NULL, NULL));
	}
	destroy(interp);
}

static void call_largest_values_cross(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value ret, *inner = &ret;
	int depth = 0;

	(void)state;
	run(interp, "def f():\n"
		    "    x = []\n"
		    "    for i in range(63): x = [x]\n"
		    "    return x\n"
		    "def g(): return [None] * 1048575\n");
	assert_ok(gorgon_interp_call(interp, NULL, "f", NULL, NULL, &ret));
	for (; inner->list.count; inner = inner->list.items)
		depth++;
	assert_int_equal(depth, 63);
	gorgon_value_deinit(&ret);
	assert_ok(gorgon_interp_call(interp, NULL, "g", NULL, NULL, &ret));
	assert_int_equal(ret.list.count, 1048575);
	gorgon_value_deinit(&ret);
	destroy(interp);
}

static void call_arguments_that_cannot_cross_are_refused(void **state)
{
	struct gorgon_interp *interp = start_with_identity();
	struct gorgon_value cyclic = {.kind = GORGON_VALUE_LIST, .list = {&cyclic, 1}};
	struct gorgon_value unknown = {.kind = (enum gorgon_value_kind)8};
	struct gorgon_value huge = {.kind = GORGON_VALUE_BYTES, .text = {"x", SIZE_MAX}};
	struct gorgon_value utf8 = VALUE_STRING("\377");
	struct gorgon_value one = VALUE_INT(1);
	struct gorgon_value list_entry[] = {{.kind = GORGON_VALUE_LIST}, VALUE_INT(1)};
	struct gorgon_value unhashable = {.kind = GORGON_VALUE_DICT, .list = {list_entry, 1}};

	(void)state;
	assert_error(call_f(interp, &cyclic, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0][0][0]: nested deeper than 64, or within itself");
	assert_error(call_f(interp, &unknown, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0]: unknown kind of value");
	assert_error(call_f(interp, &huge, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0]: larger than memory can be");
	assert_raised(call_f(interp, &utf8, NULL), "UnicodeDecodeError", "invalid start byte");
	assert_raised(call_f(interp, &unhashable, NULL), "TypeError", "unhashable");
	assert_error(gorgon_interp_call(interp, NULL, "f", &one, NULL, NULL), GORGON_ERROR_ARGUMENT,
		     "f: args is of kind 2, expected a list (6)");
	assert_error(gorgon_interp_call(interp, NULL, "f", NULL, &one, NULL), GORGON_ERROR_ARGUMENT,
		     "f: kwargs is of kind 2, expected a dict (7)");
	assert_ok(call_f(interp, &one, NULL)); // none the worse for it
	destroy(interp);
}

static void call_keywords_and_dotted_names_arrive(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value list[] = {VALUE_INT(1), VALUE_INT(2)}, items[] = {VALUE_LIST(list)};
	struct gorgon_value keyword[] = {VALUE_STRING("separators"), {.kind = GORGON_VALUE_NONE},
					 VALUE_STRING("indent"), VALUE_INT(1)};
	struct gorgon_value args = VALUE_LIST(items), ret;
	struct gorgon_value kwargs = {.kind = GORGON_VALUE_DICT, .list = {keyword, 2}};

	(void)state;
	assert_ok(gorgon_interp_call(interp, "json", "dumps", &args, &kwargs, &ret));
	assert_string_equal(ret.text.data, "[\n 1,\n 2\n]");
	gorgon_value_deinit(&ret);
	assert_ok(gorgon_interp_call(interp, "os", "path.basename.__name__.upper", NULL, NULL, &ret));
	assert_string_equal(ret.text.data, "BASENAME");
	gorgon_value_deinit(&ret);
	destroy(interp);
}

// --- exceptions ---------------------------------------------------------------------------

static void call_exception_has_type_message_and_traceback(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err;

	(void)state;
	assert_ok(gorgon_interp_run_string(interp,
					   "def g(x):\n"
					   "    raise ValueError('first line\\nsecond')\n"
					   "def f(x):\n"
					   "    g(x)\n",
					   "host.py"));
	err = call_f(interp, &none, NULL);
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_EXCEPTION);
	assert_non_null(strstr(gorgon_error_message(err), ": ValueError: first line"));
	assert_null(strchr(gorgon_error_message(err), '\n'));
	assert_string_equal(gorgon_error_exception(err)->traceback,
			    "Traceback (most recent call last):\n"
			    "  File \"host.py\", line 4, in f\n"
			    "  File \"host.py\", line 2, in g\n"
			    "ValueError: first line\nsecond\n");
	assert_raised(err, "ValueError", "first line\nsecond");
	assert_null(gorgon_error_exception(NULL));
	destroy(interp);
}

static void run_each_way_to_fail_says_what(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	assert_raised(gorgon_interp_run_string(interp, "x = = 1", NULL), "SyntaxError",
		      "invalid syntax");
	assert_raised(gorgon_interp_run_string(interp, "import sys; sys.exit(3)", NULL), "SystemExit",
		      "3");
	assert_raised(gorgon_interp_run_string(interp, "import json; json.loads('{')", NULL),
		      "json.decoder.JSONDecodeError", "line 1 column 2");
	assert_raised(gorgon_interp_run_string(interp,
					       "class E(Exception):\n"
					       "    def __str__(self): raise RuntimeError\n"
					       "raise E", NULL),
		      "E", "(the message cannot be shown)");
	assert_raised(gorgon_interp_run_file(interp, "/nonexistent.py"), "FileNotFoundError",
		      "/nonexistent.py");
	assert_raised(gorgon_interp_run_module(interp, "nothing_of_that_name"), "ImportError",
		      "No module named nothing_of_that_name");
	assert_raised(gorgon_interp_call(interp, "nothing_of_that_name", "f", NULL, NULL, NULL),
		      "ModuleNotFoundError", "nothing_of_that_name");
	assert_raised(gorgon_interp_call(interp, "os", "path.nothing", NULL, NULL, NULL),
		      "AttributeError", "nothing");
	run(interp, "pass");
	destroy(interp);
}

static void run_file_defines_what_calls_find(void **state)
{
	static const char source[] = "# -*- coding: latin-1 -*-\n"
				     "def f(x): return __file__, __name__, '\374' + x\n";
	struct gorgon_interp *interp = start();
	struct gorgon_value x = VALUE_STRING("x"), ret;
	const char *path = test_temp("script.py");

	(void)state;
	test_write(path, source, sizeof(source) - 1);
	assert_ok(gorgon_interp_run_file(interp, path));
	assert_ok(call_f(interp, &x, &ret));
	assert_string_equal(ret.list.items[0].text.data, path);
	assert_string_equal(ret.list.items[1].text.data, "__main__");
	assert_string_equal(ret.list.items[2].text.data, "\303\274x");
	gorgon_value_deinit(&ret);
	destroy(interp);
}

static void run_module_is_main(void **state)
{
	const char *folder[] = {NULL, NULL};
	struct gorgon_start_opts opts = {.size = sizeof(opts)};
	static const char source[] = "import builtins\nbuiltins.seen = __name__\n";
	const char *file = test_temp("as_module.py");
	struct gorgon_interp *interp;

	(void)state;
	test_write(file, source, sizeof(source) - 1);
	folder[0] = strndupa(file, (size_t)(strrchr(file, '/') - file));
	opts.path = folder;
	interp = test_interp_start(NULL, &opts);
	assert_ok(gorgon_interp_run_module(interp, "as_module"));
	run(interp, "assert seen == '__main__'");
	destroy(interp);
}

// --- options ------------------------------------------------------------------------------

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
		     "one program per interpreter");
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
	struct gorgon_interp *interp = test_interp_create(NULL);
	int status;

	(void)state;
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "is not started");
	assert_error(gorgon_interp_stop(interp, 0), GORGON_ERROR_BUSY, "is not started");
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_error(gorgon_interp_start(interp, NULL), GORGON_ERROR_BUSY, "is started");
	assert_error(gorgon_interp_main(interp, 2, argv, &status), GORGON_ERROR_BUSY, "is started");
	assert_ok(gorgon_interp_stop(interp, 0));
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "one program per interpreter");
	assert_error(gorgon_interp_stop(interp, 0), GORGON_ERROR_BUSY, "one program per interpreter");
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

// --- threads ------------------------------------------------------------------------------

// Python code on a thread of its own.
struct thread {
	pthread_t thread;
	struct gorgon_interp *interp;
	const char *source;
	struct gorgon_error *err;
};

static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	__atomic_store_n(&thread->err,
			 gorgon_interp_run_string(thread->interp, thread->source, NULL),
			 __ATOMIC_RELEASE);
	return NULL;
}

static void spawn(struct thread *thread, struct gorgon_interp *interp, const char *source)
{
	*thread = (struct thread){.interp = interp, .source = source};
	assert_int_equal(pthread_create(&thread->thread, NULL, run_thread, thread), 0);
}

static struct gorgon_error *join(struct thread *thread)
{
	pthread_join(thread->thread, NULL);
	return thread->err;
}

static void call_threads_take_turns_in_one_interpreter(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread threads[8];

	(void)state;
	run(interp, "seen = []");
	for (int i = 0; i < 8; i++)
		spawn(&threads[i], interp,
		      "import threading\n"
		      "for i in range(1000): seen.append(threading.get_ident())\n");
	for (int i = 0; i < 8; i++)
		assert_ok(join(&threads[i]));
	run(interp, "assert len(seen) == 8000\n"
		    "assert threading.main_thread().ident == threading.get_ident()\n");
	destroy(interp);
}

static sem_t reached, go_on;

// Called by Python code, which ctypes lets go of the GIL for.
TEST_EXPORT void test_call_wait(void);
TEST_EXPORT void test_call_wait(void)
{
	sem_post(&reached);
	sem_wait(&go_on);
}

#define WAIT "import ctypes; ctypes.CDLL(None).test_call_wait()\n"

static void init_waiting(void)
{
	sem_init(&reached, 0, 0);
	sem_init(&go_on, 0, 0);
}

static void destroy_while_a_call_runs_is_busy(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread thread;

	(void)state;
	init_waiting();
	spawn(&thread, interp, WAIT "done = True\n");
	sem_wait(&reached);
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "calls are running in it");
	assert_error(gorgon_interp_stop(interp, 20), GORGON_ERROR_BUSY, "calls are running in it");
	run(interp, "assert 'done' not in globals()"); // as if nothing had happened
	sem_post(&go_on);
	assert_ok(join(&thread));
	run(interp, "assert done");
	destroy(interp);
}

static void *post_later(void *arg)
{
	(void)arg;
	usleep(100000);
	sem_post(&go_on);
	return NULL;
}

static void stop_that_waits_lets_calls_end_and_refuses_new_ones(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread first, waiting[3];
	pthread_t poster;

	(void)state;
	init_waiting();
	spawn(&first, interp, WAIT);
	sem_wait(&reached);
	// They wait for the GIL, or come too late: both is an ordinary end.
	for (int i = 0; i < 3; i++)
		spawn(&waiting[i], interp, "sum(range(100000))");
	pthread_create(&poster, NULL, post_later, NULL);
	assert_ok(gorgon_interp_stop(interp, -1));
	assert_ok(join(&first));
	for (int i = 0; i < 3; i++) {
		struct gorgon_error *err = join(&waiting[i]);

		assert_true(!err || gorgon_error_code(err) == GORGON_ERROR_BUSY);
		gorgon_error_destroy(err);
	}
	pthread_join(poster, NULL);
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "one program per interpreter");
	destroy(interp);
}

static struct gorgon_interp *called_back;
static struct gorgon_error *from_inside[3];

TEST_EXPORT void test_call_back(void);
TEST_EXPORT void test_call_back(void)
{
	from_inside[0] = gorgon_interp_run_string(called_back, "nested = True", NULL);
	from_inside[1] = gorgon_interp_stop(called_back, -1);
	from_inside[2] = gorgon_interp_destroy(called_back);
}

static void call_from_inside_nests_and_cannot_stop(void **state)
{
	(void)state;
	called_back = start();
	run(called_back, "import ctypes; ctypes.CDLL(None).test_call_back(); assert nested");
	assert_ok(from_inside[0]);
	assert_error(from_inside[1], GORGON_ERROR_BUSY, "cannot be stopped from inside");
	assert_error(from_inside[2], GORGON_ERROR_BUSY, "cannot be stopped from inside");
	destroy(called_back);
}

static void *stop_elsewhere(void *arg)
{
	return gorgon_interp_stop(arg, 0);
}

static void stop_on_another_thread_finalises(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread;
	void *err;

	(void)state;
	alarm(120); // instead of a hang
	pthread_create(&thread, NULL, stop_elsewhere, interp);
	pthread_join(thread, &err);
	alarm(0);
	assert_ok(err);
	destroy(interp);
}

// --- exit() -------------------------------------------------------------------------------

static void call_exit_ends_the_interpreter_not_the_host(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	struct thread thread;

	(void)state;
	test_hide_leaks(true); // nothing of it is finalised
	init_waiting();
	spawn(&thread, interp, WAIT "after = True\n");
	sem_wait(&reached);
	// As PyDLL: with the GIL, which the other call waits for.
	assert_error(gorgon_interp_run_string(interp, "import ctypes; ctypes.PyDLL(None).exit(5)",
					      NULL),
		     GORGON_ERROR_PYTHON, "its code has called exit(5)");
	sem_post(&go_on);
	assert_ok(join(&thread));
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "one program per interpreter");
	run(other, "assert True");
	destroy(interp);
	destroy(other);
	test_hide_leaks(false);
}

static struct gorgon_interp *inner;

TEST_EXPORT void test_call_inner(void);
TEST_EXPORT void test_call_inner(void)
{
	// exit() of the outer one in a call of the inner one's: it does not come back here.
	gorgon_error_destroy(
		gorgon_interp_run_string(inner, "ctypes.CDLL(None).test_call_outer()", NULL));
	fail_msg("came back");
}

static struct gorgon_interp *outer;

TEST_EXPORT void test_call_outer(void);
TEST_EXPORT void test_call_outer(void)
{
	gorgon_error_destroy(gorgon_interp_run_string(outer, "ctypes.CDLL(None).exit(6)", NULL));
	fail_msg("came back");
}

static void call_exit_through_another_interpreter_ends_both(void **state)
{
	(void)state;
	test_hide_leaks(true);
	outer = start();
	inner = start();
	run(outer, "import ctypes");
	run(inner, "import ctypes");
	assert_error(gorgon_interp_run_string(outer, "ctypes.CDLL(None).test_call_inner()", NULL),
		     GORGON_ERROR_PYTHON, "its code has called exit(6)");
	assert_error(gorgon_interp_run_string(inner, "pass", NULL), GORGON_ERROR_BUSY, "interpreter");
	destroy(inner);
	destroy(outer);
	test_hide_leaks(false);
}

// --- interrupts ----------------------------------------------------------------------------

struct interrupter {
	struct gorgon_interp *interp;
	struct gorgon_error *err;
};

static void *interrupt_when_reached(void *arg)
{
	struct interrupter *interrupter = arg;

	sem_wait(&reached);
	usleep(50000); // into the loop or the system call
	interrupter->err = gorgon_interp_interrupt(interrupter->interp);
	return NULL;
}

// Run @source on this thread, Python's main one, and interrupt it.
static void interrupt_main(struct gorgon_interp *interp, const char *source)
{
	struct interrupter interrupter = {.interp = interp};
	pthread_t thread;

	pthread_create(&thread, NULL, interrupt_when_reached, &interrupter);
	assert_raised(gorgon_interp_run_string(interp, source, NULL), "KeyboardInterrupt", "");
	pthread_join(thread, NULL);
	assert_ok(interrupter.err);
	// Nothing of it is left.
	run(interp, "for i in range(1000): pass\nimport time; time.sleep(0.001)");
}

#define REACHED "import ctypes; ctypes.CDLL(None).test_call_reached()\n"

TEST_EXPORT void test_call_reached(void);
TEST_EXPORT void test_call_reached(void)
{
	sem_post(&reached);
}

static void interrupt_main_thread_in_a_loop_and_in_system_calls(void **state)
{
	static const char *const sources[] = {
		REACHED TEST_LOOP,
		REACHED "import time; time.sleep(1000)\n",
		REACHED "import os; r, w = os.pipe(); os.read(r, 1)\n",
		REACHED "import threading; threading.Lock().acquire() and threading.Event().wait()\n",
	};
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = {.size = sizeof(opts.ns),
								      .no_signals = true}};
	struct gorgon_interp *interp;

	(void)state;
	alarm(120); // instead of a hang
	for (int quiet = 0; quiet < 2; quiet++) {
		init_waiting();
		interp = test_interp_start(quiet ? &opts : NULL, NULL);
		for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
			interrupt_main(interp, sources[i]);
		destroy(interp);
	}
	alarm(0);
}

static void interrupt_other_threads_in_a_loop(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	struct thread loops[2], bystander;

	(void)state;
	alarm(120);
	init_waiting();
	spawn(&bystander, other, REACHED "import time\n"
				 "until = time.monotonic() + 0.5\n"
				 "while time.monotonic() < until: pass\n");
	for (int i = 0; i < 2; i++)
		spawn(&loops[i], interp, REACHED TEST_LOOP);
	for (int i = 0; i < 3; i++)
		sem_wait(&reached);
	assert_ok(gorgon_interp_interrupt(interp));
	for (int i = 0; i < 2; i++)
		assert_raised(join(&loops[i]), "KeyboardInterrupt", "");
	run(interp, "for i in range(1000): pass");
	assert_ok(join(&bystander));
	destroy(interp);
	destroy(other);
	alarm(0);
}

// Processor time of a thread from the interrupt to its end.
static void *time_loop(void *arg)
{
	struct thread *thread = arg;

	assert_ok(gorgon_interp_start(thread->interp, NULL));
	return run_thread(arg);
}

static void interrupt_runaway_among_others_ends_soon(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL), *other = start();
	struct thread runaway = {.interp = interp, .source = REACHED TEST_LOOP}, busy;
	struct timespec before, after;
	clockid_t clock;
	double spent;

	(void)state;
	alarm(120);
	init_waiting();
	pthread_create(&runaway.thread, NULL, time_loop, &runaway);
	spawn(&busy, other, REACHED TEST_LOOP);
	sem_wait(&reached);
	sem_wait(&reached);
	assert_int_equal(pthread_getcpuclockid(runaway.thread, &clock), 0);
	clock_gettime(clock, &before);
	assert_ok(gorgon_interp_interrupt(interp));
	// The thread's clock can be read as long as it is not joined and not at its end.
	after = before;
	while (!clock_gettime(clock, &after) && !__atomic_load_n(&runaway.err, __ATOMIC_ACQUIRE))
		usleep(1000);
	spent = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	if (spent > 0.1 && !TEST_SANITIZED)
		fail_msg("took %.3f s of processor time, expected less than 0.1", spent);
	assert_raised(join(&runaway), "KeyboardInterrupt", "");
	assert_ok(gorgon_interp_interrupt(other));
	assert_raised(join(&busy), "KeyboardInterrupt", "");
	destroy(interp);
	destroy(other);
	alarm(0);
}

static void interrupt_of_nothing_is_nothing(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL);

	(void)state;
	assert_ok(gorgon_interp_interrupt(interp));
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_ok(gorgon_interp_interrupt(interp));
	run(interp, "for i in range(1000): pass");
	assert_ok(gorgon_interp_stop(interp, 0));
	assert_ok(gorgon_interp_interrupt(interp));
	destroy(interp);
}

static int enough;

static void *keep_interrupting(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
		gorgon_error_destroy(gorgon_interp_interrupt(arg));
	return NULL;
}

// Interrupts that come at any moment of short calls: each call ends in one of two ways, and
// none sees an interrupt of another.
static void interrupt_at_any_time_stays_with_its_call(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread;
	int interrupted = 0;

	(void)state;
	alarm(120);
	pthread_create(&thread, NULL, keep_interrupting, interp);
	for (int calls = 0; calls < 2000 || !interrupted; calls++) {
		struct gorgon_error *err = gorgon_interp_run_string(interp, "x = 1", NULL);

		if (err)
			assert_raised(err, "KeyboardInterrupt", "");
		interrupted += err != NULL;
	}
	__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	run(interp, "for i in range(100000): pass");
	destroy(interp);
	alarm(0);
}

static struct interrupter nested;

TEST_EXPORT void test_call_nested(void);
TEST_EXPORT void test_call_nested(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, interrupt_when_reached, &nested);
	// In the inner interpreter while the outer one is interrupted.
	from_inside[0] =
		gorgon_interp_run_string(inner, REACHED "import time; time.sleep(0.2)\n", NULL);
	pthread_join(thread, NULL);
}

static void interrupt_while_in_another_interpreter_comes_afterwards(void **state)
{
	(void)state;
	alarm(120);
	init_waiting();
	outer = start();
	inner = start();
	nested = (struct interrupter){.interp = outer};
	assert_raised(gorgon_interp_run_string(outer,
					       "import ctypes; ctypes.CDLL(None).test_call_nested()\n"
					       TEST_LOOP, NULL),
		      "KeyboardInterrupt", "");
	assert_ok(nested.err);
	assert_ok(from_inside[0]);
	destroy(inner);
	destroy(outer);
	alarm(0);
}

// Python in it handles SIGINT and does not get it: the process ends as without Python.
static int send_ctrl_c(void *arg)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = {.size = sizeof(opts.ns),
								      .no_signals = true}};

	test_interp_start(arg ? NULL : &opts, NULL);
	kill(getpid(), SIGINT);
	usleep(1000); // where a sanitizer delivers it
	return 7;
}

static void signals_kept_from_interpreters_are_the_hosts(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(send_ctrl_c, NULL), -SIGINT);
	assert_int_equal(test_in_child(send_ctrl_c, ""), 7);
}

static void interrupt_without_a_handler_is_refused(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	struct thread thread = {
		.interp = interp,
		.source = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" WAIT,
	};

	(void)state;
	init_waiting();
	pthread_create(&thread.thread, NULL, time_loop, &thread);
	sem_wait(&reached);
	assert_error(gorgon_interp_interrupt(interp), GORGON_ERROR_UNSUPPORTED,
		     "cannot be interrupted: it has no handler for SIGINT");
	sem_post(&go_on);
	assert_ok(join(&thread));
	destroy(interp);
}

// --- memory --------------------------------------------------------------------------------

#define MIB (1024 * 1024)

static struct gorgon_interp_stats stats_of(struct gorgon_interp *interp)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	assert_ok(gorgon_interp_get_stats(interp, &stats));
	return stats;
}

static struct gorgon_interp *start_limited(uint64_t limit)
{
	struct gorgon_start_opts opts = {.size = sizeof(opts), .memory_limit = limit};

	return test_interp_start(NULL, &opts);
}

static void stats_count_memory_and_calls(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_interp_stats first = stats_of(interp), now;

	(void)state;
	assert_true(first.heap_bytes > 0 && first.mapped_bytes > 0);
	run(interp, "large = bytearray(20 << 20)");
	now = stats_of(interp);
	assert_int_equal((now.heap_bytes - first.heap_bytes) / MIB, 20);
	run(interp, "del large; small = [object() for i in range(1000000)]");
	now = stats_of(interp);
	assert_true(now.mapped_bytes > first.mapped_bytes + 15 * MIB);
	run(interp, "del small\n"
		    "import time\n"
		    "until = time.thread_time() + 0.1\n"
		    "while time.thread_time() < until: pass\n");
	now = stats_of(interp);
	assert_true(now.mapped_bytes < first.mapped_bytes + 8 * MIB);
	assert_true(now.heap_bytes < first.heap_bytes + 8 * MIB);
	assert_int_equal(now.call_count - first.call_count, 3);
	assert_true(now.cpu_ns - first.cpu_ns >= 100000000);
	destroy(interp);
}

static void limit_passed_is_a_memory_error_there_only(void **state)
{
	static const char *const sources[] = {
		"x = [object() for i in range(10**8)]\n", // small blocks, in arenas
		"x = []\nwhile True: x.append(bytes(10**6))\n",
		"x = bytes(10**9)\n", // at once
		"def f():\n"
		"    x = {}\n"
		"    while True: x[len(x)] = str(len(x))\n"
		"f()\n",
	};
	struct gorgon_interp *limited = start_limited(64 * MIB), *other = start();
	struct thread bystander;

	(void)state;
	init_waiting();
	run(other, "y = bytearray(100 << 20)");
	spawn(&bystander, other, WAIT "y += bytes(10**8)\n");
	sem_wait(&reached);
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct gorgon_error *err = gorgon_interp_run_string(limited, sources[i], "host.py");

		assert_int_equal(gorgon_error_code(err), GORGON_ERROR_EXCEPTION);
		assert_non_null(strstr(gorgon_error_exception(err)->traceback,
				       "File \"host.py\", line "));
		assert_raised(err, "MemoryError", "");
		run(limited, "x = None; y = bytes(20 << 20)"); // it goes on
	}
	sem_post(&go_on);
	assert_ok(join(&bystander));
	destroy(limited);
	destroy(other);
}

// A hundred times 4 MiB in cycles, which only a collection gives back.
static void limit_near_collects_first(void **state)
{
	struct gorgon_interp *interp = start_limited(64 * MIB);

	(void)state;
	run(interp, "import gc; gc.set_threshold(0)\n"
		    "for i in range(100):\n"
		    "    cycle = [bytes(4 << 20)]\n"
		    "    cycle.append(cycle)\n");
	destroy(interp);
}

// What is held for good stays too much, but does not fail each call: there is room to clean up.
static void limit_passed_for_good_leaves_room_to_clean_up(void **state)
{
	static const char fill[] = "x = []\nwhile True: x.append(bytes(100000))\n";
	struct gorgon_interp *interp = start_limited(64 * MIB);

	(void)state;
	assert_raised(gorgon_interp_run_string(interp, fill, NULL), "MemoryError", "");
	run(interp, "y = [bytes(1000) for i in range(1000)]\n"
		    "assert len(x) > 500; del x\n");
	assert_raised(gorgon_interp_run_string(interp, fill, NULL), "MemoryError", "");
	destroy(interp);
}

static void limit_passed_on_another_thread_is_a_memory_error(void **state)
{
	struct gorgon_interp *interp = start_limited(64 * MIB);
	struct thread thread;

	(void)state;
	for (int i = 0; i < 2; i++) {
		spawn(&thread, interp, "def f():\n"
				       "    x = []\n"
				       "    while True: x.append(object())\n"
				       "f()\n");
		assert_raised(join(&thread), "MemoryError", "");
	}
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_each_kind_of_value_comes_back_as_it_went),
		cmocka_unit_test(call_subclasses_cross_as_their_base),
		cmocka_unit_test(call_result_that_cannot_cross_is_refused),
		cmocka_unit_test(call_largest_values_cross),
		cmocka_unit_test(call_arguments_that_cannot_cross_are_refused),
		cmocka_unit_test(call_keywords_and_dotted_names_arrive),
		cmocka_unit_test(call_exception_has_type_message_and_traceback),
		cmocka_unit_test(run_each_way_to_fail_says_what),
		cmocka_unit_test(run_file_defines_what_calls_find),
		cmocka_unit_test(run_module_is_main),
		cmocka_unit_test(start_options_are_what_python_sees),
		cmocka_unit_test(start_defaults_are_python3s),
		cmocka_unit_test(start_virtual_environment_is_found),
		cmocka_unit_test(start_refused_options_say_why),
		cmocka_unit_test(call_wrong_state_is_refused),
		cmocka_unit_test(stop_runs_atexit_and_joins_threads),
		cmocka_unit_test(destroy_loop_leaves_nothing),
		cmocka_unit_test(call_threads_take_turns_in_one_interpreter),
		cmocka_unit_test(destroy_while_a_call_runs_is_busy),
		cmocka_unit_test(stop_that_waits_lets_calls_end_and_refuses_new_ones),
		cmocka_unit_test(call_from_inside_nests_and_cannot_stop),
		cmocka_unit_test(stop_on_another_thread_finalises),
		cmocka_unit_test(call_exit_ends_the_interpreter_not_the_host),
		cmocka_unit_test(call_exit_through_another_interpreter_ends_both),
		cmocka_unit_test(interrupt_main_thread_in_a_loop_and_in_system_calls),
		cmocka_unit_test(interrupt_other_threads_in_a_loop),
		cmocka_unit_test(interrupt_runaway_among_others_ends_soon),
		cmocka_unit_test(interrupt_of_nothing_is_nothing),
		cmocka_unit_test(interrupt_at_any_time_stays_with_its_call),
		cmocka_unit_test(interrupt_while_in_another_interpreter_comes_afterwards),
		cmocka_unit_test(signals_kept_from_interpreters_are_the_hosts),
		cmocka_unit_test(interrupt_without_a_handler_is_refused),
		cmocka_unit_test(stats_count_memory_and_calls),
		cmocka_unit_test(limit_passed_is_a_memory_error_there_only),
		cmocka_unit_test(limit_near_collects_first),
		cmocka_unit_test(limit_passed_for_good_leaves_room_to_clean_up),
		cmocka_unit_test(limit_passed_on_another_thread_is_a_memory_error),
	};

	return cmocka_run_group_tests_name("call", tests, test_warm_up, NULL);
}
