// SPDX-License-Identifier: MIT
// loader/python: interpreters from the outside, and Python programs that check from the
// inside what they see.

#define _GNU_SOURCE
#include "helpers.h"

#include "ns/debug_root.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gorgon_interp *create(void)
{
	return test_interp_create(NULL);
}

static int run_code(struct gorgon_interp *interp, const char *code, const char *arg1,
		    const char *arg2)
{
	const char *argv[] = {"-I", "-c", code, arg1, arg2};
	int status = -1, argc = arg2 ? 5 : arg1 ? 4 : 3;

	assert_ok(test_interp_main(interp, argc, argv, &status));
	return status;
}

static void destroy(struct gorgon_interp *interp)
{
	assert_ok(gorgon_interp_destroy(interp));
}

// Runs a program in a new interpreter.
static int run_once(const char *code)
{
	struct gorgon_interp *interp = create();
	int status = run_code(interp, code, NULL, NULL);

	destroy(interp);
	return status;
}

// --- create and destroy ---------------------------------------------------------------

static void interp_create_default_describes_itself(void **state)
{
	struct gorgon_interp *interp = create();
	const struct gorgon_python *python = gorgon_interp_python(interp);

	(void)state;
	assert_non_null(strstr(python->libpython, "libpython3."));
	assert_non_null(gorgon_interp_ns(interp));
	assert_int_equal(gorgon_interp_count(), 1);
	assert_non_null(gorgon_interp_find_symbol(interp, "PyList_Append"));
	assert_null(gorgon_interp_find_symbol(interp, "PyNothing_AtAll"));
	destroy(interp);
	assert_int_equal(gorgon_interp_count(), 0);
}

static void interp_create_numbers_are_never_reused(void **state)
{
	struct gorgon_interp *first = create(), *second = create();
	unsigned number = gorgon_interp_number(first);

	(void)state;
	assert_int_equal(gorgon_interp_number(second), number + 1);
	destroy(second);
	second = create();
	assert_int_equal(gorgon_interp_number(second), number + 2);
	destroy(first);
	destroy(second);
}

static void interp_create_unknown_size_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = 3};
	struct gorgon_interp *interp = NULL;

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_opts: size is 3, expected");
	assert_null(interp);
}

static void interp_create_absent_python_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .python = "/nonexistent"};
	struct gorgon_interp *interp = NULL;

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_OS, "/nonexistent");
}

static void interp_create_copies_differ(void **state)
{
	struct gorgon_interp *interp[3] = {create(), create(), create()};

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < i; j++) {
			assert_ptr_not_equal(gorgon_interp_find_symbol(interp[i], "PyList_Append"),
					     gorgon_interp_find_symbol(interp[j], "PyList_Append"));
			assert_ptr_not_equal(gorgon_interp_find_symbol(interp[i], "_Py_NoneStruct"),
					     gorgon_interp_find_symbol(interp[j],
								       "_Py_NoneStruct"));
		}
	}
	for (int i = 0; i < 3; i++)
		destroy(interp[i]);
}

static void interp_create_debug_root_knows_number_and_library(void **state)
{
	struct gorgon_interp *interp = create();
	const struct gorgon_debug_ns *ns =
		(const struct gorgon_debug_ns *)(uintptr_t)gorgon_debug_root.ns_tail;
	const struct gorgon_debug_object *object =
		(const struct gorgon_debug_object *)(uintptr_t)ns->python_object;

	(void)state;
	assert_int_equal(ns->id, gorgon_ns_id(gorgon_interp_ns(interp)));
	assert_int_equal(ns->interp, gorgon_interp_number(interp));
	assert_int_equal(ns->python_minor, gorgon_interp_python(interp)->minor);
	assert_int_equal(ns->thread, 0);
	assert_string_equal((const char *)(uintptr_t)object->path,
			    gorgon_interp_python(interp)->libpython);
	destroy(interp);
}

static void interp_destroy_unused_leaves_nothing(void **state)
{
	struct test_snapshot before = test_snapshot();

	(void)state;
	for (int i = 0; i < 3; i++)
		destroy(create());
	destroy(NULL);
	assert_unchanged(&before);
}

// --- main ---------------------------------------------------------------------------------

