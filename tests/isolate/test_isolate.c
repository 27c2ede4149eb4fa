// SPDX-License-Identifier: MIT
// loader/isolate: the strategies as a host sees them.

#define _GNU_SOURCE
#include "helpers.h"

#include "ns/debug_root.h"
#include "ns/ns.h"
#include "ns/object.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WITH(test, strategy, isolate)                                                              \
	(struct CMUnitTest)                                                                        \
	{                                                                                          \
		.name = #test "_by_" strategy, .test_func = test,                                  \
		.initial_state = &(enum gorgon_isolate){isolate}                                   \
	}
#define COPY(test) WITH(test, "copy", GORGON_ISOLATE_COPY)
#define STRATEGIES(test) WITH(test, "loader", GORGON_ISOLATE_LOADER), COPY(test)

// What CPython leaves on the heap is freed with an interpreter of the loader only.
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static struct gorgon_interp_opts options(void *const *state)
{
	return (struct gorgon_interp_opts){.size = sizeof(struct gorgon_interp_opts),
					   .isolate = *(const enum gorgon_isolate *)*state};
}

static struct gorgon_interp *start(void *const *state)
{
	struct gorgon_interp_opts opts = options(state);

	return test_interp_start(&opts, NULL);
}

static int64_t call(struct gorgon_interp *interp, const char *function)
{
	struct gorgon_value value;
	int64_t ret;

	assert_ok(gorgon_interp_call(interp, NULL, function, NULL, NULL, &value));
	assert_int_equal(value.kind, GORGON_VALUE_INT);
	ret = value.integer;
	gorgon_value_deinit(&value);
	return ret;
}

// --- every strategy ------------------------------------------------------------------------

static void interp_call_two_interpreters_keep_their_own_state(void **state)
{
	struct gorgon_interp *interp[2] = {start(state), start(state)};

	for (int i = 0; i < 2; i++)
		assert_ok(gorgon_interp_run_string(interp[i],
						   i ? "import decimal\ndef f(): return 41"
						     : "import decimal\ndef f(): return 40",
						   NULL));
	// One thread uses both interpreters: each has thread-local variables of its own.
	for (int i = 0; i < 2; i++)
		assert_int_equal(call(interp[i], "f"), 40 + i);
	assert_ptr_not_equal(gorgon_interp_find_symbol(interp[0], "PyList_Append"),
			     gorgon_interp_find_symbol(interp[1], "PyList_Append"));
	for (int i = 0; i < 2; i++)
		assert_ok(gorgon_interp_destroy(interp[i]));
}

static void *call_on_thread(void *interp)
{
	// Functions of <ctype.h> need what a C library keeps for each thread.
	assert_ok(gorgon_interp_run_string(interp,
					   "import ctypes\n"
					   "assert ctypes.CDLL(None).isalpha(ord('x'))\n",
					   NULL));
	return NULL;
}

static void interp_call_other_thread_has_a_whole_c_library(void **state)
{
	struct gorgon_interp *interp = start(state);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, call_on_thread, interp), 0);
	pthread_join(thread, NULL);
	assert_ok(gorgon_interp_run_string(interp,
					   "import ctypes, threading\n"
					   "got = []\n"
					   "thread = threading.Thread(target=lambda: got.append("
					   "ctypes.CDLL(None).isalpha(ord('x'))))\n"
					   "thread.start(); thread.join()\n"
					   "assert got[0]\n",
					   NULL));
	assert_ok(gorgon_interp_stop(interp));
	assert_ok(gorgon_interp_destroy(interp));
}

static void *interrupt(void *ctx)
{
	struct gorgon_interp *interp = ctx;
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	uint64_t ended;

	// Interrupts until the call has ended, since a call that does not sleep yet may miss an interrupt.
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	ended = stats.call_count;
	while (stats.call_count == ended) {
		assert_ok(gorgon_interp_interrupt(interp));
		usleep(10000);
		assert_ok(gorgon_interp_get_stats(interp, &stats));
	}
	return NULL;
}

