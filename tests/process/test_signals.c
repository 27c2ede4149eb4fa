// SPDX-License-Identifier: MIT
// loader/process/kernel/signals.c, process.c: libraries that report errors to themselves by
// signals, and handlers that one thread replaces while they run on another thread.

#define _GNU_SOURCE
#include "ns/ns.h"
#include "process/kernel/signals.h"
#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// --- the host's handlers, below ours -------------------------------------------------------------

static char own_stack[1 << 16];
static volatile int calls, on_stack, masked;
static struct sigaction put_over;

static void note_call(int number)
{
	sigset_t mask;
	char here;

	(void)number;
	calls++;
	on_stack = &here >= own_stack && &here < own_stack + sizeof(own_stack);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	masked = sigismember(&mask, SIGUSR2);
}

static void note_call_with_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	note_call(info->si_signo == number ? number : 0);
}

// As libraries do that put a handler over another one.
static void note_call_and_hand_on(int number, siginfo_t *info, void *context)
{
	note_call(number);
	put_over.sa_sigaction(number, info, context);
}

struct reader {
	pthread_t reader;
	pid_t tid;
	int number, fds[2];
};

// Until a thread waits in the kernel.
static void wait_until_blocked(pid_t tid)
{
	char path[64], text[256];
	const char *state;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	do {
		usleep(1000);
		fd = open(path, O_RDONLY);
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[size > 0 ? size : 0] = 0;
		state = strrchr(text, ')');
	} while (!state || state[2] != 'S');
}

static void *signal_reader(void *arg)
{
	const struct reader *reader = arg;

	wait_until_blocked(reader->tid);
	pthread_kill(reader->reader, reader->number);
	while (!calls)
		usleep(1000);
	wait_until_blocked(reader->tid); // in read() again, or at the end of this thread
	if (write(reader->fds[1], "x", 1) != 1)
		abort();
	return NULL;
}

// Whether read() goes on after the signal.
static bool restarts(int number)
{
	struct reader reader = {.reader = pthread_self(), .tid = gettid(), .number = number};
	pthread_t thread;
	ssize_t count;
	char byte;

	calls = on_stack = masked = 0;
	assert_int_equal(pipe(reader.fds), 0);
	pthread_create(&thread, NULL, signal_reader, &reader);
	count = read(reader.fds[0], &byte, 1);
	pthread_join(thread, NULL);
	close(reader.fds[0]);
	close(reader.fds[1]);
	return count == 1;
}

static void assert_behaves(int number, const struct sigaction *action)
{
	assert_int_equal(restarts(number), !!(action->sa_flags & SA_RESTART));
	assert_int_equal(calls, 1);
	assert_int_equal(on_stack, !!(action->sa_flags & SA_ONSTACK));
	assert_int_equal(masked, sigismember(&action->sa_mask, SIGUSR2));
}

static void assert_is_there(int number, const struct sigaction *action)
{
	struct sigaction now;

	sigaction(number, NULL, &now);
	assert_ptr_equal(now.sa_sigaction, action->sa_sigaction);
	assert_int_equal(now.sa_flags & (SA_ONSTACK | SA_RESTART | SA_SIGINFO),
			 action->sa_flags & (SA_ONSTACK | SA_RESTART | SA_SIGINFO));
	assert_int_equal(sigismember(&now.sa_mask, SIGUSR2), sigismember(&action->sa_mask, SIGUSR2));
}

// Our handler comes into the process, for one of two reasons.
static void take_over(int number, struct gorgon_ns *ns)
{
	const struct sigaction ends_calls = {.sa_handler = takes_number};

	if (number == GORGON_SIGNAL_WAKE)
		assert_true(gorgon_signals_wake(gettid()));
	else
		assert_int_equal(gorgon_signal_action(number, &ends_calls, NULL, ns->signals), 0);
}

