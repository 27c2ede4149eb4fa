// SPDX-License-Identifier: MIT
// loader/python/ending.c: what runs at an interpreter's end, and what a quick end leaves out.

#define _GNU_SOURCE
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Each step of the end writes a word to a file.
#define PROGRAM                                                                                    \
	"import atexit, os, threading, time\n"                                                     \
	"out = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"                           \
	"class Says:\n"                                                                            \
	"    def __init__(self, word): self.word = word\n"                                         \
	"    def __del__(self): os.write(out, self.word + b' ')\n"                                 \
	"variable = Says(b'variable')\n"                                                           \
	"garbage = Says(b'cycle'); garbage.itself = garbage; del garbage\n"                        \
	"cycle = Says(b'cycle'); cycle.itself = cycle\n"                                           \
	"held = Says(b'held'); held_by = [held]; held_by.append(held_by); del held\n"              \
	"atexit.register(os.write, out, b'atexit ')\n"                                             \
	"def slow():\n"                                                                            \
	"    time.sleep(.1)\n"                                                                     \
	"    os.write(out, b'thread ')\n"                                                          \
	"threading.Thread(target=slow).start()\n"                                                  \
	"file = open(path + '.file', 'w')\n"                                                       \
	"file.write('flushed')\n"

static const struct gorgon_interp_opts quick = {.size = sizeof(quick), .end = GORGON_END_QUICK};

static char *text_of(const char *path)
{
	size_t size;
	char *bytes = (char *)test_read(path, &size), *ret = strndup(bytes, size);

	free(bytes);
	return ret;
}

static void check_end(const char *path, const char *expected)
{
	char name[300], *words = text_of(path), *file;

	snprintf(name, sizeof(name), "%s.file", path);
	file = text_of(name);
	assert_string_equal(words, expected);
	assert_string_equal(file, "flushed");
	free(words);
	free(file);
}

static void run_program(struct gorgon_interp *interp, const char *path)
{
	char code[400];

	snprintf(code, sizeof(code), "path = '%s'", path);
	run(interp, code);
	run(interp, PROGRAM);
}

static void stop_quickly_leaves_out_cycles_alone(void **state)
{
	const char *path = test_temp("quick"), *whole = test_temp("whole");
	struct gorgon_interp *interp = test_interp_start(&quick, NULL);
	char *words;

	(void)state;
	run_program(interp, path);
	assert_ok(gorgon_interp_try_stop(interp));
	check_end(path, "thread atexit variable ");
	destroy(interp);

	interp = start();
	run_program(interp, whole);
	assert_ok(gorgon_interp_try_stop(interp));
	words = text_of(whole);
	// A whole end has every step, so the words are right.
	assert_non_null(strstr(words, "cycle "));
	assert_non_null(strstr(words, "held "));
	free(words);
	destroy(interp);
}

static int main_status(const char *const *argv, int argc)
{
	struct gorgon_interp *interp;
	int status = -1;

	assert_ok(gorgon_interp_create(&quick, &interp));
	assert_ok(gorgon_interp_main(interp, argc, argv, &status));
	assert_ok(gorgon_interp_destroy(interp));
	return status;
}

static void main_that_ends_quickly_is_python3(void **state)
{
	const char *path = test_temp("main");
	char code[3000];

	(void)state;
	snprintf(code, sizeof(code), "path = '%s'\n%s", path, PROGRAM);
	assert_int_equal(main_status((const char *const[]){"-c", code}, 2), 0);
	check_end(path, "thread atexit variable ");
	assert_int_equal(main_status((const char *const[]){"-c", "raise SystemExit(7)"}, 2), 7);
	assert_int_equal(main_status((const char *const[]){"-c", "1/0"}, 2), 1);
	assert_int_equal(main_status((const char *const[]){"-V"}, 1), 0);
	assert_int_equal(main_status((const char *const[]){"-X", "tracemalloc=x", "-c", ""}, 4), 1);
	assert_int_equal(main_status((const char *const[]){"--no-such"}, 1), 2);
}

// The program may take back what it has registered with atexit, with a function of CPython's own tests.
static void stop_without_what_was_registered_is_whole(void **state)
{
	const char *path = test_temp("cleared");
	struct gorgon_interp *interp = test_interp_start(&quick, NULL);
	char *words;

	(void)state;
	run_program(interp, path);
	run(interp, "atexit._clear()");
	assert_ok(gorgon_interp_try_stop(interp));
	words = text_of(path);
	assert_non_null(strstr(words, "cycle "));
	free(words);
	destroy(interp);
}

static void use_once(void)
{
	struct gorgon_interp *interp = test_interp_start(&quick, NULL);

	run(interp, "import json, threading\n"
		    "big = [bytearray(1 << 20) for i in range(8)]; big.append(big)\n"
		    "small = [{i: str(i)} for i in range(20000)]; small.append(small)\n");
	destroy(interp);
}

static void quick_ends_give_the_memory_back(void **state)
{
	struct test_snapshot before;

	(void)state;
	use_once();
	use_once();
	before = test_snapshot();
	for (int i = 0; i < 5; i++)
		use_once();
	assert_unchanged(&before);
}

static void quick_end_where_memory_stays_is_refused(void **state)
{
	struct gorgon_interp_opts opts = quick;
	struct gorgon_interp *interp;

	(void)state;
	opts.isolate = GORGON_ISOLATE_COPY;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "end: isolation by ");
	opts.isolate = GORGON_ISOLATE_LOADER;
	opts.end = 2;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "end is 2, expected 0 to 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stop_quickly_leaves_out_cycles_alone),
		cmocka_unit_test(main_that_ends_quickly_is_python3),
		cmocka_unit_test(stop_without_what_was_registered_is_whole),
		cmocka_unit_test(quick_ends_give_the_memory_back),
		cmocka_unit_test(quick_end_where_memory_stays_is_refused),
	};

	return cmocka_run_group_tests_name("ending", tests, test_warm_up, NULL);
}
