// SPDX-License-Identifier: MIT
// gorgon_interp_get_stats(): what an interpreter is doing, its processor time, and its waiting for the GIL; and that
// readers of the debug root find the same.

#define _GNU_SOURCE
#include "calls.h"

#include "ns/debug_root.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static struct gorgon_interp_stats stats_of(struct gorgon_interp *interp)
{
	struct gorgon_interp_stats ret = {.size = sizeof(ret)};

	assert_ok(gorgon_interp_get_stats(interp, &ret));
	return ret;
}

static const struct gorgon_debug_ns *newest_ns(void)
{
	return (const struct gorgon_debug_ns *)(uintptr_t)gorgon_debug_root.ns_tail;
}

// The calling thread computes until it has used this much processor time of its own.
#define COMPUTE "import time\nend = time.thread_time() + 0.1\nwhile time.thread_time() < end: pass\n"
#define SPENT	100000000u

static void stats_state_is_that_of_its_life(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	const struct gorgon_debug_activity *shown =
		(const struct gorgon_debug_activity *)(uintptr_t)newest_ns()->activity;
	const char *const argv[] = {"-c", "pass"};
	int status;

	(void)state;
	assert_int_equal(stats_of(interp).state, GORGON_INTERP_IS_CREATED);
	assert_int_equal(shown->state, GORGON_DEBUG_CREATED);
	assert_int_equal(shown->start_ns, 0);
	assert_ok(test_interp_main(interp, 2, argv, &status));
	assert_int_equal(stats_of(interp).state, GORGON_INTERP_HAS_ENDED);
	assert_int_equal(shown->state, GORGON_DEBUG_ENDED);
	assert_true(shown->start_ns && shown->end_ns > shown->start_ns);
	destroy(interp);
	interp = start();
	shown = (const struct gorgon_debug_activity *)(uintptr_t)newest_ns()->activity;
	assert_int_equal(stats_of(interp).state, GORGON_INTERP_IS_STARTED);
	assert_int_equal(shown->state, GORGON_DEBUG_STARTED);
	assert_ok(gorgon_interp_try_stop(interp));
	assert_int_equal(stats_of(interp).state, GORGON_INTERP_HAS_ENDED);
	destroy(interp);
}

static void stats_memory_is_what_debuggers_read(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 512 << 20};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);
	const struct gorgon_debug_usage *shown = (const struct gorgon_debug_usage *)(uintptr_t)newest_ns()->usage;
	struct gorgon_interp_stats stats;

	(void)state;
	run(interp, "x = bytearray(20 << 20)");
	stats = stats_of(interp);
	assert_true(stats.heap_bytes >= 20 << 20);
	assert_int_equal(shown->heap_bytes, stats.heap_bytes);
	assert_int_equal(shown->mapped_bytes, stats.mapped_bytes);
	assert_int_equal(shown->extension_bytes, stats.extension_bytes);
	assert_int_equal(shown->block_bytes, stats.block_bytes);
	assert_int_equal(shown->limit, 512 << 20);
	destroy(interp);
}

static void stats_processor_time_has_calls_that_run_and_threads_that_have_ended(void **state)
{
	struct gorgon_interp *interp = start();
	uint64_t before = stats_of(interp).total_cpu_ns, during;
	struct thread busy;

	(void)state;
	run(interp, COMPUTE);
	assert_true(stats_of(interp).total_cpu_ns >= before + SPENT);
	// A call on another thread, before its end.
	init_waiting();
	before = stats_of(interp).total_cpu_ns;
	spawn(&busy, interp, COMPUTE REACHED WAIT);
	sem_wait(&reached);
	during = stats_of(interp).total_cpu_ns;
	assert_true(during >= before + SPENT);
	sem_post(&go_on);
	assert_ok(join(&busy));
	// Time that was counted during the call is not counted again at its end.
	assert_in_range(stats_of(interp).total_cpu_ns, during, during + SPENT / 2);
	// A thread that Python has started counts, while it runs and afterwards.
	before = stats_of(interp).total_cpu_ns;
	run(interp, "import threading\n"
		    "done, go = threading.Event(), threading.Event()\n"
		    "def f():\n"
		    "    end = time.thread_time() + 0.1\n"
		    "    while time.thread_time() < end: pass\n"
		    "    done.set(); go.wait()\n"
		    "t = threading.Thread(target=f); t.start(); done.wait()\n");
	assert_true(stats_of(interp).total_cpu_ns >= before + SPENT);
	assert_int_equal(stats_of(interp).thread_count, 1);
	assert_in_range(stats_of(interp).stack_bytes, 8192, 8 << 20);
	run(interp, "go.set(); t.join()");
	while (stats_of(interp).thread_count) // Python's end of a thread is before its own
		usleep(1000);
	assert_int_equal(stats_of(interp).stack_bytes, 0);
	assert_true(stats_of(interp).total_cpu_ns >= before + SPENT);
	destroy(interp);
}

