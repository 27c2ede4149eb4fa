// SPDX-License-Identifier: MIT
// A host forks: what the child can do with interpreters and pools of the parent. Whatever it calls returns, and it ends
// by exit() and _exit().

#define _GNU_SOURCE
#include "calls.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60 // for a child; it is killed then

// WAIT waits without the GIL. This says again and again that it was reached, and keeps the GIL while nobody asks for it.
#define LOOP "import ctypes; reached = ctypes.PyDLL(None).test_call_reached\n while True: reached()\n"

// What runs in the interpreter when the host forks, and what the child is told.
static const struct {
	const char *call;    // on another thread of the host; NULL: none
	const char *program; // before that
	int called, stopped;
} rows[] = {
	{NULL, NULL, 0, 0},
	{WAIT, NULL, 0, GORGON_ERROR_ABANDONED},
	{"if True:\n " LOOP, NULL, GORGON_ERROR_ABANDONED, GORGON_ERROR_ABANDONED},
	// Python waits for such a thread at its end.
	{NULL, "import threading\ndef f():\n " WAIT "threading.Thread(target=f).start()\n",
	 0, GORGON_ERROR_ABANDONED},
	{NULL, "import threading\ndef f():\n " LOOP "threading.Thread(target=f, daemon=True).start()\n",
	 GORGON_ERROR_ABANDONED, GORGON_ERROR_ABANDONED},
};

static int code_of(struct gorgon_error *err)
{
	enum gorgon_error_code ret = gorgon_error_code(err);

	gorgon_error_destroy(err);
	return ret;
}

enum act { CALL, INTERRUPT, STOP, WAIT_AND_STOP, DESTROY, ACTS };

static int act_on(struct gorgon_interp *interp, enum act act)
{
	switch (act) {
	case CALL:
		return code_of(gorgon_interp_run_string(interp, "import sys; sys.version", NULL));
	case INTERRUPT:
		return code_of(gorgon_interp_interrupt(interp));
	case STOP:
		return code_of(gorgon_interp_stop_within(interp, 10000));
	case WAIT_AND_STOP:
		return code_of(gorgon_interp_stop(interp));
	default:
		return code_of(gorgon_interp_destroy(interp));
	}
}

static int expected(size_t row, enum act act)
{
	switch (act) {
	case CALL:
		return rows[row].called;
	case STOP:
	case WAIT_AND_STOP:
		return rows[row].stopped;
	case DESTROY:
		return 0;
	default: // it may be refused, but returns
		return -1;
	}
}

// The status of a child that does this: 0 if it was told what the row says.
static int child_status(struct gorgon_interp *interp, size_t row, enum act act)
{
	int code;
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(LIMIT_S);
		code = act_on(interp, act);
		status = act != INTERRUPT && code != expected(row, act);
		status |= act != DESTROY && gorgon_interp_destroy(interp) ? 2 : 0;
		if (row % 2)
			exit(status);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void wait_for_loop(void)
{
	while (!sem_trywait(&reached))
		;
	for (int i = 0; i < 2; i++)
		sem_wait(&reached);
}

static void child_is_told_at_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gorgon_interp *interp = start();
		struct thread thread;

		init_waiting();
		if (rows[i].program)
			run(interp, rows[i].program);
		if (rows[i].call)
			spawn(&thread, interp, rows[i].call);
		if (rows[i].call || rows[i].program)
			sem_wait(&reached);
		if (rows[i].called) // this thread has given up the GIL since: LOOP must have it again
			wait_for_loop();
		for (enum act act = CALL; act < ACTS; act++) {
			int status = child_status(interp, i, act);

			if (status)
				fail_msg("row %zu, act %d: the child's status is %#x", i, (int)act, status);
		}
		sem_post(&go_on);
		gorgon_error_destroy(gorgon_interp_stop_within(interp, 5000));
		if (rows[i].call)
			gorgon_error_destroy(join(&thread));
		gorgon_error_destroy(gorgon_interp_destroy(interp)); // a thread may be parked in it
	}
}

static const char signals[] =
	"import ctypes, os, signal, time\n"
	"got = []\n"
	"def take(number): signal.signal(number, lambda *args: got.append(int(number)))\n"
	"def expect(*numbers):\n"
	" for _ in range(1000):\n"
	"  if got == list(numbers): return got.clear()\n"
	"  time.sleep(0.01)\n"
	" raise AssertionError(got)\n"
	"take(signal.SIGTERM)\n"
	"take(signal.SIGALRM)\n";

