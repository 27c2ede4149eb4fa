// SPDX-License-Identifier: MIT
// loader/elf/unwind.c: C++ exceptions, cancellation and backtraces through private
// frames.

#define _GNU_SOURCE
#include "helpers.h"

#include "../loader/elf/lock.h"
#include "../loader/elf/object.h"
#include "../loader/elf/unwind.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef int (*int_fn)(int);

extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

static void unwind_exception_inside_one_object_is_caught(void **state)
{
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_int_equal(SYMBOL(test_open(ns, "libthrow.so"), int_fn, "throw_inside")(4), 5);
	test_ns_destroy(ns);
}

// Some extension modules bring the unwinder and the C++ library along; that unwinder
// finds private frames through _dl_find_object() or dl_iterate_phdr(). That C++ library
// allocates a pool for emergencies which it never frees: not our leak.
static void unwind_exception_in_object_with_its_own_unwinder_is_caught(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};

	(void)state;
	if (__lsan_disable)
		__lsan_disable();
	for (int i = 0; i < 2; i++)
		assert_int_equal(SYMBOL(test_open(ns[i], "libthrow_static.so"), int_fn,
					"throw_inside")(i),
				 i + 1);
	if (__lsan_enable)
		__lsan_enable();
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

static void unwind_exception_across_two_objects_is_caught(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libcatch.so");

	(void)state;
	test_notes();
	assert_int_equal(SYMBOL(object, int_fn, "catch_own_type")(6), 6);
	assert_string_equal(test_notes(), "-guard ");
	assert_int_equal(SYMBOL(object, int_fn, "catch_standard_type")(7), 7);
	test_ns_destroy(ns);
}

static void (*thrower)(int);

// A frame of the program between two private ones.
static void host_frame(int value)
{
	thrower(value);
	test_note("not reached");
}

static void unwind_exception_through_host_frames_is_caught(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libcatch.so");

	(void)state;
	test_notes();
	thrower = SYMBOL(object, void (*)(int), "catch_nothing");
	assert_int_equal(SYMBOL(object, int (*)(void (*)(int), int), "catch_from")(host_frame, 8),
			 8);
	assert_string_equal(test_notes(), "-guard ");
	test_ns_destroy(ns);
}

static void unwind_many_copies_each_catch_their_own(void **state)
{
	struct gorgon_ns *ns[8];
	struct gorgon_object *object[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		ns[i] = test_ns();
		object[i] = test_open(ns[i], "libcatch.so");
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(SYMBOL(object[i], int_fn, "catch_own_type")(i), i);
	// Some go, the others still unwind.
	for (int i = 0; i < 8; i += 2)
		test_ns_destroy(ns[i]);
	for (int i = 1; i < 8; i += 2) {
		assert_int_equal(SYMBOL(object[i], int_fn, "catch_own_type")(i), i);
		test_ns_destroy(ns[i]);
	}
	test_notes();
}

static void unwind_load_throw_unload_loop_stays_right(void **state)
{
	struct test_snapshot before = test_snapshot();

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct gorgon_ns *ns = test_ns();

		assert_int_equal(SYMBOL(test_open(ns, "libcatch.so"), int_fn, "catch_own_type")(i),
				 i);
		test_ns_destroy(ns);
	}
	assert_int_equal(test_snapshot().file_maps, before.file_maps);
	test_notes();
}

static void *throw_in_thread(void *arg)
{
	int_fn fn = (int_fn)arg;
	intptr_t wrong = 0;

	for (int i = 0; i < 200; i++)
		wrong += fn(i) != i;
	return (void *)wrong;
}

static void unwind_threads_throw_while_others_load(void **state)
{
	struct gorgon_ns *ns = test_ns();
	void *fn = test_symbol(test_open(ns, "libcatch.so"), "catch_standard_type");
	pthread_t threads[2];
	void *wrong;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, throw_in_thread, fn), 0);
	for (int i = 0; i < 20; i++) {
		struct gorgon_ns *other = test_ns();

		test_open(other, "libcatch.so");
		test_ns_destroy(other);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	test_ns_destroy(ns);
}

static void *frames[32];
static int frame_count;

static int take_backtrace(void *arg)
{
	(void)arg;
	frame_count = backtrace(frames, 32);
	return 41;
}

static void unwind_backtrace_passes_private_frames(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	struct gorgon_object_info info;
	int private_frame = -1;

	(void)state;
	gorgon_object_get_info(object, &info);
	assert_int_equal(SYMBOL(object, int (*)(int (*)(void *), void *), "basic_call")(
				 take_backtrace, NULL),
			 42);
	for (int i = 0; i < frame_count; i++)
		if ((uintptr_t)frames[i] >= info.start && (uintptr_t)frames[i] < info.end)
			private_frame = i;
	assert_true(private_frame > 0);
	assert_true(frame_count > private_frame + 2); // and goes on behind it
	test_ns_destroy(ns);
	test_notes();
}

