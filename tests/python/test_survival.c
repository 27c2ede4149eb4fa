// SPDX-License-Identifier: MIT
// loader/process/faults/fault_survival.c, loader/python/calls/abandon.c: hosts that survive the faults of
// their interpreters.

#define _GNU_SOURCE
#include "calls.h"
#include "skip.h"
#include "skip.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned reports;
static char reported_label[64];

static void count_report(void *ctx, const struct gorgon_fault *fault)
{
	(void)ctx;
	strncpy(reported_label, fault->label ?: "", sizeof(reported_label) - 1);
	__atomic_add_fetch(&reports, 1, __ATOMIC_RELAXED);
}

static void survive(void)
{
	struct gorgon_fault_opts opts = {.size = sizeof(opts), .report = count_report, .abandon = true};

	SKIP_UNDER_TSAN("to the thread sanitizer a handler that a fault has left by a jump goes on");
	assert_ok(gorgon_faults_report(&opts));
}

// Writes to NULL from C code of the interpreter's own: _ctypes.
#define NULL_WRITE "import ctypes; ctypes.c_int.from_address(0).value = 1\n"

struct fault {
	const char *source, *message;
};

static const struct fault faults[] = {
	{NULL_WRITE, "SIGSEGV in interpreter"},
	{"import ctypes; ctypes.memset(0, 1, 100)\n", "SIGSEGV in interpreter"},
	{"import os; os.abort()\n", "SIGABRT in interpreter"},
	{"import ctypes; ctypes.CFUNCTYPE(None)(8)()\n", "SIGSEGV in interpreter"},
};

static void still_computes(struct gorgon_interp *interp)
{
	run(interp, "assert sum(i * i for i in range(1000)) == 332833500\n");
}

static void fault_in_a_call_is_an_error_of_the_call(void **state)
{
	struct gorgon_interp *bystander = start();
	unsigned before;

	(void)state;
	alarm(300);
	survive();
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
			struct gorgon_interp *interp = start();

			before = reports;
			assert_error(gorgon_interp_run_string(interp, faults[i].source, NULL), GORGON_ERROR_ABANDONED,
				     faults[i].message);
			assert_int_equal(reports, before + 1);
			assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_ABANDONED, faults[i].message);
			still_computes(bystander);
			destroy(interp);
		}
	destroy(bystander);
	gorgon_faults_ignore();
	alarm(0);
}

static void report_has_the_label(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .label = "customer 17"};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	alarm(60);
	survive();
	assert_error(gorgon_interp_run_string(interp, NULL_WRITE, NULL), GORGON_ERROR_ABANDONED, " (customer 17), thread ");
	assert_string_equal(reported_label, "customer 17");
	destroy(interp);
	interp = start();
	assert_error(gorgon_interp_run_string(interp, NULL_WRITE, NULL), GORGON_ERROR_ABANDONED, "SIGSEGV in interpreter ");
	assert_string_equal(reported_label, "");
	destroy(interp);
	gorgon_faults_ignore();
	alarm(0);
}

static void other_calls_come_back_from_an_interpreter_with_a_fault(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread loop, sleeper;

	(void)state;
	alarm(120);
	survive();
	init_waiting();
	spawn(&loop, interp, REACHED "while True: pass\n");
	spawn(&sleeper, interp, REACHED "import time; time.sleep(1000)\n");
	sem_wait(&reached);
	sem_wait(&reached);
	assert_error(gorgon_interp_run_string(interp, NULL_WRITE, NULL), GORGON_ERROR_ABANDONED, "SIGSEGV");
	assert_error(join(&loop), GORGON_ERROR_ABANDONED, "SIGSEGV");
	assert_error(join(&sleeper), GORGON_ERROR_ABANDONED, "SIGSEGV");
	destroy(interp);
	gorgon_faults_ignore();
	alarm(0);
}

static void thread_of_the_program_with_a_fault_is_parked(void **state)
{
	struct gorgon_abandoned_stats stats = {.size = sizeof(stats)};
	struct gorgon_interp *interp = start(), *bystander = start();
	struct thread sleeper;
	uint64_t before, threads;

	(void)state;
	alarm(120);
	survive();
	assert_ok(gorgon_abandoned_get_stats(&stats));
	before = stats.count;
	threads = stats.thread_count;
	init_waiting();
	// Importing may take long. So the thread that has the fault waits until this call has imported what it needs and is about to sleep.
	spawn(&sleeper, interp, "import threading, time\n"
				"sleeps = threading.Event()\n"
				"def fault():\n  sleeps.wait(); time.sleep(0.05); " NULL_WRITE
				"threading.Thread(target=fault).start()\n" REACHED
				"sleeps.set()\n"
				"while True: time.sleep(1000)\n");
	sem_wait(&reached);
	assert_error(join(&sleeper), GORGON_ERROR_ABANDONED, "SIGSEGV");
	assert_ok(gorgon_abandoned_get_stats(&stats));
	assert_int_equal(stats.count, before + 1);
	assert_int_equal(stats.thread_count, threads + 1);
	still_computes(bystander);
	assert_error(gorgon_interp_stop_within(interp, 10), GORGON_ERROR_ABANDONED, "SIGSEGV");
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "threads");
	destroy(bystander);
	gorgon_faults_ignore();
	alarm(0);
}

