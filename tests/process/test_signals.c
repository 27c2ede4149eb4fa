// SPDX-License-Identifier: MIT
// loader/process/signals.c, process.c: libraries that report errors to themselves by signals, and handlers that one
// thread replaces while they run on another thread.

#define _GNU_SOURCE
#include "ns/ns.h"
#include "process/signals.h"
#include "helpers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned taken(struct gorgon_object *object)
{
	return *SYMBOL(object, unsigned *, "jump_taken");
}

// Runs in a process of its own, in which SIGABRT has its first action.
static int jump(void *other)
{
	struct gorgon_ns *ns = test_ns(), *bystander = test_ns();
	struct gorgon_object *object = test_open(ns, "libjump.so");
	struct gorgon_object *untouched = test_open(bystander, "libjump.so");
	int status = 0;

	signal(SIGABRT, SIG_DFL); // cmocka has a handler of its own
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

// The signal has no handler, so it ends the process, as without us.
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

static unsigned long wrong, handled;
static bool over;

static void takes_number(int number)
{
	__atomic_fetch_add(&handled, number == SIGUSR1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&wrong, number != SIGUSR1, __ATOMIC_RELAXED);
}

// Called like a handler without SA_SIGINFO, this crashes or counts an error.
static void takes_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&wrong, info->si_signo != number, __ATOMIC_RELAXED);
}

static void *send(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		raise(SIGUSR1);
	return arg;
}

static int race(void *arg)
{
	const struct sigaction number = {.sa_handler = takes_number}, none = {.sa_handler = SIG_DFL},
			       info = {.sa_sigaction = takes_info, .sa_flags = SA_SIGINFO},
			       leftover = {.sa_handler = SIG_DFL, .sa_flags = SA_SIGINFO};
	const struct sigaction *const all[] = {&info, &number, &info, &none, &number, &leftover};
	struct gorgon_ns *ns = test_ns(), *other = test_ns();
	pthread_t senders[3];

	(void)arg;
	alarm(60);
	signal(SIGUSR1, takes_number); // the host's: there is a handler at each moment
	gorgon_signal_action(SIGUSR1, &info, NULL, other->signals); // keeps the dispatcher installed
	for (size_t i = 0; i < sizeof(senders) / sizeof(*senders); i++)
		pthread_create(&senders[i], NULL, send, NULL);
	for (size_t i = 0; i < 300000; i++)
		gorgon_signal_action(SIGUSR1, all[i % (sizeof(all) / sizeof(*all))], NULL, ns->signals);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof(senders) / sizeof(*senders); i++)
		pthread_join(senders[i], NULL);
	test_ns_destroy(ns);
	test_ns_destroy(other);
	return wrong || !handled;
}

static void actions_can_be_replaced_while_their_signals_arrive(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(race, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_of_oneself_by_a_fault_is_the_threads),
		cmocka_unit_test(kill_of_oneself_without_a_handler_ends_the_process),
		cmocka_unit_test(actions_can_be_replaced_while_their_signals_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