struct cancelled {
	int (*call)(int (*fn)(void *), void *arg);
	bool cleaned;
};

static void clean(void *arg)
{
	((struct cancelled *)arg)->cleaned = true;
}

static int end_thread(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
}

static void *run_and_end(void *arg)
{
	struct cancelled *cancelled = arg;

	pthread_cleanup_push(clean, cancelled);
	cancelled->call(end_thread, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

// pthread_exit() unwinds by force: a frame without unwind data would stop it.
static void unwind_thread_exit_below_private_frame_runs_cleanup(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct cancelled cancelled = {0};
	pthread_t thread;

	(void)state;
	cancelled.call = SYMBOL(test_open(ns, "libbasic.so"), int (*)(int (*)(void *), void *),
				"basic_call");
	assert_int_equal(pthread_create(&thread, NULL, run_and_end, &cancelled), 0);
	pthread_join(thread, NULL);
	assert_true(cancelled.cleaned);
	test_ns_destroy(ns);
	test_notes();
}

#define OBJECTS 1000
#define STEP	0x10000

static uint64_t address(int index)
{
	return UINT64_C(0x100000000000) + (uint64_t)index * STEP;
}

// Many objects that are nothing but addresses, with gaps between them, come and go in no
// order: each address is its object's while that is there, and nobody's before and after.
static void unwind_table_of_many_objects_finds_each(void **state)
{
	static struct gorgon_object objects[OBJECTS];
	static struct gorgon_image image;
	struct gorgon_ns *ns = test_ns();

	(void)state;
	gorgon_lock();
	for (int i = 0; i < OBJECTS; i++) {
		int k = i * 7 % OBJECTS;

		objects[k] = (struct gorgon_object){.start = address(k),
						    .end = address(k) + STEP / 2,
						    .image = &image,
						    .ns = ns};
		assert_null(gorgon_unwind_ns_at(address(k)));
		assert_ok(gorgon_unwind_register(&objects[k]));
	}
	for (int i = 0; i < OBJECTS; i++) {
		int k = i * 3 % OBJECTS;

		assert_ptr_equal(gorgon_unwind_ns_at(address(k)), ns);
		assert_ptr_equal(gorgon_unwind_ns_at(address(k) + STEP / 2 - 1), ns);
		assert_null(gorgon_unwind_ns_at(address(k) + STEP / 2));
		assert_null(gorgon_unwind_ns_at(address(k) - 1));
		gorgon_unwind_unregister(&objects[k]);
		assert_null(gorgon_unwind_ns_at(address(k)));
	}
	gorgon_unlock();
	test_ns_destroy(ns);
}

extern const void *_Unwind_Find_FDE(void *pc, void *bases);

// What private code has registered and left behind is not read after its memory has gone.
static void unwind_frames_that_private_code_registers_go_with_it(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libframes.so");
	void *(*make)(void) = SYMBOL(object, void *(*)(void), "frames_make");
	void *bases[3], *code[2] = {make(), make()};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_non_null(code[i]);
		assert_non_null(_Unwind_Find_FDE(code[i], bases));
	}
	SYMBOL(object, void (*)(void *), "frames_take_back")(code[0]);
	assert_null(_Unwind_Find_FDE(code[0], bases));
	assert_non_null(_Unwind_Find_FDE(code[1], bases));
	test_ns_destroy(ns);
	assert_null(_Unwind_Find_FDE(code[1], bases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwind_table_of_many_objects_finds_each),
		cmocka_unit_test(unwind_exception_inside_one_object_is_caught),
		cmocka_unit_test(unwind_exception_in_object_with_its_own_unwinder_is_caught),
		cmocka_unit_test(unwind_exception_across_two_objects_is_caught),
		cmocka_unit_test(unwind_exception_through_host_frames_is_caught),
		cmocka_unit_test(unwind_many_copies_each_catch_their_own),
		cmocka_unit_test(unwind_load_throw_unload_loop_stays_right),
		cmocka_unit_test(unwind_threads_throw_while_others_load),
		cmocka_unit_test(unwind_backtrace_passes_private_frames),
		cmocka_unit_test(unwind_thread_exit_below_private_frame_runs_cleanup),
		cmocka_unit_test(unwind_frames_that_private_code_registers_go_with_it),
	};

	return cmocka_run_group_tests_name("unwind", tests, test_warm_up, NULL);
}
