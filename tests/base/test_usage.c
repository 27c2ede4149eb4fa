// SPDX-License-Identifier: MIT
// loader/base/usage.c: what an interpreter holds, and what becomes of an interpreter that holds too much.

#define _GNU_SOURCE
#include "calls.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024 * 1024)

static struct gorgon_interp_stats stats_of(struct gorgon_interp *interp)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	assert_ok(gorgon_interp_get_stats(interp, &stats));
	return stats;
}

static struct gorgon_interp *start_limited(uint64_t limit)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = limit};

	return test_interp_start(&opts, NULL);
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
	// 18 MiB; what there was before may have room for one of them.
	run(interp, "del large; small = [object() for i in range(1200000)]");
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

static uint64_t extension_mib(struct gorgon_interp *interp)
{
	return (stats_of(interp).extension_bytes + MIB / 2) / MIB;
}

// ctypes gets the functions that an extension would be bound to.
#define C_FUNCTIONS                                                                                                    \
	"import ctypes\n"                                                                                              \
	"c = ctypes.CDLL(None)\n"                                                                                      \
	"for name in 'malloc', 'calloc', 'realloc', 'reallocarray', 'aligned_alloc', 'strdup', 'strndup', \\\n"       \
	"            'canonicalize_file_name':\n"                                                                         \
	"    getattr(c, name).restype = ctypes.c_void_p\n"                                                             \
	"size, pointer, free = ctypes.c_size_t, ctypes.c_void_p, lambda p: c.free(ctypes.c_void_p(p))\n"

static void stats_count_large_blocks_of_extensions(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	uint64_t before;

	(void)state;
	run(interp, C_FUNCTIONS
		    "x = c.malloc(size(3 << 20))\n"
		    "y = c.calloc(size(5), size(1 << 20))\n");
	assert_int_equal(extension_mib(interp), 8);
	run(interp, "x = c.realloc(ctypes.c_void_p(x), size(10 << 20))");
	assert_int_equal(extension_mib(interp), 15);
	if (!TEST_SANITIZED) // a sanitizer would end the process for this call
		run(interp, "assert not c.realloc(ctypes.c_void_p(x), size(1 << 62))");
	assert_int_equal(extension_mib(interp), 15);
	run(interp, "free(y)\n"
		    "z = c.aligned_alloc(size(4096), size(2 << 20))\n"
		    "w = ctypes.c_void_p()\n"
		    "assert not c.posix_memalign(ctypes.byref(w), size(64), size(4 << 20))\n");
	assert_int_equal(extension_mib(interp), 16);
	run(interp, "x = c.realloc(ctypes.c_void_p(x), size(100))\n"
		    "free(x); free(z); free(w.value); free(None)\n");
	assert_int_equal(extension_mib(interp), 0);
	before = stats_of(other).extension_bytes;
	run(interp, "x = c.malloc(size(20 << 20))");
	assert_int_equal(extension_mib(interp), 20);
	assert_int_equal(stats_of(other).extension_bytes, before);
	run(interp, "free(x)");
	destroy(interp);
	destroy(other);
}

// What a program adds to small blocks. ctypes itself takes small blocks for calls and gives them back, except some
// at the first call of a kind; so the program runs twice.
static uint64_t small_bytes(struct gorgon_interp *interp, const char *source)
{
	uint64_t before = stats_of(interp).extension_bytes;

	run(interp, source);
	return stats_of(interp).extension_bytes - before;
}