static void interp_main_status_is_the_programs(void **state)
{
	static const struct {
		const char *code;
		int status;
	} cases[] = {
		{"pass", 0},
		{"import sys; sys.exit(7)", 7},
		{"import sys; sys.exit()", 0},
		{"import sys; sys.exit(256 + 3)", 3},
		{"import sys, os; sys.stderr = open(os.devnull, 'w'); raise SystemError", 1},
		{"import sys, os; sys.stderr = open(os.devnull, 'w'); sys.exit('text')", 1},
		{"import ctypes; ctypes.CDLL(None).exit(5)", 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status = run_once(cases[i].code);

		if (status != cases[i].status)
			fail_msg("%s: %d, expected %d", cases[i].code, status, cases[i].status);
	}
}

static void interp_main_second_program_is_busy(void **state)
{
	struct gorgon_interp *interp = create();
	int status = -1;

	(void)state;
	assert_int_equal(run_code(interp, "pass", NULL, NULL), 0);
	assert_error(gorgon_interp_main(interp, 0, NULL, &status), GORGON_ERROR_BUSY,
		     "has ended, and cannot be started again");
	assert_int_equal(status, -1);
	destroy(interp);
}

static void interp_main_arguments_and_executable_arrive(void **state)
{
	struct gorgon_interp *interp = create();

	(void)state;
	assert_int_equal(run_code(interp,
				  "import sys; assert sys.argv == ['-c', 'one', 'two'], sys.argv\n"
				  "assert '/bin/python3' in sys.executable, sys.executable\n"
				  "sys.exit(9)",
				  "one", "two"),
			 9);
	destroy(interp);
}

static void interp_main_file_is_run(void **state)
{
	static const char text[] = "import sys\nsys.exit(len(sys.argv) * 10)\n";
	const char *argv[] = {test_temp("program.py"), "a", "b"};
	struct gorgon_interp *interp = create();
	int status = -1;

	(void)state;
	test_write(argv[0], text, sizeof(text) - 1);
	assert_ok(test_interp_main(interp, 3, argv, &status));
	assert_int_equal(status, 30);
	destroy(interp);
}

static void interp_main_module_gorgon_tells_number_and_count(void **state)
{
	struct gorgon_interp *other = create(), *interp = create();
	char number[16];

	(void)state;
	snprintf(number, sizeof(number), "%u", gorgon_interp_number(interp));
	assert_int_equal(run_code(interp,
				  "import sys, gorgon\n"
				  "assert gorgon.interpreter == int(sys.argv[1])\n"
				  "assert gorgon.count() == 2",
				  number, NULL),
			 0);
	destroy(other);
	destroy(interp);
}

static ssize_t keep_output(void *ctx, int fd, const void *data, size_t size)
{
	char *text = ctx;

	if (fd == 1)
		strncat(text, data, size);
	return (ssize_t)size;
}

static void interp_main_output_goes_to_the_callback(void **state)
{
	char text[256] = "";
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					     .write_output = keep_output,
					     .write_ctx = text},
	};
	struct gorgon_interp *interp = test_interp_create(&opts);

	(void)state;
	assert_int_equal(run_code(interp, "print('hello', 6 * 7)", NULL, NULL), 0);
	assert_string_equal(text, "hello 42\n");
	destroy(interp);
}

// Each prints the address of its None.
static void interp_main_two_copies_have_different_none(void **state)
{
	char text[2][64] = {"", ""};
	struct gorgon_interp *both[2];
	void *none;

	// Both are alive at once: one after the other, they could get the same addresses.
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp_opts opts = {
			.size = sizeof(opts),
			.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
						     .write_output = keep_output,
						     .write_ctx = text[i]},
		};

		both[i] = test_interp_create(&opts);
		none = gorgon_interp_find_symbol(both[i], "_Py_NoneStruct");
		assert_int_equal(run_code(both[i], "print(id(None))", NULL, NULL), 0);
		assert_int_equal(strtoull(text[i], NULL, 10), (uintptr_t)none);
	}
	assert_string_not_equal(text[0], text[1]);
	for (int i = 0; i < 2; i++)
		destroy(both[i]);
}

static void range_of_libpython(struct gorgon_interp *interp, char *start, char *end)
{
	const struct gorgon_debug_ns *ns =
		(const struct gorgon_debug_ns *)(uintptr_t)gorgon_debug_root.ns_tail;
	const struct gorgon_debug_object *object =
		(const struct gorgon_debug_object *)(uintptr_t)ns->python_object;

	assert_int_equal(ns->interp, gorgon_interp_number(interp));
	sprintf(start, "%" PRIu64, object->start);
	sprintf(end, "%" PRIu64, object->end);
}

static void interp_main_ctypes_sees_its_own_copy(void **state)
{
	static const char code[] =
		"import ctypes, sys\n"
		"start, end = map(int, sys.argv[1:])\n"
		"def address(library):\n"
		"    return ctypes.cast(library.Py_GetVersion, ctypes.c_void_p).value\n"
		"own = ctypes.PyDLL(None), ctypes.CDLL(None), ctypes.pythonapi\n"
		"for library in own:\n"
		"    assert start <= address(library) < end, library\n"
		"ctypes.pythonapi.Py_GetVersion.restype = ctypes.c_char_p\n"
		"assert ctypes.pythonapi.Py_GetVersion().decode() == sys.version\n"
		"again = ctypes.CDLL('libpython3.%d.so.1.0' % sys.version_info.minor)\n"
		"assert start <= address(again) < end\n"
		"getpid = ctypes.CDLL('libc.so.6').getpid\n"
		"import os\n"
		"assert getpid() == os.getpid()\n";
	struct gorgon_interp *first = create(), *second;
	char start[24], end[24];

	(void)state;
	range_of_libpython(first, start, end);
	second = create();
	assert_int_equal(run_code(first, code, start, end), 0);
	range_of_libpython(second, start, end);
	assert_int_equal(run_code(second, code, start, end), 0);
	destroy(first);
	destroy(second);
}

