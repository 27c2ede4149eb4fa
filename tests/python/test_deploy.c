// SPDX-License-Identifier: MIT
// What torch::deploy, another project with several Pythons in a process, tested of its interpreters: lives of
// interpreters across threads, thread-local storage of many threads and copies, constructors and exceptions per
// copy, and a program with Python's names.

#define _GNU_SOURCE
#include "helpers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 8
#define COPIES 2

// --- what this program exports ---------------------------------------------------------

// libtls_user.so refers to it.
TEST_EXPORT __thread int test_host_tls = 77;

// A program that contains a Python has such names in its global scope. Nobody may call these functions.
static int python_names_called;

#define PYTHON_NAME(name)                                                                          \
	TEST_EXPORT int name(void);                                                                \
	TEST_EXPORT int name(void)                                                                 \
	{                                                                                          \
		return ++python_names_called;                                                      \
	}

PYTHON_NAME(PyList_Append)
PYTHON_NAME(PyObject_Str)
PYTHON_NAME(_PyObject_New)
PYTHON_NAME(Py_IncRef)
// No libpython has this name, so only the program's could be found.
PYTHON_NAME(PyHost_Only)

TEST_EXPORT int host_only(void);
TEST_EXPORT int host_only(void)
{
	return 5;
}

// --- interpreters ----------------------------------------------------------------------

static int run_code(struct gorgon_interp *interp, const char *code)
{
	const char *const argv[] = {"-I", "-c", code};
	int status = -1;

	assert_ok(test_interp_main(interp, 3, argv, &status));
	return status;
}

// Does what a manager of several interpreters does. Returns the number that the next interpreter gets.
static unsigned manage_three(unsigned number)
{
	struct gorgon_interp *interp[3];

	for (unsigned i = 0; i < 3; i++) {
		interp[i] = test_interp_create(NULL);
		assert_int_equal(gorgon_interp_number(interp[i]), number + i);
	}
	assert_int_equal(gorgon_interp_count(), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(run_code(interp[i], "import json, gorgon\n"
						     "assert gorgon.count() == 3\n"
						     "raise SystemExit(gorgon.interpreter)"),
				 number + i);
	for (unsigned i = 0; i < 3; i++)
		assert_ok(gorgon_interp_destroy(interp[i]));
	assert_int_equal(gorgon_interp_count(), 0);
	return number + 3;
}

static unsigned next_number(void)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	unsigned ret = gorgon_interp_number(interp) + 1;

	assert_ok(gorgon_interp_destroy(interp));
	return ret;
}

static void interp_create_after_all_were_destroyed_starts_anew(void **state)
{
	unsigned number = manage_three(next_number());
	struct test_snapshot before = test_snapshot(), now;

	(void)state;
	manage_three(number);
	now = test_snapshot();
	assert_int_equal(now.file_maps, before.file_maps);
	assert_int_equal(now.fds, before.fds);
	assert_int_equal(now.images, before.images);
	assert_int_equal(now.jit_entries, before.jit_entries);
	assert_int_equal(now.namespaces, before.namespaces);
	assert_int_equal(now.objects, before.objects);
}

// A step of an interpreter's life, run by a thread. The main thread reports failures.
struct life {
	struct gorgon_interp *interp;
	pthread_barrier_t *together; // NULL: alone
	unsigned number;
	int status;
	struct gorgon_error *err;
};

static void *create_in_thread(void *arg)
{
	struct life *life = arg;

	if (life->together)
		pthread_barrier_wait(life->together);
	life->err = gorgon_interp_create(NULL, &life->interp);
	if (!life->err)
		life->number = gorgon_interp_number(life->interp);
	return NULL;
}

static void *run_in_thread(void *arg)
{
	struct life *life = arg;
	const char *const argv[] = {"-I", "-c", "import decimal, gorgon, threading\n"
						"assert str(decimal.Decimal(1) / 4) == '0.25'\n"
						"assert threading.main_thread() is "
						"threading.current_thread()\n"
						"raise SystemExit(gorgon.interpreter % 256)"};

	life->err = test_interp_main(life->interp, 3, argv, &life->status);
	return NULL;
}

static void *destroy_in_thread(void *arg)
{
	struct life *life = arg;

	life->err = gorgon_interp_destroy(life->interp);
	return NULL;
}

static void *live_in_thread(void *arg)
{
	struct life *life = arg;

	create_in_thread(life);
	if (!life->err)
		run_in_thread(life);
	if (!life->err)
		destroy_in_thread(life);
	return NULL;
}