static void stats_count_small_blocks_of_extensions(void **state)
{
	struct gorgon_interp *interp = start();
	uint64_t before;

	(void)state;
	run(interp, C_FUNCTIONS
		    "free(c.malloc(size(100))); free(c.strdup(b'x' * 100)); free(c.realloc(pointer(), size(100)))\n");
	before = stats_of(interp).extension_bytes;
	assert_in_range(small_bytes(interp, "x = [c.malloc(size(100)) for i in range(1000)]"), 100 * 1000, 150 * 1000);
	assert_in_range(small_bytes(interp, "x = [c.realloc(pointer(p), size(1000)) for p in x]"), 880 * 1000, 920 * 1000);
	assert_in_range(small_bytes(interp, "y = c.reallocarray(pointer(x.pop()), size(100), size(100))"), 8900, 9100);
	assert_in_range(small_bytes(interp, "s = [c.strdup(b'x' * 99) for i in range(1000)]"), 100 * 1000, 150 * 1000);
	assert_in_range(small_bytes(interp, "s += [c.strndup(b'x' * 99, size(49)) for i in range(1000)]"), 50 * 1000,
			100 * 1000);
	// A block that the C library has made itself is neither counted when it is made nor when it is freed. When
	// it grows by a call of ours, it is counted.
	assert_in_range(small_bytes(interp, "z = [c.canonicalize_file_name(b'/usr') for i in range(1000)]"), 0, 1000);
	assert_in_range(small_bytes(interp, "z = [c.realloc(pointer(p), size(2000)) for p in z]"), 2000 * 1000, 2040 * 1000);
	// A program may write all bytes that malloc_usable_size() says.
	assert_in_range(small_bytes(interp, "for p in z: ctypes.memset(p, 255, c.malloc_usable_size(pointer(p)))"), 0, 1000);
	// free_sized() and free_aligned_sized() of C23 do what free() does.
	run(interp, "for p in x[::2]: c.free_sized(pointer(p), size(1000))\n"
		    "for p in x[1::2]: c.free_aligned_sized(pointer(p), size(16), size(1000))\n"
		    "for p in [y] + z + s: free(p)\n");
	assert_true(stats_of(interp).extension_bytes <= before + 1000);
	destroy(interp);
}

// The C library frees a block itself, which we do not see, and then gives it to the same interpreter again.
static void stats_of_small_blocks_freed_elsewhere_are_counted_once(void **state)
{
	const struct gorgon_value size = {.kind = GORGON_VALUE_INT, .integer = 5000};
	struct gorgon_value arg = size, first, second;
	struct gorgon_interp *interp = start();
	uint64_t before;

	(void)state;
	run(interp, C_FUNCTIONS "def f(n): return c.malloc(size(n))\n");
	assert_ok(call_f(interp, &arg, &first));
	before = stats_of(interp).extension_bytes;
	free((void *)(uintptr_t)first.integer);
	assert_ok(call_f(interp, &arg, &second));
	if (first.integer != second.integer)
		skip_because("malloc() has given another address");
	assert_in_range(stats_of(interp).extension_bytes, before - 1000, before + 1000);
	destroy(interp);
	free((void *)(uintptr_t)second.integer);
}

// The C library frees a block itself, which we do not see, and then gives it to another interpreter.
static void stats_of_blocks_freed_elsewhere_follow_the_address(void **state)
{
	struct gorgon_interp *one = start(), *two = start();
	const struct gorgon_value size = {.kind = GORGON_VALUE_INT, .integer = 100000};
	struct gorgon_value arg = size, first, second;

	(void)state;
	for (int i = 0; i < 2; i++)
		run(i ? two : one, C_FUNCTIONS "def f(n): return c.malloc(size(n))\n");
	assert_ok(call_f(one, &arg, &first));
	assert_true(stats_of(one).extension_bytes >= 100000);
	free((void *)(uintptr_t)first.integer);
	assert_true(stats_of(one).extension_bytes >= 100000);
	assert_ok(call_f(two, &arg, &second));
	if (first.integer != second.integer)
		skip_because("malloc() has given another address");
	assert_true(stats_of(one).extension_bytes < 100000);
	assert_true(stats_of(two).extension_bytes >= 100000);
	destroy(two);
	destroy(one);
	free((void *)(uintptr_t)second.integer);
}

static void stats_count_arrays_of_numpy(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *err;
	uint64_t before;

	(void)state;
	test_hide_leaks(true); // numpy's
	err = gorgon_interp_run_string(interp, "import numpy", NULL);
	test_hide_leaks(false);
	if (err) {
		gorgon_error_destroy(err);
		destroy(interp);
		skip_because("numpy is not installed");
	}
	before = extension_mib(interp);
	run(interp, "x = numpy.zeros(5 << 20, 'u1'); y = numpy.ones(1 << 20)");
	assert_int_equal(extension_mib(interp) - before, 13);
	run(interp, "del x, y");
	assert_int_equal(extension_mib(interp), before);
	destroy(interp);
}

