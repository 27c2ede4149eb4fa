// SPDX-License-Identifier: MIT
// loader/elf/signals.c, process.c: libraries that report errors to themselves as signals.

#define _GNU_SOURCE
#include "helpers.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned taken(struct gorgon_object *object)
{
	return *SYMBOL(object, unsigned *, "jump_taken");
}

// In a process of its own, with SIGABRT as a process has it at first.
static int jump(void *other)
{
	struct gorgon_ns *ns = test_ns(), *bystander = test_ns();
	struct gorgon_object *object = test_open(ns, "libjump.so");
	struct gorgon_object *untouched = test_open(bystander, "libjump.so");
	int status = 0;

	signal(SIGABRT, SIG_DFL); // not cmocka's
	alarm(60);		  // ends what waits forever
	SYMBOL(untouched, void (*)(void), "jump_install")();
	SYMBOL(object, void (*)(void), "jump_install")();
	for (int i = 0; i < 3; i++)
		status |= !SYMBOL(object, int (*)(void), "jump_out")();
	status |= (taken(object) != 3) << 1 | (taken(untouched) != 0) << 2;
	test_ns_destroy(other ? bystander : ns);
	test_ns_destroy(other ? ns : bystander);
	return status;
}

static void kill_of_oneself_by_a_fault_is_the_threads(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(jump, NULL), 0);
	assert_int_equal(test_in_child(jump, ""), 0);
}

// Nobody handles it: it ends the process, as it would without us.
static int fall(void *arg)
{
	(void)arg;
	signal(SIGABRT, SIG_DFL);
	SYMBOL(test_open(test_ns(), "libjump.so"), int (*)(void), "jump_out")();
	return 0;
}

static void kill_of_oneself_without_a_handler_ends_the_process(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(fall, NULL), -SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_of_oneself_by_a_fault_is_the_threads),
		cmocka_unit_test(kill_of_oneself_without_a_handler_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
