// SPDX-License-Identifier: MIT
// loader/python/calls/call.c: threads of the host in an interpreter, calls within calls, and exit()
// in one.

#define _GNU_SOURCE
#include "calls.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static void call_threads_take_turns_in_one_interpreter(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread threads[8];

	(void)state;
	run(interp, "seen = []");
	for (int i = 0; i < 8; i++)
		spawn(&threads[i], interp,
		      "import threading\n"
		      "for i in range(1000): seen.append(threading.get_ident())\n");
	for (int i = 0; i < 8; i++)
		assert_ok(join(&threads[i]));
	run(interp, "assert len(seen) == 8000\n"
		    "assert threading.main_thread().ident == threading.get_ident()\n");
	destroy(interp);
}

static void destroy_while_a_call_runs_is_busy(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread thread;

	(void)state;
	init_waiting();
	spawn(&thread, interp, WAIT "done = True\n");
	sem_wait(&reached);
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "calls are running in it");
	assert_error(gorgon_interp_try_stop(interp), GORGON_ERROR_BUSY, "calls are running in it");
	run(interp, "assert 'done' not in globals()"); // as if nothing had happened
	sem_post(&go_on);
	assert_ok(join(&thread));
	run(interp, "assert done");
	destroy(interp);
}

static void *post_later(void *arg)
{
	(void)arg;
	usleep(100000);
	sem_post(&go_on);
	return NULL;
}

static void stop_that_waits_lets_calls_end_and_refuses_new_ones(void **state)
{
	struct gorgon_interp *interp = start();
	struct thread first, waiting[3];
	pthread_t poster;

	(void)state;
	init_waiting();
	spawn(&first, interp, WAIT);
	sem_wait(&reached);
	// Each call waits for the GIL, or comes too late; both are ordinary ends.
	for (int i = 0; i < 3; i++)
		spawn(&waiting[i], interp, "sum(range(100000))");
	pthread_create(&poster, NULL, post_later, NULL);
	assert_ok(gorgon_interp_stop(interp));
	assert_ok(join(&first));
	for (int i = 0; i < 3; i++) {
		struct gorgon_error *err = join(&waiting[i]);

		assert_true(!err || gorgon_error_code(err) == GORGON_ERROR_BUSY);
		gorgon_error_destroy(err);
	}
	pthread_join(poster, NULL);
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "has ended, and cannot be started again");
	destroy(interp);
}

static struct gorgon_interp *called_back;
static struct gorgon_error *from_inside[3];

TEST_EXPORT void test_call_back(void);
TEST_EXPORT void test_call_back(void)
{
	from_inside[0] = gorgon_interp_run_string(called_back, "nested = True", NULL);
	from_inside[1] = gorgon_interp_stop(called_back);
	from_inside[2] = gorgon_interp_destroy(called_back);
}

static void call_from_inside_nests_and_cannot_stop(void **state)
{
	(void)state;
	called_back = start();
	run(called_back, "import ctypes; ctypes.CDLL(None).test_call_back(); assert nested");
	assert_ok(from_inside[0]);
	assert_error(from_inside[1], GORGON_ERROR_BUSY, "cannot be stopped from inside");
	assert_error(from_inside[2], GORGON_ERROR_BUSY, "cannot be stopped from inside");
	destroy(called_back);
}

static void *stop_elsewhere(void *arg)
{
	return gorgon_interp_try_stop(arg);
}

static void stop_on_another_thread_finalises(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread;
	void *err;

	(void)state;
	alarm(120); // ends a process that hangs
	pthread_create(&thread, NULL, stop_elsewhere, interp);
	pthread_join(thread, &err);
	alarm(0);
	assert_ok(err);
	destroy(interp);
}

// --- exit() -------------------------------------------------------------------------------

static void call_exit_ends_the_interpreter_not_the_host(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	struct thread thread;

	(void)state;
	test_hide_leaks(true); // nothing of it is finalised
	init_waiting();
	spawn(&thread, interp, WAIT "after = True\n");
	sem_wait(&reached);
	// As PyDLL: with the GIL, which the other call waits for.
	assert_error(gorgon_interp_run_string(interp, "import ctypes; ctypes.PyDLL(None).exit(5)",
					      NULL),
		     GORGON_ERROR_PYTHON, "its code has called exit(5)");
	sem_post(&go_on);
	assert_ok(join(&thread));
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY,
		     "has ended, and cannot be started again");
	run(other, "assert True");
	destroy(interp);
	destroy(other);
	test_hide_leaks(false);
}

static struct gorgon_interp *inner;

TEST_EXPORT void test_call_inner(void);
TEST_EXPORT void test_call_inner(void)
{
	// exit() of the outer one in a call of the inner one's: it does not come back here.
	gorgon_error_destroy(
		gorgon_interp_run_string(inner, "ctypes.CDLL(None).test_call_outer()", NULL));
	fail_msg("came back");
}

static struct gorgon_interp *outer;

TEST_EXPORT void test_call_outer(void);
TEST_EXPORT void test_call_outer(void)
{
	gorgon_error_destroy(gorgon_interp_run_string(outer, "ctypes.CDLL(None).exit(6)", NULL));
	fail_msg("came back");
}

static void call_exit_through_another_interpreter_ends_both(void **state)
{
	(void)state;
	test_hide_leaks(true);
	outer = start();
	inner = start();
	run(outer, "import ctypes");
	run(inner, "import ctypes");
	assert_error(gorgon_interp_run_string(outer, "ctypes.CDLL(None).test_call_inner()", NULL),
		     GORGON_ERROR_PYTHON, "its code has called exit(6)");
	assert_error(gorgon_interp_run_string(inner, "pass", NULL), GORGON_ERROR_BUSY, "interpreter");
	destroy(inner);
	destroy(outer);
	test_hide_leaks(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_threads_take_turns_in_one_interpreter),
		cmocka_unit_test(destroy_while_a_call_runs_is_busy),
		cmocka_unit_test(stop_that_waits_lets_calls_end_and_refuses_new_ones),
		cmocka_unit_test(call_from_inside_nests_and_cannot_stop),
		cmocka_unit_test(stop_on_another_thread_finalises),
		cmocka_unit_test(call_exit_ends_the_interpreter_not_the_host),
		cmocka_unit_test(call_exit_through_another_interpreter_ends_both),
	};

	return cmocka_run_group_tests_name("call", tests, test_warm_up, NULL);
}
