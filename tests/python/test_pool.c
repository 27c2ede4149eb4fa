// SPDX-License-Identifier: MIT
// loader/python: a pool of interpreters.

#define _GNU_SOURCE
#include "helpers.h"
#include "skip.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VALUE_INT(n)	{.kind = GORGON_VALUE_INT, .integer = (n)}
#define VALUE_STRING(s) {.kind = GORGON_VALUE_STRING, .text = {(s), sizeof(s) - 1}}

// Python code calls these through ctypes, which releases the GIL meanwhile.
static sem_t reached, go_on;
TEST_EXPORT void test_pool_wait(void);
TEST_EXPORT void test_pool_wait(void)
{
	sem_post(&reached);
	sem_wait(&go_on);
}

TEST_EXPORT void test_pool_reached(void);
TEST_EXPORT void test_pool_reached(void)
{
	sem_post(&reached);
}

static const char warm_up[] =
	"import ctypes, gorgon, os, time\n"
	"host = ctypes.CDLL(None)\n"
	"def square(x): return x * x\n"
	"def number(): return gorgon.interpreter\n"
	"def fail(): raise KeyError('nothing')\n"
	"def wait(): host.test_pool_wait()\n"
	"def loop():\n"
	"    host.test_pool_reached()\n"
	"    while True: " TEST_TURN "\n"
	"def sleep():\n"
	"    host.test_pool_reached()\n"
	"    time.sleep(1000)\n"
	"import signal\n"
	"def late(*args): raise TimeoutError(args[0])\n"
	"def alarm():\n"
	"    signal.signal(signal.SIGALRM, late)\n"
	"    signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
	"    time.sleep(1000)\n"
	"def send():\n"
	"    signal.signal(signal.SIGUSR1, late)\n"
	"    os.kill(os.getpid(), signal.SIGUSR1)\n"
	"def leave(): host.exit(4)\n"
	"def fill():\n"
	"    global x\n"
	"    x = []\n"
	"    while True: x.append(bytes(1000))\n";

static struct gorgon_pool *create(unsigned count, unsigned queue_size)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = count,
					.queue_size = queue_size, .warm_up = warm_up};
	struct gorgon_pool *pool;

	sem_init(&reached, 0, 0);
	sem_init(&go_on, 0, 0);
	alarm(120); // instead of a hang
	assert_ok(gorgon_pool_create(&opts, &pool));
	return pool;
}

static void destroy(struct gorgon_pool *pool)
{
	assert_ok(gorgon_pool_destroy(pool));
	alarm(0);
}

static struct gorgon_job *submit(struct gorgon_pool *pool, const char *function)
{
	struct gorgon_job *job;

	assert_ok(gorgon_pool_submit(pool, NULL, function, NULL, NULL, -1, &job));
	return job;
}

// Calls a function without arguments that returns an int.
static int64_t call(struct gorgon_pool *pool, const char *function)
{
	struct gorgon_value ret;

	assert_ok(gorgon_job_finish(submit(pool, function), &ret));
	assert_int_equal(ret.kind, GORGON_VALUE_INT);
	return ret.integer;
}

static void assert_raised(struct gorgon_error *err, const char *type)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (!exception)
		fail_msg("%s", gorgon_error_message(err));
	assert_string_equal(exception->type, type);
	gorgon_error_destroy(err);
}

static void pool_jobs_return_what_their_functions_do(void **state)
{
	struct gorgon_pool *pool = create(3, 50);
	struct gorgon_job *jobs[50];

	(void)state;
	for (int i = 0; i < 50; i++) {
		struct gorgon_value item = VALUE_INT(i);
		struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};

		assert_ok(gorgon_pool_submit(pool, NULL, "square", &args, NULL, -1, &jobs[i]));
		item.integer = -1; // it was copied
	}
	for (int i = 49; i >= 0; i--) {
		struct gorgon_value ret;

		assert_ok(gorgon_job_finish(jobs[i], &ret));
		assert_int_equal(ret.integer, i * i);
	}
	assert_int_equal(gorgon_pool_replaced_count(pool), 0);
	destroy(pool);
	assert_int_equal(gorgon_interp_count(), 0);
}