static const char *text_at(uint64_t addr)
{
	return (const char *)(uintptr_t)addr;
}

static struct gorgon_interp *noted;
static struct gorgon_interp_stats in_call;
static char shown_job[64];

// Called by a program.
TEST_EXPORT void test_stats_note(void);
TEST_EXPORT void test_stats_note(void)
{
	in_call = stats_of(noted);
	strcpy(shown_job, text_at(newest_ns()->job));
}

static void stats_have_the_job_and_readers_the_label(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .label = "customer 17"};
	struct gorgon_interp_opts wrong = {.size = sizeof(wrong)};
	struct gorgon_interp *interp = noted = test_interp_start(&opts, NULL), *none = NULL;
	char label[65];

	(void)state;
	assert_string_equal(text_at(newest_ns()->label), "customer 17");
	assert_string_equal(stats_of(interp).job, "");
	run(interp, "import ctypes, sys, types\n"
		    "sys.modules['shop'] = shop = types.ModuleType('shop')\n"
		    "def sell(): ctypes.CDLL(None).test_stats_note()\n"
		    "shop.sell = sell\n");
	assert_ok(gorgon_interp_call(interp, "shop", "sell", NULL, NULL, NULL));
	assert_string_equal(in_call.job, "shop.sell");
	assert_string_equal(shown_job, "shop.sell");
	assert_ok(gorgon_interp_call(interp, NULL, "sell", NULL, NULL, NULL));
	assert_string_equal(in_call.job, "sell");
	run(interp, "sell()");
	assert_string_equal(in_call.job, "<string>");
	assert_string_equal(stats_of(interp).job, "");
	assert_string_equal(text_at(newest_ns()->job), "");
	memset(label, 'x', sizeof(label) - 1);
	label[64] = 0;
	wrong.label = label;
	assert_error(gorgon_interp_create(&wrong, &none), GORGON_ERROR_ARGUMENT, "label has 64 bytes, expected 63 at most");
	destroy(interp);
}

static void stats_wait_for_the_gil_is_counted(void **state)
{
	struct gorgon_interp *interp = start();
	uint64_t before = stats_of(interp).gil_wait_ns;
	struct thread holder;

	(void)state;
	init_waiting();
	// A function of PyDLL keeps the GIL.
	spawn(&holder, interp, "import ctypes\n"
			       "ctypes.PyDLL(None).test_call_reached()\n"
			       "ctypes.PyDLL(None).usleep(50000)\n");
	sem_wait(&reached);
	run(interp, "pass");
	assert_ok(join(&holder));
	// The holder may have begun to sleep late, but this thread has waited at once.
	assert_true(stats_of(interp).gil_wait_ns - before > 1000000);
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stats_state_is_that_of_its_life),
		cmocka_unit_test(stats_memory_is_what_debuggers_read),
		cmocka_unit_test(stats_processor_time_has_calls_that_run_and_threads_that_have_ended),
		cmocka_unit_test(stats_have_the_job_and_readers_the_label),
		cmocka_unit_test(stats_wait_for_the_gil_is_counted),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
