// SPDX-License-Identifier: MIT
// loader/process/waiting.c: threads of libraries that go on when their interpreter ends.

#define _GNU_SOURCE
#include "calls.h"

#include <stdio.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

// Returns the writing end of the pipe that the thread may wait for.
static int start_idle(struct gorgon_interp *interp, const char *name)
{
	struct gorgon_value result;
	char source[1024];
	int ret;

	snprintf(
		source, sizeof(source),
		"import ctypes\nend = ctypes.CDLL('%s').idle_start(b'%s')\ndef get(): return end\n",
		test_module("libidle.so"), name);
	run(interp, source);
	assert_ok(gorgon_interp_call(interp, NULL, "get", NULL, NULL, &result));
	ret = (int)result.integer;
	assert_true(ret >= 0);
	return ret;
}

static void skip_sanitized(void)
{
	if (TEST_SANITIZED)
		skip_because("a sanitizer's functions are between the library and the C library");
}

static void thread_ends_with_its_interpreter(void **state)
{
	static const char *const names[] = {
		"cond",      "mutex",   "barrier", "sem",          "timed sem", "read",
		"eventfd",   "accept",  "poll",    "select",       "epoll",     "sleep",
		"nanosleep", "sigwait", "futex",   "inline futex", "compute"};

	(void)state;
	skip_sanitized();
	for (size_t i = 0; i < COUNT(names); i++) {
		struct gorgon_interp *interp = start();
		struct gorgon_error *err;

		start_idle(interp, names[i]);
		if ((err = gorgon_interp_destroy(interp)))
			fail_msg("%s: %s", names[i], gorgon_error_message(err));
	}
}

// Each has the mutex when its wait ends, and none may keep it from the others.
static void threads_that_wait_with_one_mutex_end_with_their_interpreter(void **state)
{
	struct gorgon_interp *interp;

	(void)state;
	skip_sanitized();
	interp = start();
	for (int i = 0; i < 4; i++)
		start_idle(interp, "cond");
	destroy(interp);
}

// Others would wait for a lock that it holds, or nobody can say which it holds.
static void thread_that_may_hold_a_lock_of_others_stays(void **state)
{
	static const char *const names[] = {"stream",        "with stream", "callback", "once",
					    "another stack", "full stack",  "blocked"};

	(void)state;
	skip_sanitized();
	for (size_t i = 0; i < COUNT(names); i++) {
		struct gorgon_interp *interp = start();
		int end = start_idle(interp, names[i]);
		struct gorgon_error *err = gorgon_interp_destroy(interp);

		if (!err)
			fail_msg("%s: it has ended", names[i]);
		assert_error(err, GORGON_ERROR_BUSY, "1 threads");
		assert_int_equal(write(end, "x", 1), 1);
		destroy(interp);
	}
}

static unsigned long mapped_mb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long ret = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &ret), 1);
	fclose(file);
	return ret * (unsigned long)sysconf(_SC_PAGESIZE) >> 20;
}

// Nobody joins it.
static void stack_of_a_thread_goes_with_its_interpreter(void **state)
{
	unsigned long before;

	(void)state;
	skip_sanitized();
	destroy(start());
	before = mapped_mb();
	for (int i = 0; i < 4; i++) {
		struct gorgon_interp *interp = start();

		start_idle(interp, "large stack");
		destroy(interp);
	}
	assert_in_range(mapped_mb() - before, 0, 2 * 256);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_ends_with_its_interpreter),
		cmocka_unit_test(threads_that_wait_with_one_mutex_end_with_their_interpreter),
		cmocka_unit_test(thread_that_may_hold_a_lock_of_others_stays),
		cmocka_unit_test(stack_of_a_thread_goes_with_its_interpreter),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