static void pool_interpreters_work_at_once(void **state)
{
	struct gorgon_pool *pool = create(3, 0);
	struct gorgon_job *jobs[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		jobs[i] = submit(pool, "wait");
	for (int i = 0; i < 3; i++)
		sem_wait(&reached); // all three are inside
	assert_false(gorgon_job_wait(jobs[0], 0));
	for (int i = 0; i < 3; i++)
		sem_post(&go_on);
	assert_true(gorgon_job_wait(jobs[0], -1));
	for (int i = 0; i < 3; i++)
		assert_ok(gorgon_job_finish(jobs[i], NULL));
	destroy(pool);
}

static void pool_exceptions_come_back_and_the_interpreter_stays(void **state)
{
	struct gorgon_pool *pool = create(1, 0);
	int64_t number = call(pool, "number");
	struct gorgon_value key[] = {VALUE_STRING("indent"), VALUE_INT(0)};
	struct gorgon_value kwargs = {.kind = GORGON_VALUE_DICT, .list = {key, 1}}, ret;
	struct gorgon_value item = VALUE_STRING("x");
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
	struct gorgon_job *job;

	(void)state;
	assert_raised(gorgon_job_finish(submit(pool, "fail"), NULL), "KeyError");
	assert_ok(gorgon_pool_submit(pool, "json", "dumps", &args, &kwargs, -1, &job));
	assert_ok(gorgon_job_finish(job, &ret));
	assert_string_equal(ret.text.data, "\"x\"");
	gorgon_value_deinit(&ret);
	assert_int_equal(call(pool, "number"), number);
	destroy(pool);
}

static void pool_full_queue_pushes_back(void **state)
{
	struct gorgon_pool *pool = create(1, 1);
	struct gorgon_job *running = submit(pool, "wait"), *waiting, *refused = NULL;

	(void)state;
	sem_wait(&reached);
	waiting = submit(pool, "number");
	assert_error(gorgon_pool_submit(pool, NULL, "number", NULL, NULL, 0, &refused),
		     GORGON_ERROR_BUSY, "pool: 1 jobs wait already");
	assert_error(gorgon_pool_submit(pool, NULL, "number", NULL, NULL, 20, &refused),
		     GORGON_ERROR_BUSY, "pool: 1 jobs wait already");
	assert_null(refused);
	sem_post(&go_on);
	assert_ok(gorgon_job_finish(submit(pool, "number"), NULL)); // waits for room
	assert_ok(gorgon_job_finish(running, NULL));
	assert_ok(gorgon_job_finish(waiting, NULL));
	destroy(pool);
}

static void pool_cancelled_while_it_waits_never_runs(void **state)
{
	struct gorgon_pool *pool = create(1, 3);
	struct gorgon_job *running = submit(pool, "wait"), *jobs[3];

	(void)state;
	sem_wait(&reached);
	for (int i = 0; i < 3; i++)
		jobs[i] = submit(pool, i == 1 ? "loop" : "number");
	assert_ok(gorgon_job_cancel(jobs[1]));
	assert_ok(gorgon_job_cancel(jobs[2])); // the last in the queue
	sem_post(&go_on);
	assert_ok(gorgon_job_finish(running, NULL));
	assert_error(gorgon_job_finish(jobs[1], NULL), GORGON_ERROR_CANCELLED,
		     "loop: cancelled before it began");
	assert_error(gorgon_job_finish(jobs[2], NULL), GORGON_ERROR_CANCELLED,
		     "number: cancelled before it began");
	assert_ok(gorgon_job_cancel(jobs[0])); // perhaps over: both is an ordinary end
	gorgon_error_destroy(gorgon_job_finish(jobs[0], NULL));
	destroy(pool);
}

static void pool_runaway_is_interrupted_and_replaced(void **state)
{
	static const char *const functions[] = {"loop", "sleep"};
	struct gorgon_pool *pool = create(2, 0);
	struct gorgon_job *other = submit(pool, "wait");

	(void)state;
	sem_wait(&reached);
	for (size_t i = 0; i < 2; i++) {
		int64_t before = call(pool, "number");
		struct gorgon_job *job = submit(pool, functions[i]);

		sem_wait(&reached);
		assert_ok(gorgon_job_cancel(job));
		assert_raised(gorgon_job_finish(job, NULL), "KeyboardInterrupt");
		assert_true(call(pool, "number") > before);
		assert_int_equal(gorgon_pool_replaced_count(pool), i + 1);
	}
	assert_false(gorgon_job_wait(other, 0));
	sem_post(&go_on);
	assert_ok(gorgon_job_finish(other, NULL));
	destroy(pool);
}

// A job has alarms, and signals that it sends itself; another job at the same time does not notice, nor does the host.
static void pool_jobs_have_signals(void **state)
{
	static const char *const functions[] = {"alarm", "send"};
	struct gorgon_pool *pool = create(2, 0);
	struct gorgon_job *other = submit(pool, "wait");

	(void)state;
	sem_wait(&reached);
	for (size_t i = 0; i < 2; i++)
		assert_raised(gorgon_job_finish(submit(pool, functions[i]), NULL), "TimeoutError");
	assert_false(gorgon_job_wait(other, 0));
	sem_post(&go_on);
	assert_ok(gorgon_job_finish(other, NULL));
	destroy(pool);
}

static void pool_cancel_at_any_time_ends_the_job(void **state)
{
	struct gorgon_pool *pool = create(1, 0);

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct gorgon_job *job = submit(pool, "loop");
		struct gorgon_error *err;

		usleep((useconds_t)i * 20);
		assert_ok(gorgon_job_cancel(job));
		err = gorgon_job_finish(job, NULL);
		if (gorgon_error_code(err) == GORGON_ERROR_CANCELLED)
			gorgon_error_destroy(err);
		else
			assert_raised(err, "KeyboardInterrupt");
	}
	destroy(pool);
}