static void interp_main_extension_modules_load(void **state)
{
	(void)state;
	assert_int_equal(run_once("import ssl, sqlite3, decimal, zlib, hashlib, socket, asyncio\n"
				  "db = sqlite3.connect(':memory:')\n"
				  "assert db.execute('select 6 * 7').fetchone() == (42,)\n"
				  "assert decimal.Decimal('1.1') * 2 == decimal.Decimal('2.2')\n"
				  "assert ssl.create_default_context() is not None\n"
				  "assert hashlib.sha256(b'').hexdigest().startswith('e3b0c442')\n"
				  "assert asyncio.run(asyncio.sleep(0, 5)) == 5\n"),
			 0);
}

static void interp_main_python_threads_and_subprocess_work(void **state)
{
	(void)state;
	assert_int_equal(run_once("import threading, subprocess, sys\n"
				  "seen = []\n"
				  "threads = [threading.Thread(target=seen.append, args=(i,))\n"
				  "           for i in range(8)]\n"
				  "[t.start() for t in threads]; [t.join() for t in threads]\n"
				  "assert sorted(seen) == list(range(8))\n"
				  "echo = subprocess.run(['/bin/echo', 'x'], capture_output=True)\n"
				  "assert echo.stdout == b'x\\n'\n"),
			 0);
}

static void interp_main_forked_child_ends_by_itself(void **state)
{
	(void)state;
	assert_int_equal(run_once("import os, sys, multiprocessing\n"
				  "child = os.fork()\n"
				  "if not child:\n"
				  "    import decimal\n"
				  "    sys.exit(5)\n"
				  "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5\n"
				  "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
				  "    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]\n"
				  "sys.exit(6)\n"),
			 6);
}

struct reader {
	FILE *in;
	sem_t locked, go_on;
};

// Holds a stream's lock and waits, like a thread in getline().
static void *hold_stream(void *arg)
{
	struct reader *reader = arg;

	flockfile(reader->in);
	sem_post(&reader->locked);
	sem_wait(&reader->go_on);
	funlockfile(reader->in);
	return NULL;
}

static void interp_main_host_waits_for_input_ends_all_the_same(void **state)
{
	struct reader reader = {.in = fopen("/dev/null", "r")};
	pthread_t thread;

	(void)state;
	assert_non_null(reader.in);
	sem_init(&reader.locked, 0, 0);
	sem_init(&reader.go_on, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_stream, &reader), 0);
	sem_wait(&reader.locked);
	alarm(120); // ends a process that hangs
	assert_int_equal(run_once("pass"), 0);
	alarm(0);
	sem_post(&reader.go_on);
	pthread_join(thread, NULL);
	fclose(reader.in);
}

// --- several at once --------------------------------------------------------------------------

struct program {
	struct gorgon_interp *interp;
	const char *code;
	int status;
	struct gorgon_error *err;
};

static void *run_program(void *arg)
{
	struct program *program = arg;
	const char *argv[] = {"-c", program->code};

	program->err = test_interp_main(program->interp, 2, argv, &program->status);
	return NULL;
}

static void run_at_once(const char *python, const char *code, int count)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .python = python};
	struct program programs[4];
	pthread_t threads[4];

	for (int i = 0; i < count; i++) {
		programs[i] = (struct program){.interp = test_interp_create(&opts), .code = code,
					       .status = -1};
		assert_int_equal(pthread_create(&threads[i], NULL, run_program, &programs[i]), 0);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		assert_ok(programs[i].err);
		assert_int_equal(programs[i].status, 0);
	}
	for (int i = 0; i < count; i++)
		destroy(programs[i].interp);
}

static void interp_main_four_threads_run_at_once(void **state)
{
	(void)state;
	run_at_once(NULL,
		    "import decimal, sqlite3, ssl, json\n"
		    "total = sum(i * i for i in range(20000))\n"
		    "assert total == 2666466670000\n"
		    "assert json.loads('[1, 2]') == [1, 2]\n",
		    4);
}