static void limit_passed_is_a_memory_error_there_only(void **state)
{
	static const char *const sources[] = {
		"x = [object() for i in range(10**8)]\n", // small blocks, in arenas
		"x = []\nwhile True: x.append(bytes(10**6))\n",
		"x = bytes(10**9)\n", // one block
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
		run(limited, "x = None; y = bytes(20 << 20)"); // the interpreter goes on
	}
	sem_post(&go_on);
	assert_ok(join(&bystander));
	destroy(limited);
	destroy(other);
}

// Makes 400 MiB in cycles of 4 MiB, which only a collection gives back.
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

// What a program keeps stays too much, but not every call fails: there is room to clean up.
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

// The program has switched the collector off.
static void limit_near_collects_although_the_collector_is_off(void **state)
{
	struct gorgon_interp *interp = start_limited(64 * MIB);

	(void)state;
	run(interp, "import gc; gc.disable()\n"
		    "for i in range(100):\n"
		    "    cycle = [bytes(4 << 20)]\n"
		    "    cycle.append(cycle)\n"
		    "assert not gc.isenabled()");
	destroy(interp);
}

// The module mmap makes shared mappings by default.
static void limit_counts_shared_mappings_and_mappings_that_grow(void **state)
{
	struct gorgon_interp *interp = start_limited(64 * MIB);

	(void)state;
	run(interp, "import errno, mmap\n"
		    "def refused(function, *args):\n"
		    "    try: function(*args)\n"
		    "    except OSError as e: return e.errno == errno.ENOMEM\n"
		    "    except ValueError as e: return 'shared anonymous' in str(e)\n" // newer CPythons refuse that themselves
		    "x = mmap.mmap(-1, 16 << 20)\n"
		    "assert refused(mmap.mmap, -1, 1 << 30)\n"
		    "assert refused(x.resize, 1 << 30)\n"
		    "y = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
		    "assert refused(y.resize, 1 << 30)\n"
		    "y.resize(32 << 20)\n"
		    "assert refused(mmap.mmap, -1, 32 << 20)\n"
		    "x.close(); y.close()\n"
		    "mmap.mmap(-1, 32 << 20).close()\n");
	destroy(interp);
}

static void limit_counts_what_extensions_allocate(void **state)
{
	struct gorgon_interp *interp = start_limited(64 * MIB);

	(void)state;
	run(interp, "import ctypes\n"
		    "c = ctypes.CDLL(None)\n"
		    "for name in 'malloc', 'calloc', 'realloc', 'aligned_alloc':\n"
		    "    getattr(c, name).restype = ctypes.c_void_p\n"
		    "size, p = ctypes.c_size_t, ctypes.c_void_p()\n"
		    "assert not c.malloc(size(1 << 30)) and not c.calloc(size(1 << 20), size(1 << 10))\n"
		    "assert not c.aligned_alloc(size(4096), size(1 << 30))\n"
		    "assert c.posix_memalign(ctypes.byref(p), size(64), size(1 << 30)) == 12\n"
		    "x = c.malloc(size(16 << 20))\n"
		    "assert x and not c.realloc(ctypes.c_void_p(x), size(1 << 30))\n"
		    "c.free(ctypes.c_void_p(x))\n");
	assert_int_equal(extension_mib(interp), 0);
	// Small blocks count, too, and the interpreter goes on.
	assert_raised(gorgon_interp_run_string(interp, "c.malloc.restype = ctypes.c_void_p\n"
						       "x = []\n"
						       "while True: x.append(c.malloc(size(1000)))\n", NULL), "MemoryError", "");
	run(interp, "assert len(x) > 30000\n"
		    "for p in x: c.free(ctypes.c_void_p(p))\n"
		    "del x\n");
	assert_int_equal(extension_mib(interp), 0);
	destroy(interp);
}