static void pool_dead_interpreter_is_replaced(void **state)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 1, .warm_up = warm_up,
					.interp = &(struct gorgon_interp_opts){.size = sizeof(struct gorgon_interp_opts),
									       .memory_limit = 64 << 20}};
	struct gorgon_pool *pool;
	int64_t number;

	(void)state;
	alarm(120);
	test_hide_leaks(true);
	assert_ok(gorgon_pool_create(&opts, &pool));
	number = call(pool, "number");
	assert_error(gorgon_job_finish(submit(pool, "leave"), NULL), GORGON_ERROR_PYTHON,
		     "its code has called exit(4)");
	assert_true(call(pool, "number") > number);
	number = call(pool, "number");
	assert_raised(gorgon_job_finish(submit(pool, "fill"), NULL), "MemoryError");
	assert_true(call(pool, "number") > number);
	assert_int_equal(gorgon_pool_replaced_count(pool), 2);
	destroy(pool);
	test_hide_leaks(false);
}

static uint64_t process_time_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

// A thread that has used up its interpreter's processor time is stopped. That takes longer on a busy machine.
static void wait_until_nothing_runs(void)
{
	uint64_t before;

	do {
		before = process_time_ms();
		usleep(500000);
	} while (process_time_ms() > before + 5);
}

// A job gets an interpreter that has processor time left, also if threads of the one before have used it up meanwhile.
static void pool_interpreter_without_processor_time_is_replaced(void **state)
{
	const uint64_t limit = TEST_SANITIZED ? 4000 : 400; // more than its start takes
	const struct gorgon_interp_opts interp = {.size = sizeof(interp), .cpu_limit_ms = limit, .cpu_hard_limit_ms = limit + 100};
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 1, .interp = &interp, .warm_up =
		"import gorgon, threading\n"
		"def number(): return gorgon.interpreter\n"
		"def spin():\n"
		"    while True: " TEST_TURN "\n"
		"def leave_thread():\n"
		"    threading.Thread(target=spin, daemon=True).start()\n"
		"    return gorgon.interpreter\n"};
	struct gorgon_pool *pool;
	int64_t number;

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	alarm(120);
	assert_ok(gorgon_pool_create(&opts, &pool));
	number = call(pool, "number");
	assert_raised(gorgon_job_finish(submit(pool, "spin"), NULL), "KeyboardInterrupt");
	assert_true(call(pool, "number") > number);
	assert_int_equal(gorgon_pool_replaced_count(pool), 1);
	number = call(pool, "leave_thread");
	wait_until_nothing_runs();
	assert_true(call(pool, "number") > number);
	assert_int_equal(gorgon_pool_replaced_count(pool), 2);
	destroy(pool);
	assert_int_equal(gorgon_interp_count(), 0);
}