static void interp_interrupt_ends_a_blocking_call_of_one(void **state)
{
	struct gorgon_interp *interp[2] = {start(state), start(state)};
	pthread_t thread;

	assert_ok(gorgon_interp_run_string(interp[0], "import time", NULL));
	assert_int_equal(pthread_create(&thread, NULL, interrupt, interp[0]), 0);
	assert_error(gorgon_interp_run_string(interp[0], "time.sleep(60)", NULL),
		     GORGON_ERROR_EXCEPTION, "KeyboardInterrupt");
	pthread_join(thread, NULL);
	assert_ok(gorgon_interp_run_string(interp[1], "x = 1", NULL));
	for (int i = 0; i < 2; i++)
		assert_ok(gorgon_interp_destroy(interp[i]));
}

static bool may_end; // atomic

// When a signal has ended its sleep, this C code sleeps again, so an interrupt does not end the call.
static void sleep_on(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&may_end, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void interp_destroy_waits_for_threads_of_its_libraries(void **state)
{
	struct gorgon_interp *interp = start(state);
	struct gorgon_error *err;
	char source[512];

	// A thread that Python does not know.
	snprintf(source, sizeof(source),
		 "import ctypes\n"
		 "start = ctypes.cast(ctypes.pythonapi.PyThread_start_new_thread, ctypes.c_void_p).value\n"
		 "call = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)(start)\n"
		 "assert call(%lu, None)\n",
		 (unsigned long)(uintptr_t)sleep_on);
	__atomic_store_n(&may_end, false, __ATOMIC_RELEASE);
	assert_ok(gorgon_interp_run_string(interp, source, NULL));
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "1 threads");
	__atomic_store_n(&may_end, true, __ATOMIC_RELEASE);
	while ((err = gorgon_interp_destroy(interp))) { // the thread has not been scheduled yet
		assert_int_equal(gorgon_error_code(err), GORGON_ERROR_BUSY);
		gorgon_error_destroy(err);
	}
}

static void interp_run_exception_and_exit_are_errors(void **state)
{
	struct gorgon_interp *interp = start(state);

	assert_error(gorgon_interp_run_string(interp, "1/0", NULL), GORGON_ERROR_EXCEPTION,
		     "division by zero");
	assert_error(gorgon_interp_run_string(interp, "import ctypes; ctypes.pythonapi.Py_Exit(3)", NULL),
		     GORGON_ERROR_PYTHON, "exit(3)");
	assert_ok(gorgon_interp_destroy(interp));
}

static void interp_destroy_leaves_no_object(void **state)
{
	struct gorgon_interp_opts opts = options(state);
	uint32_t count = gorgon_debug_root.object_count;

	for (int i = 0; i < 20; i++) {
		struct gorgon_interp *interp = test_interp_start(&opts, NULL);

		assert_ok(gorgon_interp_run_string(interp, "import decimal", NULL));
		assert_true(gorgon_debug_root.object_count > count);
		assert_ok(gorgon_interp_destroy(interp));
		assert_int_equal(gorgon_debug_root.object_count, count);
	}
}

static void pool_submit_works_under_each_strategy(void **state)
{
	const struct gorgon_interp_opts interp = options(state);
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .interp = &interp, .count = 2,
					.warm_up = "import decimal\ndef f(x): return x + 1"};
	struct gorgon_value one = {.kind = GORGON_VALUE_INT, .integer = 1}, ret;
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&one, 1}};
	struct gorgon_pool *pool;
	struct gorgon_job *job[8];

	assert_ok(gorgon_pool_create(&opts, &pool));
	for (int i = 0; i < 8; i++)
		assert_ok(gorgon_pool_submit(pool, NULL, "f", &args, NULL, -1, &job[i]));
	for (int i = 0; i < 8; i++) {
		assert_ok(gorgon_job_finish(job[i], &ret));
		assert_int_equal(ret.integer, 2);
	}
	assert_ok(gorgon_pool_destroy(pool));
}

#define HOST_KEYS  16
#define EARLY_KEYS 8 // keys of modules/early_keys.c that are set; as many are not

static pthread_key_t host_keys[HOST_KEYS];
static int host_values[HOST_KEYS], host_destroyed[HOST_KEYS];