static void interp_main_numpy_in_two_threads_at_once(void **state)
{
	(void)state;
	if (access("build/venv/bin/python", X_OK))
		skip_because("no build/venv with numpy in the current directory (make venv)");
	run_at_once("build/venv/bin/python",
		    "import numpy, gorgon\n"
		    "a = numpy.arange(10000, dtype=float).reshape(100, 100)\n"
		    "assert (a @ numpy.eye(100) == a).all()\n"
		    "assert numpy.linalg.det(numpy.diag([1.0, 2.0, 3.0])) == 6.0\n",
		    2);
}

static sem_t started, go_on;

// Called by the Python program.
TEST_EXPORT void test_program_wait(void);
TEST_EXPORT void test_program_wait(void)
{
	sem_post(&started);
	sem_wait(&go_on);
}

static void interp_destroy_running_program_is_busy(void **state)
{
	struct program program = {
		.interp = create(),
		.code = "import ctypes; ctypes.CDLL(None).test_program_wait()",
		.status = -1,
	};
	pthread_t thread;

	(void)state;
	sem_init(&started, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, run_program, &program), 0);
	sem_wait(&started);
	assert_error(gorgon_interp_destroy(program.interp), GORGON_ERROR_BUSY,
		     "its program is running");
	sem_post(&go_on);
	pthread_join(thread, NULL);
	assert_ok(program.err);
	assert_int_equal(program.status, 0);
	destroy(program.interp);
}

// --- statistics --------------------------------------------------------------------

static void interp_get_stats_tells_time_and_memory(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .timing = true};
	struct gorgon_interp *interp = test_interp_create(&opts);
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	(void)state;
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_int_equal(stats.run_ns, 0);
	assert_int_equal(stats.init_ns, 0);
	assert_true(stats.load_ns > 0 && stats.relocate_ns > 0 && stats.register_ns > 0);
	assert_true(stats.object_count >= 1);
	assert_true(stats.private_bytes > 100000);
	assert_int_equal(run_code(interp, "import time; time.sleep(0.05)", NULL, NULL), 0);
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_true(stats.run_ns >= 50000000);
	assert_true(stats.init_ns > 0);
	destroy(interp);
}

static void interp_get_stats_unknown_size_is_refused(void **state)
{
	struct gorgon_interp *interp = create();
	struct gorgon_interp_stats stats = {.size = 1};

	(void)state;
	assert_error(gorgon_interp_get_stats(interp, &stats), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_stats: size is 1, expected");
	destroy(interp);
}

// Many interpreters, one after the other, leave no descriptors and mappings.
static void interp_destroy_loop_leaves_nothing(void **state)
{
	struct test_snapshot before, now;

	(void)state;
	run_once("import json");
	before = test_snapshot();
	for (int i = 0; i < 5; i++)
		assert_int_equal(run_once("import json"), 0);
	now = test_snapshot();
	assert_int_equal(now.file_maps, before.file_maps);
	assert_int_equal(now.fds, before.fds);
	assert_int_equal(now.images, before.images);
	assert_int_equal(now.jit_entries, before.jit_entries);
	assert_int_equal(now.objects, before.objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interp_create_default_describes_itself),
		cmocka_unit_test(interp_create_numbers_are_never_reused),
		cmocka_unit_test(interp_create_unknown_size_is_refused),
		cmocka_unit_test(interp_create_absent_python_is_refused),
		cmocka_unit_test(interp_create_copies_differ),
		cmocka_unit_test(interp_create_debug_root_knows_number_and_library),
		cmocka_unit_test(interp_destroy_unused_leaves_nothing),
		cmocka_unit_test(interp_main_status_is_the_programs),
		cmocka_unit_test(interp_main_second_program_is_busy),
		cmocka_unit_test(interp_main_arguments_and_executable_arrive),
		cmocka_unit_test(interp_main_file_is_run),
		cmocka_unit_test(interp_main_module_gorgon_tells_number_and_count),
		cmocka_unit_test(interp_main_output_goes_to_the_callback),
		cmocka_unit_test(interp_main_two_copies_have_different_none),
		cmocka_unit_test(interp_main_ctypes_sees_its_own_copy),
		cmocka_unit_test(interp_main_extension_modules_load),
		cmocka_unit_test(interp_main_python_threads_and_subprocess_work),
		cmocka_unit_test(interp_main_forked_child_ends_by_itself),
		cmocka_unit_test(interp_main_host_waits_for_input_ends_all_the_same),
		cmocka_unit_test(interp_main_four_threads_run_at_once),
		cmocka_unit_test(interp_main_numpy_in_two_threads_at_once),
		cmocka_unit_test(interp_destroy_running_program_is_busy),
		cmocka_unit_test(interp_get_stats_tells_time_and_memory),
		cmocka_unit_test(interp_get_stats_unknown_size_is_refused),
		cmocka_unit_test(interp_destroy_loop_leaves_nothing),
	};

	return cmocka_run_group_tests_name("interp", tests, test_warm_up, NULL);
}
