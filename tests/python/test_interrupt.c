// SPDX-License-Identifier: MIT
// loader/python/calls/call.c: interrupts, which reach the calls that they are meant for.

#define _GNU_SOURCE
#include "calls.h"
#include "python/calls/interp.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct gorgon_interp *inner, *outer;
static struct gorgon_error *from_inside;

struct interrupter {
	struct gorgon_interp *interp;
	struct gorgon_error *err;
};

static void *interrupt_when_reached(void *arg)
{
	struct interrupter *interrupter = arg;

	sem_wait(&reached);
	usleep(50000); // time to get into the loop or the system call
	interrupter->err = gorgon_interp_interrupt(interrupter->interp);
	return NULL;
}

// Run @source on this thread, Python's main one, and interrupt it.
static void interrupt_main(struct gorgon_interp *interp, const char *source)
{
	struct interrupter interrupter = {.interp = interp};
	pthread_t thread;

	pthread_create(&thread, NULL, interrupt_when_reached, &interrupter);
	assert_raised(gorgon_interp_run_string(interp, source, NULL), "KeyboardInterrupt", "");
	pthread_join(thread, NULL);
	assert_ok(interrupter.err);
	// Nothing of the interrupt is left.
	run(interp, "for i in range(1000): pass\nimport time; time.sleep(0.001)");
}

static void ignore_signal(int number)
{
	(void)number;
}

// Interpreters that take the process's signals, that keep out of them, and that keep out of them in a host with a
// handler of its own.
static void interrupt_main_thread_in_a_loop_and_in_system_calls(void **state)
{
	static const char *const sources[] = {
		REACHED TEST_LOOP,
		REACHED "import time; time.sleep(1000)\n",
		REACHED "import os; r, w = os.pipe(); os.read(r, 1)\n",
		REACHED "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()\n",
	};
	const struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts), .no_signals = true};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};
	struct gorgon_interp *interp;

	(void)state;
	alarm(120); // instead of a hang
	for (int quiet = 0; quiet < 3; quiet++) {
		init_waiting();
		if (quiet == 2)
			signal(SIGINT, ignore_signal);
		interp = test_interp_start(quiet ? &opts : NULL, NULL);
		for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
			interrupt_main(interp, sources[i]);
		destroy(interp);
	}
	assert_ptr_equal(signal(SIGINT, SIG_DFL), ignore_signal);
	alarm(0);
}

static void interrupt_other_threads_in_a_loop(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	struct thread loops[2], bystander;

	(void)state;
	alarm(120);
	init_waiting();
	spawn(&bystander, other, REACHED "import time\n"
				 "until = time.monotonic() + 0.5\n"
				 "while time.monotonic() < until: pass\n");
	for (int i = 0; i < 2; i++)
		spawn(&loops[i], interp, REACHED TEST_LOOP);
	for (int i = 0; i < 3; i++)
		sem_wait(&reached);
	assert_ok(gorgon_interp_interrupt(interp));
	for (int i = 0; i < 2; i++)
		assert_raised(join(&loops[i]), "KeyboardInterrupt", "");
	run(interp, "for i in range(1000): pass");
	assert_ok(join(&bystander));
	destroy(interp);
	destroy(other);
	alarm(0);
}

// Measures a thread's processor time from the interrupt to the end of the call.
static void *time_loop(void *arg)
{
	struct thread *thread = arg;

	assert_ok(gorgon_interp_start(thread->interp, NULL));
	return run_thread(arg);
}

static void interrupt_runaway_among_others_ends_soon(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL), *other = start();
	struct thread runaway = {.interp = interp, .source = REACHED TEST_LOOP}, busy;
	struct timespec before, after;
	clockid_t clock;
	double spent;

	(void)state;
	alarm(120);
	init_waiting();
	pthread_create(&runaway.thread, NULL, time_loop, &runaway);
	spawn(&busy, other, REACHED TEST_LOOP);
	sem_wait(&reached);
	sem_wait(&reached);
	assert_int_equal(pthread_getcpuclockid(runaway.thread, &clock), 0);
	clock_gettime(clock, &before);
	assert_ok(gorgon_interp_interrupt(interp));
	// The thread's clock can be read until it ends, or is joined.
	after = before;
	while (!clock_gettime(clock, &after) && !__atomic_load_n(&runaway.err, __ATOMIC_ACQUIRE))
		usleep(1000);
	spent = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	if (spent > 0.1 && !TEST_SANITIZED)
		fail_msg("took %.3f s of processor time, expected less than 0.1", spent);
	assert_raised(join(&runaway), "KeyboardInterrupt", "");
	assert_ok(gorgon_interp_interrupt(other));
	assert_raised(join(&busy), "KeyboardInterrupt", "");
	destroy(interp);
	destroy(other);
	alarm(0);
}