static void pool_create_failures_say_why(void **state)
{
	const struct gorgon_interp_opts interp = {.size = sizeof(interp), .python = "/nonexistent"};
	struct gorgon_pool_opts opts = {.size = 1};
	struct gorgon_pool *pool = NULL;

	(void)state;
	assert_error(gorgon_pool_create(&opts, &pool), GORGON_ERROR_ARGUMENT,
		     "gorgon_pool_opts: size is 1, expected");
	opts = (struct gorgon_pool_opts){.size = sizeof(opts), .count = 2, .warm_up = "1 / 0"};
	assert_error(gorgon_pool_create(&opts, &pool), GORGON_ERROR_EXCEPTION, "ZeroDivisionError");
	opts = (struct gorgon_pool_opts){.size = sizeof(opts), .interp = &interp};
	assert_error(gorgon_pool_create(&opts, &pool), GORGON_ERROR_OS, "/nonexistent");
	assert_null(pool);
	assert_int_equal(gorgon_interp_count(), 0);
}

static void pool_destroy_cancels_what_waits(void **state)
{
	struct gorgon_pool *pool = create(1, 2);
	struct gorgon_job *running = submit(pool, "wait"), *waiting, *late = NULL;

	(void)state;
	sem_wait(&reached);
	waiting = submit(pool, "number");
	sem_post(&go_on);
	assert_error(gorgon_pool_destroy(pool), GORGON_ERROR_BUSY,
		     "pool: 2 jobs have not been given to gorgon_job_finish()");
	assert_error(gorgon_pool_submit(pool, NULL, "number", NULL, NULL, -1, &late), GORGON_ERROR_BUSY,
		     "pool: is being destroyed");
	assert_ok(gorgon_job_finish(running, NULL));
	gorgon_error_destroy(gorgon_job_finish(waiting, NULL)); // cancelled, unless it was quick
	destroy(pool);
}

static void pool_arguments_beyond_the_limits_are_refused(void **state)
{
	struct gorgon_pool *pool = create(1, 0);
	struct gorgon_value cyclic = {.kind = GORGON_VALUE_LIST, .list = {&cyclic, 1}};
	struct gorgon_value many = {.kind = GORGON_VALUE_LIST, .list = {&many, SIZE_MAX / 2}};
	struct gorgon_job *job = NULL;

	(void)state;
	assert_error(gorgon_pool_submit(pool, NULL, "square", &cyclic, NULL, 0, &job),
		     GORGON_ERROR_ARGUMENT, "args[0][0][0]: nested deeper than 64");
	assert_error(gorgon_pool_submit(pool, NULL, "square", &many, NULL, 0, &job),
		     GORGON_ERROR_ARGUMENT, "args: more than 1048576 values");
	assert_null(job);
	destroy(pool);
}

