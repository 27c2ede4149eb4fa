// SPDX-License-Identifier: MIT
// loader/ns/unwind.c: C++ exceptions, cancellation and backtraces through private
// frames.

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"

#include "image/eh_frame.h"
#include "image/image.h"
#include "base/lock.h"
#include "ns/object.h"
#include "ns/unwind.h"

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

// Some extension modules bring the unwinder and the C++ library along. Their unwinder finds private frames through
// _dl_find_object() or dl_iterate_phdr(). Their C++ library allocates a pool for emergencies, which it never frees,
// so this leak is not ours.
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

// A function of the program that stands between two private functions in the stack.
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
	// Some copies go, and the others still unwind.
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
	// The backtrace goes on behind the private frame.
	assert_true(frame_count > private_frame + 2);
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

// pthread_exit() unwinds by force, and a frame without unwind data would stop it.
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

// Many objects that are only addresses, with gaps between them, come and go in no order: each address belongs to
// its object while the object is there, and to nobody before and after.
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

// When private code leaves behind what it has registered, this is not read after its memory has gone.
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

// --- which frames may be registered -------------------------------------------------------

// Reads a file's .eh_frame into a block of just its size.
static uint8_t *read_frames(const char *path, uint64_t *size, uint64_t *off)
{
	struct gorgon_image *image = NULL;
	const uint8_t *start;
	uint8_t *copy;

	gorgon_lock();
	assert_ok(gorgon_image_open(path, &image));
	assert_int_not_equal(image->eh_frame_vaddr, 0);
	*size = image->eh_frame_size;
	start = gorgon_image_at(image, image->eh_frame_vaddr, *size);
	*off = (uint64_t)(start - image->file);
	copy = malloc(*size);
	memcpy(copy, start, *size);
	gorgon_image_close(image);
	gorgon_unlock();
	return copy;
}

static void eh_frame_of_libraries_is_sound(void **state)
{
	const char *const paths[] = {
		test_module("libbasic.so"),   test_module("libthrow.so"), test_module("libcatch.so"),
		test_module("libbasic_gold.so"), "/usr/lib/" TEST_MULTIARCH "/libstdc++.so.6",
		"/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1.0"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		uint64_t size, off;
		uint8_t *bytes = read_frames(paths[i], &size, &off);
		bool sound = gorgon_eh_frame_is_sound(bytes, size);

		free(bytes);
		if (!sound)
			fail_msg("%s", paths[i]);
	}
}

// A CIE and an FDE as compilers write them, and a terminator.
static const uint8_t small_frames[] = {
	20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, // CIE
	20, 0, 0, 0, 28, 0, 0, 0, 1, 2, 3, 4, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0};

static const struct {
	unsigned at, size;
	uint32_t value;
} frame_damages[] = {
	{28, 4, 0x7ffffff0},		     // CIE far before the frames
	{28, 4, 0xfffffff0}, {28, 4, 29},    // behind them; in the middle of one
	{28, 4, 4},			     // an FDE for a CIE
	{24, 4, 7}, {24, 4, 0x1000}, {24, 4, UINT32_MAX}, // an FDE without its addresses; one that leaves
	{0, 4, 8}, {0, 4, 13},		     // a CIE that ends before its encoding
	{8, 1, 9}, {8, 1, 4},		     // versions: unknown; without its sizes
	{9, 1, 'x'}, {10, 1, 'x'}, // augmentations
	{16, 1, 0xff}, {16, 1, 0x9b}, {16, 1, 0x01}, {16, 1, 0x50}, {16, 1, 0x3b}, {16, 1, 0x05},
	{48, 4, 4},			     // no terminator
};

static void eh_frame_damaged_is_not_sound(void **state)
{
	uint8_t *bytes = malloc(sizeof(small_frames));

	(void)state;
	memcpy(bytes, small_frames, sizeof(small_frames));
	assert_true(gorgon_eh_frame_is_sound(bytes, sizeof(small_frames)));
	for (size_t i = 0; i < sizeof(frame_damages) / sizeof(*frame_damages); i++) {
		memcpy(bytes, small_frames, sizeof(small_frames));
		memcpy(bytes + frame_damages[i].at, &frame_damages[i].value, frame_damages[i].size);
		if (gorgon_eh_frame_is_sound(bytes, sizeof(small_frames)))
			fail_msg("damage %zu", i);
	}
	free(bytes);
}

// Whatever the bytes are and wherever they end, no byte outside is read (a sanitizer would notice).
static void eh_frame_of_any_bytes_is_read_inside(void **state)
{
	uint64_t size, off;
	uint8_t *whole = read_frames(test_module("libcatch.so"), &size, &off);
	unsigned sound = 0, seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t length = round % 2 ? (size_t)rand_r(&seed) % size : size;
		uint8_t *bytes = malloc(length + !length);

		memcpy(bytes, whole, length);
		for (unsigned i = 0; length && i < 1 + round % 3; i++)
			bytes[(size_t)rand_r(&seed) % length] = (uint8_t)rand_r(&seed);
		sound += gorgon_eh_frame_is_sound(bytes, length);
		free(bytes);
	}
	free(whole);
	assert_in_range(sound, 1, 19999);
}

// Where libgorgon was opened late, the unwinder reads all private frames for any exception of the host.
static void unwind_of_the_host_passes_by_unsound_frames(void **state)
{
	const char *path = test_temp("unsound.so");
	uint64_t frames_size, frames_off;
	uint32_t length, pointer = 0x7ffffff0;
	size_t size;
	uint8_t *data = test_read(test_module("libunwind_late.so"), &size);

	(void)state;
	free(read_frames(test_module("libunwind_late.so"), &frames_size, &frames_off));
	memcpy(&length, data + frames_off, 4);
	// A pointer of the first FDE, behind the CIE.
	memcpy(data + frames_off + 4 + length + 4, &pointer, 4);
	test_write(path, data, size);
	free(data);
	if (TEST_SANITIZED)
		skip_because("a sanitizer's runtime would have to be loaded from the start");
	assert_int_equal(test_run("/usr/bin/python3 -c '\n"
				  "from ctypes import *\n"
				  "gorgon = CDLL(\"%s\")\n"
				  "host = CDLL(\"%s\", RTLD_GLOBAL)\n"
				  "ns, object = c_void_p(), c_void_p()\n"
				  "assert not gorgon.gorgon_ns_create(None, byref(ns))\n"
				  "assert not gorgon.gorgon_object_open(ns, b\"%s\", None, byref(object))\n"
				  "assert host.unwind_here() == 5\n'",
				  test_module("../libgorgon.so"), test_module("libunwind_late.so"), path),
			 0);
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
		cmocka_unit_test(eh_frame_of_libraries_is_sound),
		cmocka_unit_test(eh_frame_damaged_is_not_sound),
		cmocka_unit_test(eh_frame_of_any_bytes_is_read_inside),
		cmocka_unit_test(unwind_of_the_host_passes_by_unsound_frames),
	};

	return cmocka_run_group_tests_name("unwind", tests, test_warm_up, NULL);
}