static void interrupt_of_nothing_is_nothing(void **state)
{
	struct gorgon_interp *interp = test_interp_create(NULL);

	(void)state;
	assert_ok(gorgon_interp_interrupt(interp));
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_ok(gorgon_interp_interrupt(interp));
	run(interp, "for i in range(1000): pass");
	assert_ok(gorgon_interp_try_stop(interp));
	assert_ok(gorgon_interp_interrupt(interp));
	destroy(interp);
}

static int enough;

static void *keep_interrupting(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
		gorgon_error_destroy(gorgon_interp_interrupt(arg));
	return NULL;
}

// Interrupts come at any moment of short calls. Each call ends in one of two ways, and no call sees an interrupt of
// another.
static void interrupt_at_any_time_stays_with_its_call(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread;
	int interrupted = 0;

	(void)state;
	alarm(120);
	pthread_create(&thread, NULL, keep_interrupting, interp);
	for (int calls = 0; calls < 2000 || !interrupted; calls++) {
		struct gorgon_error *err = gorgon_interp_run_string(interp, "x = 1", NULL);

		if (err)
			assert_raised(err, "KeyboardInterrupt", "");
		interrupted += err != NULL;
	}
	__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	run(interp, "for i in range(100000): pass");
	destroy(interp);
	alarm(0);
}

// The text of an exception is made by Python code, with imports. An interrupt in the middle of an
// import would leave CPython's import lock behind, and an error without its traceback.
static void interrupt_while_an_error_is_made_comes_too_late(void **state)
{
	(void)state;
	alarm(120);
	for (int round = 0; round < 20; round++) {
		struct gorgon_interp *interp = start();
		struct thread other;
		pthread_t thread;

		__atomic_store_n(&enough, 0, __ATOMIC_RELAXED);
		pthread_create(&thread, NULL, keep_interrupting, interp);
		spawn(&other, interp, "1 / 0");
		for (int i = 0; i < 2; i++) {
			struct gorgon_error *err =
				i ? join(&other) : gorgon_interp_run_string(interp, "1 / 0", NULL);
			const struct gorgon_exception *exception = gorgon_error_exception(err);

			assert_non_null(exception);
			if (strcmp(exception->type, "KeyboardInterrupt"))
				assert_string_equal(exception->type, "ZeroDivisionError");
			assert_null(strstr(exception->traceback, "cannot be shown"));
			gorgon_error_destroy(err);
		}
		__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		run(interp, "import traceback, sched");
		destroy(interp);
	}
	alarm(0);
}

// On a busy machine the making of a text waits for a processor longer than it computes: here it sleeps.
static void interrupt_while_an_error_waits_comes_too_late(void **state)
{
	struct interrupter interrupter = {.interp = start()};
	const struct gorgon_exception *exception;
	struct gorgon_error *err;
	pthread_t thread;

	(void)state;
	init_waiting();
	pthread_create(&thread, NULL, interrupt_when_reached, &interrupter);
	err = gorgon_interp_run_string(interrupter.interp,
				       "class E(Exception):\n    def __str__(self):\n        " REACHED
				       "        import time; time.sleep(1.5)\n        return 'made'\nraise E\n",
				       NULL);
	pthread_join(thread, NULL);
	assert_ok(interrupter.err);
	exception = gorgon_error_exception(err);
	assert_non_null(exception);
	assert_string_equal(exception->message, "made");
	gorgon_error_destroy(err);
	destroy(interrupter.interp);
}