static void destroy_host_value(void *value)
{
	host_destroyed[(int *)value - host_values]++;
}

static void assert_host_keys(void)
{
	for (int i = 0; i < HOST_KEYS; i++)
		assert_ptr_equal(pthread_getspecific(host_keys[i]), i % 2 ? &host_values[i] : NULL);
}

static void *load_early_keys(void *interp)
{
	char *text;

	for (int i = 0; i < HOST_KEYS; i++)
		assert_int_equal(pthread_setspecific(host_keys[i], i % 2 ? &host_values[i] : NULL), 0);
	assert_true(asprintf(&text, "import ctypes\nlib = ctypes.CDLL('%s')\ncount = lib.early_keys_count()\n"
			     "def count_here(): return lib.early_keys_count()\n"
			     "def set_here(): return lib.early_keys_set()\n"
			     "def destroyed(): return lib.early_keys_destroyed()\n"
			     "def delete(): return lib.early_keys_delete()\n",
			     test_module("libearly_keys.so")) > 0);
	assert_ok(gorgon_interp_run_string(interp, text, NULL));
	free(text);
	assert_host_keys();
	assert_int_equal(call(interp, "count_here"), EARLY_KEYS);
	assert_host_keys();
	return NULL;
}

static void *set_early_keys(void *interp)
{
	assert_int_equal(call(interp, "set_here"), EARLY_KEYS);
	for (int i = 0; i < HOST_KEYS; i++)
		assert_null(pthread_getspecific(host_keys[i]));
	return NULL;
}

static void interp_call_keys_of_constructors_and_of_the_host_keep_their_values(void **state)
{
	struct gorgon_interp *interp = start(state);
	pthread_t thread;

	memset(host_destroyed, 0, sizeof(host_destroyed));
	// The keys are made once, as another C library's keys are: a key that was made again would have another
	// sequence number.
	for (int i = 0; i < HOST_KEYS && !host_keys[HOST_KEYS - 1]; i++)
		assert_int_equal(pthread_key_create(&host_keys[i], destroy_host_value), 0);
	assert_int_equal(pthread_create(&thread, NULL, load_early_keys, interp), 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < HOST_KEYS; i++)
		assert_int_equal(host_destroyed[i], i % 2);
	assert_int_equal(call(interp, "destroyed"), EARLY_KEYS);
	assert_int_equal(call(interp, "count_here"), 0);
	assert_int_equal(pthread_create(&thread, NULL, set_early_keys, interp), 0);
	pthread_join(thread, NULL);
	assert_int_equal(call(interp, "destroyed"), 2 * EARLY_KEYS);
	assert_int_equal(call(interp, "delete"), 0);
	for (int i = 0; i < HOST_KEYS; i++)
		assert_int_equal(host_destroyed[i], i % 2);
	assert_ok(gorgon_interp_destroy(interp));
}

static void *come_and_go(void *ctx)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .isolate = *(enum gorgon_isolate *)ctx};

	for (int i = 0; i < 10; i++) {
		struct gorgon_interp *interp = test_interp_start(&opts, NULL);

		assert_ok(gorgon_interp_run_string(
			interp, "import decimal, json, threading, zlib\n"
				"thread = threading.Thread(target=decimal.Decimal, args=(2,))\n"
				"thread.start(); thread.join()\n", NULL));
		assert_ok(gorgon_interp_destroy(interp));
	}
	return NULL;
}

static void interp_create_all_strategies_at_once_on_several_threads(void **state)
{
	enum gorgon_isolate isolate[] = {
		GORGON_ISOLATE_LOADER, GORGON_ISOLATE_COPY, GORGON_ISOLATE_LOADER, GORGON_ISOLATE_COPY,
	};
	const size_t thread_count = sizeof(isolate) / sizeof(*isolate);
	uint32_t count = gorgon_debug_root.object_count;
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < thread_count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &isolate[i]), 0);
	for (size_t i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(gorgon_debug_root.object_count, count);
}

// --- strategies that use the system's linker -------------------------------------------------------