// What an interpreter that is started, and one that is not yet, make of signals in a child.
static int child_of_signals(struct gorgon_interp *started, struct gorgon_interp *created)
{
	static const char *const there[] = {
		"take(signal.SIGCHLD); child = os.posix_spawn('/bin/true', ['true'], {}); expect(signal.SIGCHLD)",
		"assert os.wait() == (child, 0)",
	};
	int status = 0;

	alarm(LIMIT_S);
	kill(getpid(), SIGTERM); // handled when Python next runs
	status |= gorgon_interp_run_string(started, "expect(signal.SIGTERM)", NULL) ? 1 : 0;
	status |= gorgon_interp_start(created, NULL) ? 2 : 0;
	status |= gorgon_interp_run_string(created, signals, NULL) ? 4 : 0;
	for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++) {
		status |= gorgon_interp_run_string(started, there[i], NULL) ? 8 : 0;
		status |= gorgon_interp_run_string(created, there[i], NULL) ? 16 : 0;
	}
	kill(getpid(), SIGINT);
	status |= code_of(gorgon_interp_run_string(started, "time.sleep(100)", NULL)) != GORGON_ERROR_EXCEPTION ? 32 : 0;
	status |= code_of(gorgon_interp_run_string(started, "ctypes.CDLL(None).exit(7)", NULL)) != GORGON_ERROR_PYTHON ? 64 : 0;
	return status;
}

static int child_of_timers(struct gorgon_interp *started, struct gorgon_interp *created)
{
	static const char timer[] = "signal.setitimer(signal.ITIMER_REAL, 0.01); expect(signal.SIGALRM); time.sleep(0.1)\n"
				    "assert not got, got\n";
	int status;

	alarm(LIMIT_S);
	status = gorgon_interp_start(created, NULL) ? 1 : 0;
	status |= gorgon_interp_run_string(created, signals, NULL) ? 2 : 0;
	status |= gorgon_interp_run_string(started, timer, NULL) ? 4 : 0;
	status |= gorgon_interp_run_string(created, timer, NULL) ? 8 : 0;
	return status;
}

static void try_child(int (*child)(struct gorgon_interp *started, struct gorgon_interp *created))
{
	struct gorgon_interp *started = start(), *created;
	int status;
	pid_t pid;

	assert_ok(gorgon_interp_create(NULL, &created));
	run(started, signals);
	pid = fork();
	if (!pid)
		_exit(child(started, created));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(gorgon_interp_destroy(created));
	assert_ok(gorgon_interp_stop(started));
	assert_ok(gorgon_interp_destroy(started));
}

static void child_has_the_signals_of_its_interpreters(void **state)
{
	(void)state;
	try_child(child_of_signals);
}

static void child_has_the_timers_of_its_interpreters(void **state)
{
	(void)state;
	try_child(child_of_timers);
}

static void child_ends_without_a_word_to_the_pool(struct gorgon_pool *pool, struct gorgon_job *done, struct gorgon_job *busy)
{
	struct gorgon_job *job;
	int status = 0;

	alarm(LIMIT_S);
	status |= code_of(gorgon_pool_submit(pool, NULL, "len", NULL, NULL, -1, &job)) != GORGON_ERROR_BUSY;
	status |= !gorgon_job_wait(done, -1) || gorgon_job_wait(busy, -1) ? 2 : 0;
	status |= code_of(gorgon_job_cancel(busy)) != GORGON_ERROR_BUSY ? 4 : 0;
	status |= code_of(gorgon_job_finish(busy, NULL)) != GORGON_ERROR_BUSY ? 8 : 0;
	status |= gorgon_pool_destroy(pool) ? 16 : 0;
	exit(status);
}

static void child_leaves_the_pool(void **state)
{
	const struct gorgon_pool_opts opts = {
		.size = sizeof(opts), .count = 2, .job_limit_ms = 1000000, .warm_up = "import time\ndef nap(): time.sleep(1000)\n"};
	struct gorgon_job *done, *busy;
	struct gorgon_pool *pool;
	int status;
	pid_t pid;

	(void)state;
	assert_ok(gorgon_pool_create(&opts, &pool));
	assert_ok(gorgon_pool_submit(pool, "time", "time", NULL, NULL, -1, &done));
	assert_true(gorgon_job_wait(done, -1));
	assert_ok(gorgon_pool_submit(pool, NULL, "nap", NULL, NULL, -1, &busy));
	pid = fork();
	if (!pid)
		child_ends_without_a_word_to_the_pool(pool, done, busy);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(gorgon_job_finish(done, NULL));
	while (!gorgon_job_wait(busy, 10))
		assert_ok(gorgon_job_cancel(busy));
	assert_raised(gorgon_job_finish(busy, NULL), "KeyboardInterrupt", "");
	assert_ok(gorgon_pool_destroy(pool));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_is_told_at_once),
		cmocka_unit_test(child_has_the_signals_of_its_interpreters),
		cmocka_unit_test(child_has_the_timers_of_its_interpreters),
		cmocka_unit_test(child_leaves_the_pool),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