// Code of the program takes part in making the text, and may never end.
static void interrupt_ends_the_making_of_an_error(void **state)
{
	static const char *const sources[] = {
		"class E(Exception):\n    def __str__(self):\n        " REACHED "        while True: pass\nraise E\n",
		"class E(Exception):\n    def __str__(self):\n        " REACHED
		"        import time; time.sleep(1000)\nraise E\n",
		"class M(type):\n    def __getattribute__(self, name):\n        if name == '__qualname__':\n            " REACHED
		"        while name == '__qualname__': pass\n        return type.__getattribute__(self, name)\n"
		"class E(Exception, metaclass=M): pass\nraise E\n",
	};
	struct gorgon_interp *interp;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	interp = start();
	alarm(120);
	for (size_t i = 0; i < 4; i++) {
		struct interrupter interrupter = {.interp = interp};
		const struct gorgon_exception *exception;
		struct gorgon_error *err;
		struct thread other;
		pthread_t thread;

		init_waiting();
		pthread_create(&thread, NULL, interrupt_when_reached, &interrupter);
		if (i < 3) {
			err = gorgon_interp_run_string(interp, sources[i], NULL);
		} else {
			spawn(&other, interp, sources[0]);
			err = join(&other);
		}
		pthread_join(thread, NULL);
		assert_ok(interrupter.err);
		exception = gorgon_error_exception(err);
		assert_non_null(exception);
		assert_string_equal(exception->message, "(the message cannot be shown)");
		gorgon_error_destroy(err);
		run(interp, "for i in range(1000): pass\nimport traceback, time; time.sleep(0.001)");
	}
	destroy(interp);
	alarm(0);
}

static struct interrupter nested;

TEST_EXPORT void test_call_nested(void);
TEST_EXPORT void test_call_nested(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, interrupt_when_reached, &nested);
	// The call from inside runs in the inner interpreter while the outer one is interrupted.
	from_inside =
		gorgon_interp_run_string(inner, REACHED "import time; time.sleep(0.2)\n", NULL);
	pthread_join(thread, NULL);
}

static void interrupt_while_in_another_interpreter_comes_afterwards(void **state)
{
	(void)state;
	alarm(120);
	init_waiting();
	outer = start();
	inner = start();
	nested = (struct interrupter){.interp = outer};
	assert_raised(gorgon_interp_run_string(outer,
					       "import ctypes; ctypes.CDLL(None).test_call_nested()\n"
					       TEST_LOOP, NULL),
		      "KeyboardInterrupt", "");
	assert_ok(nested.err);
	assert_ok(from_inside);
	destroy(inner);
	destroy(outer);
	alarm(0);
}

// A Python in this process handles SIGINT but does not get it: the process ends as it would without Python.
static int send_ctrl_c(void *arg)
{
	const struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts), .no_signals = true};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};

	test_interp_start(arg ? NULL : &opts, NULL);
	kill(getpid(), SIGINT);
	usleep(1000); // a sanitizer delivers the signal here
	return 7;
}

static void signals_kept_from_interpreters_are_the_hosts(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	assert_int_equal(test_in_child(send_ctrl_c, NULL), -SIGINT);
	assert_int_equal(test_in_child(send_ctrl_c, ""), 7);
}

// A program that ignores SIGINT, or has its default, gets KeyboardInterrupt; one with a handler gets that called, once.
static void interrupt_of_a_program_that_does_not_handle_it(void **state)
{
	static const char *const sources[] = {
		"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" REACHED TEST_LOOP,
		"import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n" REACHED "import time; time.sleep(1000)\n",
	};
	struct gorgon_interp *interp = start();

	(void)state;
	alarm(120);
	init_waiting();
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		interrupt_main(interp, sources[i]);
	run(interp, "import signal, time\n"
		    "seen = []\n"
		    "def late(*args):\n"
		    "  seen.append(args[0])\n"
		    "  raise TimeoutError(len(seen))\n"
		    "signal.signal(signal.SIGINT, late)\n");
	for (int i = 0; i < 2; i++) {
		struct interrupter interrupter = {.interp = interp};
		pthread_t thread;

		pthread_create(&thread, NULL, interrupt_when_reached, &interrupter);
		assert_raised(gorgon_interp_run_string(interp, i ? REACHED TEST_LOOP : REACHED "time.sleep(1000)\n", NULL),
			      "TimeoutError", i ? "2" : "1");
		pthread_join(thread, NULL);
		assert_ok(interrupter.err);
	}
	run(interp, "assert seen == [signal.SIGINT] * 2, seen");
	destroy(interp);
	alarm(0);
}

