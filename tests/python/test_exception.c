// SPDX-License-Identifier: MIT
// loader/python/calls/exception.c and run.c: how exceptions of Python code become errors of the host, for each way to run
// code.

#define _GNU_SOURCE
#include "calls.h"

#include <string.h>
#include <unistd.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_exception_has_type_message_and_traceback),
		cmocka_unit_test(run_each_way_to_fail_says_what),
		cmocka_unit_test(run_file_defines_what_calls_find),
		cmocka_unit_test(run_module_is_main),
	};

	return cmocka_run_group_tests_name("exception", tests, test_warm_up, NULL);
}