// The stack is used if the host has asked for it; a handler of ours always does.
static void handler_of_the_host_runs_as_without_us(int number, int flags, bool mask)
{
	struct sigaction action = {.sa_handler = note_call, .sa_flags = flags}, before;
	struct gorgon_ns *ns = test_ns();

	if (flags & SA_SIGINFO)
		action.sa_sigaction = note_call_with_info;
	if (mask)
		sigaddset(&action.sa_mask, SIGUSR2);
	sigaction(number, &action, &before);
	assert_behaves(number, &action);
	for (int i = 0; i < 2; i++) {
		take_over(number, ns);
		action.sa_flags |= SA_ONSTACK;
		assert_behaves(number, &action);
		action.sa_flags = flags;
	}
	test_ns_destroy(ns);
	assert_is_there(number, &action);
	assert_behaves(number, &action);
	sigaction(number, &before, NULL);
}

static void handlers_of_the_host_run_as_without_us(void **state)
{
	static const int flags[] = {SA_ONSTACK, SA_RESTART, SA_SIGINFO};
	const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
	stack_t before;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	sigaltstack(&stack, &before);
	for (unsigned i = 0; i < 16; i++) {
		int some = 0;

		for (unsigned j = 0; j < 3; j++)
			some |= i >> j & 1 ? flags[j] : 0;
		handler_of_the_host_runs_as_without_us(GORGON_SIGNAL_WAKE, some, i & 8);
		handler_of_the_host_runs_as_without_us(SIGUSR1, some, i & 8);
	}
	sigaltstack(&before, NULL);
}

// The host sets its handler when ours is there. We need ours; the host's, which may call what was there before, stays.
static void handler_put_over_ours_is_the_hosts(void **state)
{
	static const int numbers[] = {GORGON_SIGNAL_WAKE, SIGUSR1};
	struct sigaction action = {.sa_sigaction = note_call_and_hand_on, .sa_flags = SA_SIGINFO | SA_RESTART}, before;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	for (size_t i = 0; i < 2; i++) {
		struct gorgon_ns *ns = test_ns();

		sigaction(numbers[i], NULL, &before);
		take_over(numbers[i], ns);
		sigaction(numbers[i], &action, &put_over);
		for (int j = 0; j < 2; j++) {
			take_over(numbers[i], ns);
			calls = 0;
			raise(numbers[i]);
			// A signal to a thread of the host is the host's; its handler runs once.
			assert_int_equal(calls, 1);
		}
		test_ns_destroy(ns);
		assert_is_there(numbers[i], &action);
		sigaction(numbers[i], &before, NULL);
	}
}

// A read of the host's that a wake-up is for ends, also where the host's handler restarts reads.
static void *wake_reader(void *arg)
{
	pid_t tid = *(pid_t *)arg;

	wait_until_blocked(tid);
	gorgon_signals_wake(tid);
	return NULL;
}

static void wakes_end_calls_that_the_hosts_handler_restarts(void **state)
{
	static const int flags[] = {0, SA_RESTART};

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	for (size_t i = 0; i < 2; i++) {
		const struct sigaction action = {.sa_handler = note_call, .sa_flags = flags[i]};
		struct gorgon_ns *ns = test_ns();
		pid_t tid = gettid();
		pthread_t thread;
		int fds[2];
		char byte;

		signal(GORGON_SIGNAL_WAKE, SIG_DFL);
		sigaction(GORGON_SIGNAL_WAKE, &action, NULL);
		assert_int_equal(pipe(fds), 0);
		calls = 0;
		pthread_create(&thread, NULL, wake_reader, &tid);
		alarm(20); // instead of a hang
		assert_int_equal(read(fds[0], &byte, 1), -1);
		assert_int_equal(errno, EINTR);
		alarm(0);
		pthread_join(thread, NULL);
		assert_int_equal(calls, 0); // it is not the host's
		close(fds[0]);
		close(fds[1]);
		test_ns_destroy(ns);
		assert_is_there(GORGON_SIGNAL_WAKE, &action);
		signal(GORGON_SIGNAL_WAKE, SIG_DFL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_of_oneself_by_a_fault_is_the_threads),
		cmocka_unit_test(kill_of_oneself_without_a_handler_ends_the_process),
		cmocka_unit_test(actions_can_be_replaced_while_their_signals_arrive),
		cmocka_unit_test(handlers_of_the_host_run_as_without_us),
		cmocka_unit_test(handler_put_over_ours_is_the_hosts),
		cmocka_unit_test(wakes_end_calls_that_the_hosts_handler_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
