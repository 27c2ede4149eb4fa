// SPDX-License-Identifier: MIT
// loader/process/kernel/fork.c: which handlers a fork() runs; loader/dl/parts.c: which locks are
// held around it.

#define _GNU_SOURCE
#include "helpers.h"

#include "dl/atfork.h"
#include "process/part.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct copy {
	struct gorgon_ns *ns;
	struct gorgon_object *object;
	int (*probe)(void), (*fork)(void), (*ran)(int phase);
};

static struct copy make_copy(void)
{
	struct copy copy = {.ns = test_ns()};

	copy.object = test_open(copy.ns, "libforks.so");
	copy.probe = SYMBOL(copy.object, int (*)(void), "forks_register");
	copy.fork = SYMBOL(copy.object, int (*)(void), "forks_fork");
	copy.ran = SYMBOL(copy.object, int (*)(int), "forks_ran");
	assert_int_equal(copy.probe(), 0);
	return copy;
}

// Counts handlers that have run: 100 * prepare + 10 * parent + child. A child ends with its own count.
static void assert_ran(const struct copy *copy, int expected)
{
	assert_int_equal(100 * copy->ran(0) + 10 * copy->ran(1) + copy->ran(2), expected);
}

static void fork_runs_the_handlers_of_the_namespace_that_forks(void **state)
{
	struct copy one = make_copy(), other = make_copy();
	struct test_snapshot before = test_snapshot();

	(void)state;
	assert_int_equal(one.fork(), 101);
	assert_ran(&one, 110);
	assert_ran(&other, 0);
	assert_int_equal(other.fork(), 101);
	assert_ran(&one, 110);
	assert_ran(&other, 110);
	assert_unchanged(&before);
	test_ns_destroy(one.ns);
	test_ns_destroy(other.ns);
}

static int child_of_the_host(const struct copy *one, const struct copy *other)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(10 * one->ran(2) + other->ran(2));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void fork_of_the_host_runs_all_handlers_that_are_loaded(void **state)
{
	struct copy one = make_copy(), other = make_copy();

	(void)state;
	assert_int_equal(child_of_the_host(&one, &other), 11);
	assert_ran(&one, 110);
	assert_ran(&other, 110);
	test_ns_destroy(one.ns);
	assert_int_equal(other.fork(), 201);
	assert_ran(&other, 220);
	test_ns_destroy(other.ns);
}

// Handlers run in reverse order before the fork and in order after it; a registration in between waits.
static void fork_keeps_the_order_of_handlers(void **state)
{
	struct copy copy = make_copy();
	const char *(*order)(void) = SYMBOL(copy.object, const char *(*)(void), "forks_order");

	(void)state;
	SYMBOL(copy.object, int (*)(void), "forks_register_two")();
	assert_int_equal(copy.fork(), 101);
	assert_string_equal(order(), "bapq");
	test_ns_destroy(copy.ns);
}

// Without these locks a child would inherit a list that another thread is changing, and a lock that nobody
// releases.
static void fork_holds_the_lock_of_each_part(void **state)
{
	size_t held = 0, count = 0;

	(void)state;
	gorgon_before_fork();
	for (size_t i = 0; gorgon_parts[i]; i++)
		if (gorgon_parts[i]->lock) {
			count++;
			held += pthread_mutex_trylock(gorgon_parts[i]->lock) == EBUSY;
		}
	gorgon_after_fork(false);
	assert_true(count >= 10);
	assert_int_equal(held, count);
	for (size_t i = 0; gorgon_parts[i]; i++)
		if (gorgon_parts[i]->lock) {
			assert_int_equal(pthread_mutex_trylock(gorgon_parts[i]->lock), 0);
			pthread_mutex_unlock(gorgon_parts[i]->lock);
		}
}

static void *open_waiting(void *ns)
{
	return test_open(ns, "libwaiting.so");
}

// The child finds the library as the C library's linker leaves it there: nobody will go on with the constructor.
static int open_again_in_child(struct gorgon_ns *ns)
{
	struct gorgon_object *object;
	struct gorgon_error *err;

	alarm(20);
	err = gorgon_object_open(ns, test_module("libwaiting.so"), NULL, &object);
	return err || SYMBOL(object, int (*)(void), "waiting_was_answered")();
}

static void fork_does_not_wait_for_a_constructor_of_another_thread(void **state)
{
	struct gorgon_ns *ns;
	int started[2], answer[2], status;
	pthread_t thread;
	void *object;
	char text[32];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(started) | pipe(answer), 0);
	snprintf(text, sizeof(text), "%d %d", started[1], answer[0]);
	setenv("WAITING_FDS", text, 1);
	ns = test_ns(); // it may have a copy of the environment
	assert_int_equal(pthread_create(&thread, NULL, open_waiting, ns), 0);
	assert_int_equal(read(started[0], text, 1), 1);
	pid = fork();
	if (!pid)
		_exit(open_again_in_child(ns));
	assert_int_equal(write(answer[1], "", 1), 1);
	pthread_join(thread, &object);
	assert_true(SYMBOL(object, int (*)(void), "waiting_was_answered")());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unsetenv("WAITING_FDS");
	for (int i = 0; i < 2; i++) {
		close(started[i]);
		close(answer[i]);
	}
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_runs_the_handlers_of_the_namespace_that_forks),
		cmocka_unit_test(fork_of_the_host_runs_all_handlers_that_are_loaded),
		cmocka_unit_test(fork_keeps_the_order_of_handlers),
		cmocka_unit_test(fork_holds_the_lock_of_each_part),
		cmocka_unit_test(fork_does_not_wait_for_a_constructor_of_another_thread),
	};

	return cmocka_run_group_tests_name("fork", tests, test_warm_up, NULL);
}
