// SPDX-License-Identifier: MIT
// loader/process/threads/altstack.c: several interpreters ask for a signal stack of a thread, and
// the thread outlives them.

#define _GNU_SOURCE
#include "calls.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENABLE "import faulthandler; faulthandler.enable()"

static stack_t altstack(void)
{
	stack_t now;

	assert_int_equal(sigaltstack(NULL, &now), 0);
	return now;
}

static void *stop_and_destroy(void *interp)
{
	assert_ok(gorgon_interp_destroy(interp));
	return NULL;
}

// In a thread that has no signal stack; a sanitizer gives each thread one. With CPython 3.13 and 3.14 it gets one when the
// interpreter starts, because the loader asks faulthandler for its handler then (loader/python/calls/traceback.c).
static void *enable_in_two(void *arg)
{
	struct gorgon_interp *first, *second;
	stack_t now;

	(void)arg;
	assert_true(altstack().ss_flags & SS_DISABLE);
	first = start();
	second = start();
	run(first, ENABLE);
	now = altstack();
	assert_false(now.ss_flags & SS_DISABLE);
	assert_true(now.ss_size >= 64 << 10); // for a report of ours, whatever Python asks for
	run(second, ENABLE);
	assert_ptr_equal(altstack().ss_sp, now.ss_sp);
	destroy(first);
	assert_ptr_equal(altstack().ss_sp, now.ss_sp);
	destroy(second);
	assert_ptr_equal(altstack().ss_sp, now.ss_sp);
	// The stack is still there, and belongs to nobody else.
	memset(now.ss_sp, 0xa5, now.ss_size);
	return NULL;
}

static void altstack_outlives_interpreters_but_not_its_thread(void **state)
{
	struct test_snapshot before = {0}, now;
	pthread_t thread;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("the sanitizer gives threads stacks of its own");
	for (int i = 0; i < 6; i++) {
		assert_int_equal(pthread_create(&thread, NULL, enable_in_two, NULL), 0);
		pthread_join(thread, NULL);
		now = test_snapshot();
		if (i == 1)
			before = now;
	}
	assert_true(now.anon_bytes < before.anon_bytes + 4 * 8192);
}

static void altstack_of_the_host_stays(void **state)
{
	static char memory[1 << 16];
	stack_t mine = {.ss_sp = memory, .ss_size = sizeof(memory)}, before;
	struct gorgon_interp *interp = start();
	pthread_t thread;

	(void)state;
	assert_int_equal(sigaltstack(&mine, &before), 0);
	run(interp, ENABLE);
	assert_ptr_equal(altstack().ss_sp, memory);
	pthread_create(&thread, NULL, stop_and_destroy, interp);
	pthread_join(thread, NULL);
	assert_ptr_equal(altstack().ss_sp, memory);
	assert_int_equal(sigaltstack(&before, NULL), 0);
}

static void *overflow_thread(void *arg)
{
	(void)arg;
	run(start(), ENABLE "\ndef f(): faulthandler._stack_overflow()\nf()\n");
	return NULL;
}

static int overflow(void *path)
{
	pthread_t thread;
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(out, STDERR_FILENO);
	signal(SIGSEGV, SIG_DFL);                             // cmocka has a handler of its own
	pthread_create(&thread, NULL, overflow_thread, NULL); // a thread's stack is not unlimited
	pthread_join(thread, NULL);
	return 0;
}

// Python can report the overflow only on a signal stack.
static void altstack_overflow_of_the_threads_stack_is_reported(void **state)
{
	const char *path = test_temp("overflow");
	uint8_t *bytes;
	size_t size;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("the sanitizer reports it");
	assert_int_equal(test_in_child(overflow, (void *)path), -SIGSEGV);
	bytes = test_read(path, &size);
	assert_non_null(memmem(bytes, size, "Fatal Python error: Segmentation fault", 38));
	assert_non_null(memmem(bytes, size, "in f", 4));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(altstack_outlives_interpreters_but_not_its_thread),
		cmocka_unit_test(altstack_of_the_host_stays),
		cmocka_unit_test(altstack_overflow_of_the_threads_stack_is_reported),
	};

	return cmocka_run_group_tests_name("altstack", tests, test_warm_up, NULL);
}