static void interp_create_eight_threads_at_once_have_their_own(void **state)
{
	unsigned first = next_number();
	struct life lives[THREADS] = {0};
	pthread_t threads[THREADS];
	pthread_barrier_t together;
	bool seen[THREADS] = {false};

	(void)state;
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		lives[i].together = &together;
		assert_int_equal(pthread_create(&threads[i], NULL, live_in_thread, &lives[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
	for (int i = 0; i < THREADS; i++) {
		assert_ok(lives[i].err);
		assert_in_range(lives[i].number, first, first + THREADS - 1);
		assert_false(seen[lives[i].number - first]);
		seen[lives[i].number - first] = true;
		assert_int_equal(lives[i].status, lives[i].number % 256);
	}
	assert_int_equal(gorgon_interp_count(), 0);
}

static void interp_destroy_on_a_third_thread_leaves_nothing(void **state)
{
	void *(*const steps[])(void *) = {create_in_thread, run_in_thread, destroy_in_thread};
	struct test_snapshot before = test_snapshot();
	struct life life = {0};

	(void)state;
	// Each thread has ended when the next begins.
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, steps[i], &life), 0);
		pthread_join(thread, NULL);
		assert_ok(life.err);
	}
	assert_int_equal(life.status, life.number % 256);
	assert_int_equal(test_snapshot().file_maps, before.file_maps);
	assert_int_equal(test_snapshot().jit_entries, before.jit_entries);
	assert_int_equal(test_snapshot().namespaces, before.namespaces);
}

// --- thread-local storage --------------------------------------------------------------

// One copy of libtls_user.so and of libtls.so, which it needs.
struct tls {
	int *(*value)(void);	     // initialised, in libtls.so
	int *(*value_by_user)(void); // the same, as libtls_user.so refers to it
	int *(*zero)(void);	     // zero-initialised
	int (*local_next)(void);     // two static ones, incremented, and their sum
	int *(*host)(void);	     // this program's
};

struct tls_user {
	const struct tls *tls; // of all copies
	pthread_barrier_t *together;
	int number;
	const char *wrong;
};

static const char *first_use(const struct tls *tls)
{
	if (*tls->value() != 11 || *tls->zero() != 0)
		return "a thread did not find the initial values";
	if (tls->local_next() != 22 + 1)
		return "a thread did not find the initial values of static variables";
	if (tls->value_by_user() != tls->value())
		return "an extern variable is not the one that its library defines";
	if (tls->host() != &test_host_tls)
		return "the program's variable is not the program's";
	return NULL;
}

static const char *later_use(const struct tls *tls, int number, int copy)
{
	if (*tls->value() != 100 * number + copy || *tls->zero() != -number - copy)
		return "a variable has another thread's or copy's value";
	if (tls->local_next() != 22 + 3)
		return "a static variable has another thread's or copy's value";
	if (*tls->host() != 77 + number)
		return "the program's variable has another thread's value";
	return NULL;
}

static void *use_tls(void *arg)
{
	struct tls_user *user = arg;

	for (int i = 0; i < COPIES && !user->wrong; i++) {
		user->wrong = first_use(&user->tls[i]);
		*user->tls[i].value() = 100 * user->number + i;
		*user->tls[i].zero() = -user->number - i;
	}
	if (!user->wrong && *user->tls[0].host() != 77)
		user->wrong = "a thread did not find the program's initial value";
	test_host_tls += user->number;
	pthread_barrier_wait(user->together); // all have written
	for (int i = 0; i < COPIES && !user->wrong; i++)
		user->wrong = later_use(&user->tls[i], user->number, i);
	return NULL;
}

static void tls_get_addr_eight_threads_and_two_copies_do_not_mix(void **state)
{
	struct gorgon_ns *ns[COPIES];
	struct tls tls[COPIES];
	struct tls_user users[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t together;

	(void)state;
	for (int i = 0; i < COPIES; i++) {
		struct gorgon_object *object;

		ns[i] = test_ns();
		object = test_open(ns[i], "libtls_user.so");
		tls[i] = (struct tls){
			.value = SYMBOL(object, int *(*)(void), "tls_value_at"),
			.value_by_user = SYMBOL(object, int *(*)(void), "tls_user_private"),
			.zero = SYMBOL(object, int *(*)(void), "tls_zero_at"),
			.local_next = SYMBOL(object, int (*)(void), "tls_local_next"),
			.host = SYMBOL(object, int *(*)(void), "tls_user_host"),
		};
	}
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		users[i] = (struct tls_user){tls, &together, i + 1, NULL};
		assert_int_equal(pthread_create(&threads[i], NULL, use_tls, &users[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (users[i].wrong)
			fail_msg("thread %d: %s", i, users[i].wrong);
	}
	pthread_barrier_destroy(&together);
	for (int i = 0; i < COPIES; i++)
		test_ns_destroy(ns[i]);
}

// --- constructors and destructors ---------------------------------------------------------

static void *call_in_thread(void *fn)
{
	((size_t (*)(void))fn)();
	return NULL;
}

static void join_call(void *fn)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, call_in_thread, fn), 0);
	pthread_join(thread, NULL);
}