static bool check_link_map(void *ctx, struct gorgon_object *object)
{
	const struct link_map *map = (const struct link_map *)(uintptr_t)object->debug.link_map;

	assert_non_null(map);
	assert_int_equal(map->l_addr, object->debug.bias);
	// The system's linker may have loaded a copy; debuggers are told the original, which stays on disk.
	assert_string_equal(strrchr(map->l_name, '/'), strrchr(object->path, '/'));
	assert_int_equal(access(object->path, R_OK), 0);
	assert_int_equal(object->debug.symfile, 0);
	++*(unsigned *)ctx;
	return true;
}

static void interp_create_linked_objects_are_listed_with_link_maps(void **state)
{
	struct gorgon_interp *interp = start(state);
	struct gorgon_ns *ns = gorgon_interp_ns(interp);
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	unsigned before = 0, after = 0;

	gorgon_ns_for_each_object(ns, check_link_map, &before);
	assert_ok(gorgon_interp_run_string(interp, "import _decimal", NULL));
	gorgon_ns_for_each_object(ns, check_link_map, &after);
	assert_true(before && after > before);
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_int_equal(stats.object_count, after);
	assert_true(stats.private_bytes && stats.shared_bytes);
	assert_ok(gorgon_interp_destroy(interp));
}

static void interp_create_linked_refuses_what_needs_the_loader(void **state)
{
	struct gorgon_provider provider = gorgon_provider_table(NULL);
	struct gorgon_interp_opts opts = options(state);
	struct gorgon_interp *interp;
	struct gorgon_object *object;

	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .provider = &provider};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "provider");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					    .environment = (const char *const[]){NULL}};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "environ");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .large_arenas = true};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "arenas");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .deny = GORGON_DENY_FORK};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "denied nothing");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .thread_limit = 1};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "threads are not counted");
	opts.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts), .debug = GORGON_DEBUG_LAZY};
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "debuggers");
	opts.ns = NULL;
	opts.memory_limit = 1 << 30;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED, "memory_limit");
	opts.memory_limit = 0;
	interp = test_interp_create(&opts);
	assert_error(gorgon_object_open(gorgon_interp_ns(interp), "build/modules/libbasic.so", NULL, &object),
		     GORGON_ERROR_UNSUPPORTED, "libbasic.so: namespace");
	assert_ok(gorgon_interp_destroy(interp));
}

// Names of the host's libpython would be found before those of copies.
static void interp_create_copy_beside_a_python_of_the_host_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .isolate = GORGON_ISOLATE_COPY};
	struct gorgon_python python;
	struct gorgon_interp *interp;
	void *handle;

	(void)state;
	assert_ok(gorgon_python_find(NULL, &python));
	handle = dlopen(python.libpython, RTLD_NOW | RTLD_GLOBAL);
	assert_non_null(handle);
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED,
		     "the process has a Python of its own");
	dlclose(handle);
	gorgon_python_deinit(&python);
}

static void interp_create_unknown_strategy_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .isolate = (enum gorgon_isolate)99};
	struct gorgon_interp *interp;

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "isolate is 99");
	opts.isolate = (enum gorgon_isolate)1; // was dlmopen(3) before 1.0
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "isolate is 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STRATEGIES(interp_call_two_interpreters_keep_their_own_state),
		STRATEGIES(interp_call_other_thread_has_a_whole_c_library),
		STRATEGIES(interp_interrupt_ends_a_blocking_call_of_one),
		STRATEGIES(interp_destroy_waits_for_threads_of_its_libraries),
		STRATEGIES(interp_run_exception_and_exit_are_errors),
		STRATEGIES(interp_destroy_leaves_no_object),
		STRATEGIES(pool_submit_works_under_each_strategy),
		STRATEGIES(interp_call_keys_of_constructors_and_of_the_host_keep_their_values),
		cmocka_unit_test(interp_create_all_strategies_at_once_on_several_threads),
		COPY(interp_create_linked_objects_are_listed_with_link_maps),
		COPY(interp_create_linked_refuses_what_needs_the_loader),
		cmocka_unit_test(interp_create_copy_beside_a_python_of_the_host_is_refused),
		cmocka_unit_test(interp_create_unknown_strategy_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