// A fault in the allocator ends the process, because its lock may be held; and a host that has not asked to survive
// does not.
static void process_ends_where_locks_may_be_held(void **state)
{
	static const char *const sources[] = {
		"import ctypes; libc = ctypes.CDLL(None); libc.free.argtypes = [ctypes.c_void_p]; libc.free(0x12345678)\n",
		NULL_WRITE,
	};

	(void)state;
	// A sanitizer reports the first program's pointer before the C library takes its lock.
	for (size_t i = TEST_SANITIZED; i < sizeof(sources) / sizeof(*sources); i++) {
		const struct rlimit none = {0, 0};
		int status;
		pid_t pid = fork();

		if (!pid) {
			struct gorgon_interp *interp;

			// cmocka has handlers of its own, which would report a failure.
			signal(SIGSEGV, SIG_DFL);
			signal(SIGABRT, SIG_DFL);
			interp = start();
			setrlimit(RLIMIT_CORE, &none);
			if (!i)
				survive();
			gorgon_error_destroy(gorgon_interp_run_string(interp, sources[i], NULL));
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
}

static void pool_replaces_an_interpreter_whose_job_has_a_fault(void **state)
{
	const struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 2, .warm_up = "def f():\n  " NULL_WRITE
											   "def g(): return 7\n"};
	struct gorgon_value value;
	struct gorgon_pool *pool;
	struct gorgon_job *job;

	(void)state;
	alarm(120);
	survive();
	assert_ok(gorgon_pool_create(&opts, &pool));
	for (int i = 0; i < 6; i++) {
		assert_ok(gorgon_pool_submit(pool, NULL, i % 2 ? "g" : "f", NULL, NULL, -1, &job));
		if (i % 2) {
			assert_ok(gorgon_job_finish(job, &value));
			assert_int_equal(value.integer, 7);
		} else {
			assert_error(gorgon_job_finish(job, NULL), GORGON_ERROR_ABANDONED, "SIGSEGV");
		}
	}
	assert_ok(gorgon_pool_destroy(pool));
	gorgon_faults_ignore();
	alarm(0);
}

static bool spinning = true;

TEST_EXPORT void test_survival_spin(void);
TEST_EXPORT void test_survival_spin(void)
{
	while (__atomic_load_n(&spinning, __ATOMIC_RELAXED))
		continue;
}

static void pool_ends_jobs_that_are_late(void **state)
{
	static const struct {
		const char *function;
		bool abandoned;
		const char *message;
	} jobs[] = {{"sleep", false, ""}, {"loop", false, ""}, {"worse", true, "in worse"}, {"spin", true, "test_survival_spin"}};
	const struct gorgon_pool_opts opts = {
		.size = sizeof(opts), .count = 1, .job_limit_ms = 200,
		.warm_up = "import ctypes, time\n"
			   "def sleep(): time.sleep(1000)\n"
			   "def loop():\n  while True: pass\n"
			   "import signal\n"
			   "def worse():\n"
			   "  signal.signal(signal.SIGINT, lambda *arguments: None)\n"
			   "  while True: pass\n"
			   "def spin(): ctypes.PyDLL(None).test_survival_spin()\n"
			   "def g(): return 7\n"};
	struct gorgon_value value;
	struct gorgon_pool *pool;
	struct gorgon_job *job;

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	alarm(120);
	assert_ok(gorgon_pool_create(&opts, &pool));
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct gorgon_error *err;

		assert_ok(gorgon_pool_submit(pool, NULL, jobs[i].function, NULL, NULL, -1, &job));
		err = gorgon_job_finish(job, NULL);
		if (jobs[i].abandoned)
			assert_error(err, GORGON_ERROR_ABANDONED, jobs[i].message);
		else
			assert_raised(err, "KeyboardInterrupt", "");
		assert_ok(gorgon_pool_submit(pool, NULL, "g", NULL, NULL, -1, &job));
		assert_ok(gorgon_job_finish(job, &value));
		assert_int_equal(value.integer, 7);
	}
	assert_int_equal(gorgon_pool_replaced_count(pool), 4);
	assert_ok(gorgon_pool_destroy(pool));
	__atomic_store_n(&spinning, false, __ATOMIC_RELAXED);
	alarm(0);
}

#ifdef __SANITIZE_ADDRESS__
// A thread that is parked leaves what the calls that it was in had allocated: no leak of the others can be told from that.
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_ends_where_locks_may_be_held),
		cmocka_unit_test(fault_in_a_call_is_an_error_of_the_call),
		cmocka_unit_test(report_has_the_label),
		cmocka_unit_test(other_calls_come_back_from_an_interpreter_with_a_fault),
		cmocka_unit_test(pool_replaces_an_interpreter_whose_job_has_a_fault),
		cmocka_unit_test(pool_ends_jobs_that_are_late),
		cmocka_unit_test(thread_of_the_program_with_a_fault_is_parked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