static void thread_atexit_objects_of_two_libraries_end_in_reverse_order(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "liblifetime_b.so");

	(void)state;
	test_notes();
	join_call(test_symbol(object, "lifetime_touch_both"));
	assert_string_equal(test_notes(), "+a.first +a.second +b.first +b.second "
					  "-b.second -b.first -a.second -a.first ");
	// A thread that uses only one of the libraries has only the variables of that library.
	join_call(test_symbol(object, "lifetime_touch_a"));
	assert_string_equal(test_notes(), "+a.first +a.second -a.second -a.first ");
	test_ns_destroy(ns);
	test_notes();
}

static int count_notes(const char *notes, const char *what)
{
	int count = 0;

	for (; (notes = strstr(notes, what)); notes += strlen(what))
		count++;
	return count;
}

static void thread_atexit_objects_of_many_threads_and_copies_each_end_once(void **state)
{
	struct gorgon_ns *ns[COPIES];
	void *touch[COPIES];
	pthread_t threads[THREADS];
	const char *notes;

	(void)state;
	for (int i = 0; i < COPIES; i++) {
		ns[i] = test_ns();
		touch[i] = test_symbol(test_open(ns[i], "liblifetime_b.so"), "lifetime_touch_both");
	}
	test_notes();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_in_thread,
						touch[i % COPIES]),
				 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	notes = test_notes();
	assert_int_equal(count_notes(notes, "+a.first "), THREADS);
	assert_int_equal(count_notes(notes, "-a.first "), THREADS);
	assert_int_equal(count_notes(notes, "+b.second "), THREADS);
	assert_int_equal(count_notes(notes, "-b.second "), THREADS);
	for (int i = 0; i < COPIES; i++)
		test_ns_destroy(ns[i]);
	assert_null(strstr(test_notes(), ".first"));
}

static void init_global_objects_are_made_once_per_copy(void **state)
{
	struct gorgon_ns *ns[3];

	(void)state;
	test_notes();
	for (int i = 0; i < 3; i++) {
		ns[i] = test_ns();
		test_open(ns[i], "liblifetime_b.so");
		assert_string_equal(test_notes(), "+a.global +b.global ");
		// Objects that exist already are not made again.
		test_open(ns[i], "liblifetime_a.so");
		test_open(ns[i], "liblifetime_b.so");
		assert_string_equal(test_notes(), "");
	}
	for (int i = 0; i < 3; i++) {
		test_ns_destroy(ns[i]);
		assert_string_equal(test_notes(), "-b.global -a.global ");
	}
}

// --- exceptions ---------------------------------------------------------------------------

// One copy throws through a function pointer that another called. Its own type has the
// same name in both, which is what the C++ library compares.
static void unwind_exception_from_one_copy_into_another_is_caught(void **state)
{
	struct gorgon_ns *ns[COPIES];
	int (*catch_from[COPIES])(void (*)(int), int);
	void (*throws[COPIES])(int);

	(void)state;
	test_notes();
	for (int i = 0; i < COPIES; i++) {
		struct gorgon_object *object;

		ns[i] = test_ns();
		object = test_open(ns[i], "libcatch.so");
		catch_from[i] = SYMBOL(object, int (*)(void (*)(int), int), "catch_from");
		throws[i] = SYMBOL(object, void (*)(int), "catch_nothing");
	}
	assert_ptr_not_equal(throws[0], throws[1]);
	assert_int_equal(catch_from[0](throws[1], 8), 8);
	assert_int_equal(catch_from[1](throws[0], 9), 9);
	assert_string_equal(test_notes(), "-guard -guard ");
	for (int i = 0; i < COPIES; i++)
		test_ns_destroy(ns[i]);
}

// --- Python's names in the program ---------------------------------------------------------

typedef int (*(*target_fn)(void))(void);

static void scope_find_python_name_of_the_program_is_not_found(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;

	(void)state;
	// A library that asks for another name finds it in the program.
	object = test_open(ns, "libhost_name.so");
	assert_ptr_equal(SYMBOL(object, target_fn, "python_name_target")(), host_only);
	assert_error(gorgon_object_open(ns, test_module("libpython_name.so"), NULL, &object),
		     GORGON_ERROR_UNRESOLVED, "PyHost_Only");
	assert_null(SYMBOL(test_open(ns, "libpython_name_weak.so"), target_fn,
			   "python_name_target")());
	test_ns_destroy(ns);
}