struct submitter {
	pthread_t thread;
	struct gorgon_pool *pool;
	int64_t sum;
};

static void *keep_submitting(void *arg)
{
	struct submitter *submitter = arg;

	for (int i = 0; i < 200; i++) {
		struct gorgon_value item = VALUE_INT(i), ret = VALUE_INT(0);
		struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
		struct gorgon_job *job;

		if (gorgon_pool_submit(submitter->pool, NULL, "square", &args, NULL, -1, &job) ||
		    gorgon_job_finish(job, &ret))
			return NULL;
		submitter->sum += ret.integer;
	}
	return NULL;
}

static void pool_jobs_hold_their_arrays(void **state)
{
	double numbers[] = {3, 4};
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = {.format = "d", .ndim = 1, .shape = (ptrdiff_t[]){2}},
		.writable = true,
		.data = numbers,
	};
	// numpy is left out, because it leaves memory that a leak checker finds.
	struct gorgon_pool_opts pool_opts = {
		.size = sizeof(pool_opts),
		.count = 1,
		.warm_up = "memoryview = memoryview",
		.start = &(struct gorgon_start_opts){.size = sizeof(struct gorgon_start_opts), .no_site = true},
	};
	struct gorgon_pool *pool;
	struct gorgon_value item = {.kind = GORGON_VALUE_ARRAY}, ret;
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&item, 1}};
	struct gorgon_array_info info;
	struct gorgon_job *job;

	(void)state;
	assert_ok(gorgon_pool_create(&pool_opts, &pool));
	assert_ok(gorgon_array_create(&opts, &item.array));
	assert_ok(gorgon_pool_submit(pool, NULL, "memoryview", &args, NULL, 0, &job));
	gorgon_array_release(item.array);
	assert_ok(gorgon_job_finish(job, &ret));
	assert_int_equal(ret.kind, GORGON_VALUE_ARRAY);
	gorgon_array_get_info(ret.array, &info);
	assert_ptr_not_equal(info.data, numbers); // the result is the host's alone
	assert_memory_equal(info.data, numbers, sizeof(numbers));
	assert_ok(gorgon_pool_destroy(pool));
	gorgon_value_deinit(&ret);
}

static void pool_any_thread_submits(void **state)
{
	struct gorgon_pool *pool = create(2, 2);
	struct submitter submitters[6] = {0};

	(void)state;
	for (int i = 0; i < 6; i++) {
		submitters[i].pool = pool;
		pthread_create(&submitters[i].thread, NULL, keep_submitting, &submitters[i]);
	}
	for (int i = 0; i < 6; i++) {
		pthread_join(submitters[i].thread, NULL);
		assert_int_equal(submitters[i].sum, 2646700);
	}
	destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_jobs_return_what_their_functions_do),
		cmocka_unit_test(pool_interpreters_work_at_once),
		cmocka_unit_test(pool_exceptions_come_back_and_the_interpreter_stays),
		cmocka_unit_test(pool_full_queue_pushes_back),
		cmocka_unit_test(pool_cancelled_while_it_waits_never_runs),
		cmocka_unit_test(pool_runaway_is_interrupted_and_replaced),
		cmocka_unit_test(pool_jobs_have_signals),
		cmocka_unit_test(pool_cancel_at_any_time_ends_the_job),
		cmocka_unit_test(pool_dead_interpreter_is_replaced),
		cmocka_unit_test(pool_interpreter_without_processor_time_is_replaced),
		cmocka_unit_test(pool_create_failures_say_why),
		cmocka_unit_test(pool_destroy_cancels_what_waits),
		cmocka_unit_test(pool_arguments_beyond_the_limits_are_refused),
		cmocka_unit_test(pool_jobs_hold_their_arrays),
		cmocka_unit_test(pool_any_thread_submits),
	};

	return cmocka_run_group_tests_name("pool", tests, test_warm_up, NULL);
}