static void limit_counts_arrays_of_numpy_by_either_handler(void **state)
{
	static const char *const handlers[] = {"", "import gorgon; gorgon.use_data_handler()\n"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_interp *interp = start_limited(200 * MIB);
		struct gorgon_error *err;
		char *source;

		test_hide_leaks(true); // numpy's
		err = gorgon_interp_run_string(interp, "import numpy", NULL);
		test_hide_leaks(false);
		if (err) {
			gorgon_error_destroy(err);
			destroy(interp);
			skip_because("numpy is not installed");
		}
		assert_true(asprintf(&source,
				     "%s"
				     "import numpy\n"
				     "x = numpy.ones(50 << 20, 'u1')\n"
				     "try: numpy.ones(2 << 30, 'u1')\n"
				     "except MemoryError: pass\n"
				     "else: raise AssertionError\n"
				     "for i in range(20):\n"
				     "    y = [numpy.ones(30 << 20, 'u1')]\n"
				     "    y.append(y)\n"
				     "y = numpy.ones(3 << 20, 'u1')\n"
				     "y.resize(5 << 20, refcheck=False)\n",
				     handlers[i]) > 0);
		run(interp, source);
		free(source);
		if (i)
			assert_in_range(stats_of(interp).block_bytes / MIB, 55, 60 + 200);
		assert_int_equal(stats_of(interp).memory_limit, 200 * MIB);
		run(interp, "del x, y; import gc; gc.collect()");
		assert_true(stats_of(interp).block_bytes < MIB);
		destroy(interp);
	}
}

struct asked {
	unsigned count;
	uint64_t held, answer;
};

static uint64_t ask(void *ctx, uint64_t held)
{
	struct asked *asked = ctx;

	asked->count++;
	asked->held = held;
	return asked->answer;
}

static void host_is_asked_first_and_may_raise_the_limit(void **state)
{
	struct asked asked = {.answer = 128 * MIB};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 64 * MIB,
						.near_memory_limit = ask, .limit_ctx = &asked};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "x = [bytes(1 << 20) for i in range(90)]");
	assert_int_equal(asked.count, 1);
	assert_in_range(asked.held, 64 * MIB, 80 * MIB);
	assert_int_equal(stats_of(interp).memory_limit, 128 * MIB);
	asked.answer = 0;
	assert_raised(gorgon_interp_run_string(interp, "x += [bytes(1 << 20) for i in range(90)]", NULL), "MemoryError", "");
	assert_true(asked.count > 1);
	destroy(interp);
}

static void hard_limit_is_where_allocations_fail(void **state)
{
	struct asked asked = {.answer = 200 * MIB};
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 64 * MIB, .memory_hard_limit = 256 * MIB,
					  .near_memory_limit = ask, .limit_ctx = &asked};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "x = bytes(150 << 20); del x"); // the host is asked afterwards, not before
	assert_int_equal(asked.count, 1);
	assert_raised(gorgon_interp_run_string(interp, "bytes(300 << 20)", NULL), "MemoryError", "");
	destroy(interp);
	opts.memory_hard_limit = 1;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "memory_hard_limit is 1, expected 0, or");
}

static void threads_beyond_their_limit_do_not_start(void **state)
{
	const struct gorgon_ns_opts ns = {.size = sizeof(ns), .thread_limit = 2};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "import threading\n"
		    "go = threading.Event()\n"
		    "threads = [threading.Thread(target=go.wait) for i in range(3)]\n"
		    "threads[0].start(); threads[1].start()\n"
		    "try: threads[2].start()\n"
		    "except RuntimeError: pass\n"
		    "else: raise AssertionError\n"
		    "go.set(); threads[0].join(); threads[1].join()\n");
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stats_count_memory_and_calls),
		cmocka_unit_test(stats_count_large_blocks_of_extensions),
		cmocka_unit_test(stats_count_small_blocks_of_extensions),
		cmocka_unit_test(stats_of_small_blocks_freed_elsewhere_are_counted_once),
		cmocka_unit_test(stats_of_blocks_freed_elsewhere_follow_the_address),
		cmocka_unit_test(stats_count_arrays_of_numpy),
		cmocka_unit_test(limit_passed_is_a_memory_error_there_only),
		cmocka_unit_test(limit_near_collects_first),
		cmocka_unit_test(limit_passed_for_good_leaves_room_to_clean_up),
		cmocka_unit_test(limit_passed_on_another_thread_is_a_memory_error),
		cmocka_unit_test(limit_near_collects_although_the_collector_is_off),
		cmocka_unit_test(limit_counts_shared_mappings_and_mappings_that_grow),
		cmocka_unit_test(limit_counts_what_extensions_allocate),
		cmocka_unit_test(limit_counts_arrays_of_numpy_by_either_handler),
		cmocka_unit_test(host_is_asked_first_and_may_raise_the_limit),
		cmocka_unit_test(hard_limit_is_where_allocations_fail),
		cmocka_unit_test(threads_beyond_their_limit_do_not_start),
	};

	return cmocka_run_group_tests_name("usage", tests, test_warm_up, NULL);
}