static void *run_program(void *arg)
{
	// The object lives until the variables of modules go; no signals are handled any more then.
	const char *const arguments[] = {"-c", "import time\n"
					       "class Last:\n"
					       "  def __del__(self, now=time.monotonic):\n"
					       "    until = now() + 0.3\n"
					       "    while now() < until: pass\n"
					       "last = Last()\n" REACHED};
	int status;

	return gorgon_interp_main(arg, 2, arguments, &status);
}

static void interrupts_while_finalisers_run_are_nothing(void **state)
{
	struct gorgon_interp *interp;
	pthread_t thread;
	void *err = NULL;

	(void)state;
	alarm(120);
	init_waiting();
	assert_ok(gorgon_interp_create(NULL, &interp));
	assert_int_equal(pthread_create(&thread, NULL, run_program, interp), 0);
	sem_wait(&reached);
	while (pthread_tryjoin_np(thread, &err)) {
		gorgon_error_destroy(gorgon_interp_interrupt(interp));
		usleep(1000);
	}
	gorgon_error_destroy(err); // of an interrupt that came before
	destroy(interp);
	alarm(0);
}

// A pool interrupts a job whose worker has not entered the interpreter yet, or has just left it. Only an entry of the worker
// is meant by that: not that of another thread of the host, nor that which stops the interpreter.
static void *run_beside(void *interp)
{
	return gorgon_interp_run_string(interp, "for i in range(1000): pass", NULL);
}

static void *run_beside_until_interrupted(void *interp)
{
	return gorgon_interp_run_string(interp, REACHED TEST_LOOP, NULL);
}

static void *interrupt_job(void *interp)
{
	return gorgon_call_interrupt_job(interp);
}

static void interrupt_of_a_job_that_has_not_begun_is_for_the_worker(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread, watcher;
	void *err;

	(void)state;
	assert_ok(gorgon_call_interrupt_job(interp));
	pthread_create(&thread, NULL, run_beside, interp);
	pthread_join(thread, &err);
	assert_ok(err);
	assert_raised(gorgon_interp_run_string(interp, "pass", NULL), "KeyboardInterrupt", "");
	run(interp, "pass");
	// Another thread's entry is not taken for the job's: the request waits for the job.
	init_waiting();
	pthread_create(&thread, NULL, run_beside_until_interrupted, interp);
	sem_wait(&reached);
	pthread_create(&watcher, NULL, interrupt_job, interp);
	pthread_join(watcher, &err);
	assert_ok(err);
	pthread_join(thread, &err);
	assert_raised(err, "KeyboardInterrupt", "");
	assert_raised(gorgon_interp_run_string(interp, "pass", NULL), "KeyboardInterrupt", "");
	destroy(interp);
}

static void interrupt_of_a_job_that_has_ended_does_not_keep_from_stopping(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	assert_ok(gorgon_call_interrupt_job(interp));
	assert_ok(gorgon_interp_stop_within(interp, 3000));
	assert_ok(gorgon_interp_destroy(interp));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_while_finalisers_run_are_nothing),
		cmocka_unit_test(interrupt_main_thread_in_a_loop_and_in_system_calls),
		cmocka_unit_test(interrupt_other_threads_in_a_loop),
		cmocka_unit_test(interrupt_runaway_among_others_ends_soon),
		cmocka_unit_test(interrupt_of_nothing_is_nothing),
		cmocka_unit_test(interrupt_at_any_time_stays_with_its_call),
		cmocka_unit_test(interrupt_while_an_error_is_made_comes_too_late),
		cmocka_unit_test(interrupt_while_an_error_waits_comes_too_late),
		cmocka_unit_test(interrupt_ends_the_making_of_an_error),
		cmocka_unit_test(interrupt_while_in_another_interpreter_comes_afterwards),
		cmocka_unit_test(signals_kept_from_interpreters_are_the_hosts),
		cmocka_unit_test(interrupt_of_a_program_that_does_not_handle_it),
		cmocka_unit_test(interrupt_of_a_job_that_has_not_begun_is_for_the_worker),
		cmocka_unit_test(interrupt_of_a_job_that_has_ended_does_not_keep_from_stopping),
	};

	return cmocka_run_group_tests_name("interrupt", tests, test_warm_up, NULL);
}