static void scope_find_python_name_of_the_program_is_libpythons(void **state)
{
	static const char *const names[] = {"PyList_Append", "PyObject_Str", "_PyObject_New",
					    "Py_IncRef"};
	void *const fakes[] = {PyList_Append, PyObject_Str, _PyObject_New, Py_IncRef};
	struct gorgon_interp *interp = test_interp_create(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(fakes) / sizeof(*fakes); i++) {
		void *own = gorgon_interp_find_symbol(interp, names[i]);

		assert_non_null(own);
		assert_ptr_not_equal(own, fakes[i]);
	}
	assert_null(gorgon_interp_find_symbol(interp, "PyHost_Only"));
	// Extension modules call all four; ctypes looks names up as dlsym does.
	assert_int_equal(
		run_code(interp,
			 "import ctypes, decimal, json, _json, sqlite3, datetime, zoneinfo\n"
			 "assert str(decimal.Decimal('1.50') + 1) == '2.50'\n"
			 "assert json.loads('[1, \"a\", {\"b\": 2}]') == [1, 'a', {'b': 2}]\n"
			 "db = sqlite3.connect(':memory:')\n"
			 "assert db.execute('select 1 union select 2').fetchall() == [(1,), (2,)]\n"
			 "items = []\n"
			 "append = ctypes.pythonapi.PyList_Append\n"
			 "append.argtypes = ctypes.py_object, ctypes.py_object\n"
			 "assert append(items, 'x') == 0 and items == ['x']\n"
			 "assert ctypes.CDLL(None).host_only() == 5\n"
			 "for library in ctypes.pythonapi, ctypes.CDLL(None):\n"
			 "    assert not hasattr(library, 'PyHost_Only'), library\n"),
		0);
	assert_int_equal(python_names_called, 0);
	assert_ok(gorgon_interp_destroy(interp));
}

// With --share somebody may ask for this: the system's linker would load a libpython for the library.
static void system_dlopen_library_that_needs_libpython_is_refused(void **state)
{
	static const char *const share[] = {"libneeds_python.so", NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = share};
	void *(*open_here)(const char *, int);
	const char *(*error_here)(void);
	struct gorgon_object *object = NULL;
	struct gorgon_ns *ns = NULL;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	assert_error(gorgon_object_open(ns, test_module("libneeds_python_user.so"), NULL, &object),
		     GORGON_ERROR_ARGUMENT, "libneeds_python.so: is to be shared by option");
	object = test_open(ns, "libdl.so");
	open_here = SYMBOL(object, void *(*)(const char *, int), "user_dlopen");
	error_here = SYMBOL(object, const char *(*)(void), "user_dlerror");
	assert_null(open_here(test_module("libneeds_python.so"), RTLD_NOW));
	assert_non_null(strstr(error_here(), "libneeds_python.so: "));
	test_ns_destroy(ns);
}

static void scope_find_libpython_of_a_private_library_is_the_copys(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	struct gorgon_ns *ns = gorgon_interp_ns(interp);

	(void)state;
	assert_ptr_equal(SYMBOL(test_open(ns, "libneeds_python.so"), target_fn,
				"python_name_target")(),
			 gorgon_interp_find_symbol(interp, "PyList_Append"));
	assert_ok(gorgon_interp_destroy(interp));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interp_create_after_all_were_destroyed_starts_anew),
		cmocka_unit_test(interp_create_eight_threads_at_once_have_their_own),
		cmocka_unit_test(interp_destroy_on_a_third_thread_leaves_nothing),
		cmocka_unit_test(tls_get_addr_eight_threads_and_two_copies_do_not_mix),
		cmocka_unit_test(thread_atexit_objects_of_two_libraries_end_in_reverse_order),
		cmocka_unit_test(thread_atexit_objects_of_many_threads_and_copies_each_end_once),
		cmocka_unit_test(init_global_objects_are_made_once_per_copy),
		cmocka_unit_test(unwind_exception_from_one_copy_into_another_is_caught),
		cmocka_unit_test(scope_find_python_name_of_the_program_is_not_found),
		cmocka_unit_test(scope_find_python_name_of_the_program_is_libpythons),
		cmocka_unit_test(system_dlopen_library_that_needs_libpython_is_refused),
		cmocka_unit_test(scope_find_libpython_of_a_private_library_is_the_copys),
	};

	return cmocka_run_group_tests_name("deploy", tests, test_warm_up, NULL);
}
