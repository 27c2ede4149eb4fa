// SPDX-License-Identifier: MIT
// loader/process/kernel/timers.c: to whom a timer and its signal belong.

#define _GNU_SOURCE
#include "helpers.h"

#include "process/kernel/fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct copy {
	struct gorgon_ns *ns;
	int *seen, *value, *code;
	void (*set)(int, long, long);
	long (*left)(int);
	unsigned (*alarm)(unsigned);
	int (*handle)(void);
};

static struct copy make_copy(const struct gorgon_ns_opts *opts)
{
	struct copy copy = {0};
	struct gorgon_object *object;

	assert_ok(gorgon_ns_create(opts, &copy.ns));
	object = test_open(copy.ns, "libchildren.so");
	copy.seen = SYMBOL(object, int *, "timers_seen");
	copy.value = SYMBOL(object, int *, "timers_value");
	copy.code = SYMBOL(object, int *, "timers_code");
	copy.set = SYMBOL(object, void (*)(int, long, long), "timers_set");
	copy.left = SYMBOL(object, long (*)(int), "timers_left");
	copy.alarm = SYMBOL(object, unsigned (*)(unsigned), "timers_alarm");
	copy.handle = SYMBOL(object, int (*)(void), "timers_handle");
	assert_int_equal(copy.handle(), 0);
	return copy;
}

static int seen(const struct copy *copy, int which)
{
	return __atomic_load_n(&copy->seen[which], __ATOMIC_SEQ_CST);
}

static void wait_until_seen(const struct copy *copy, int which, int count)
{
	// A timer of processor time needs a thread that works.
	for (clock_t start = clock(); seen(copy, which) < count; getppid())
		assert_true(clock() - start < 60 * CLOCKS_PER_SEC);
}

// How many timers this process has in the kernel.
static int count_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	char line[200];
	int count = 0;

	if (!file)
		skip_because("the kernel does not list timers");
	while (fgets(line, sizeof(line), file))
		count += !strncmp(line, "ID:", 3);
	fclose(file);
	return count;
}

static int hosts_seen;

static void see_hosts(int number)
{
	(void)number;
	__atomic_add_fetch(&hosts_seen, 1, __ATOMIC_SEQ_CST);
}

static void each_copy_has_interval_timers_of_its_own(void **state)
{
	struct copy one = make_copy(NULL), other = make_copy(NULL);
	int before = count_timers();

	(void)state;
	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		assert_int_equal(one.left(which), 0);
		one.set(which, 20000, 10000);
		other.set(which, 3600000000, 0);
		wait_until_seen(&one, which, 3);
		assert_int_equal(seen(&other, which), 0);
		assert_in_range(other.left(which), 3000000000, 3600000000);
		assert_in_range(one.left(which), 1, 20000);
		other.set(which, 1, 0);
		wait_until_seen(&other, which, 1);
		assert_int_equal(*other.code, SI_KERNEL);
		assert_int_equal(*other.value, 0);
		assert_int_equal(other.left(which), 0);
		one.set(which, 0, 0);
		assert_int_equal(one.left(which), 0);
	}
	assert_int_equal(count_timers(), before + 6);
	test_ns_destroy(one.ns);
	test_ns_destroy(other.ns);
	assert_int_equal(count_timers(), before);
}

static void alarm_is_the_real_timer(void **state)
{
	struct copy one = make_copy(NULL), other = make_copy(NULL);

	(void)state;
	assert_int_equal(one.alarm(1000), 0);
	assert_int_equal(other.alarm(3000), 0);
	assert_int_equal(one.alarm(2000), 1000);
	assert_int_equal(other.alarm(0), 3000);
	assert_int_equal(other.alarm(0), 0);
	one.set(ITIMER_REAL, 1000400000, 0);
	assert_int_equal(one.alarm(0), 1000);
	one.set(ITIMER_REAL, 1000900000, 0);
	assert_int_equal(one.alarm(0), 1001);
	one.set(ITIMER_REAL, 400000, 0);
	assert_int_equal(one.alarm(0), 1);
	test_ns_destroy(one.ns);
	test_ns_destroy(other.ns);
}

static void the_hosts_timers_are_the_hosts(void **state)
{
	struct copy copy = make_copy(NULL);
	struct sigaction action = {.sa_handler = see_hosts}, before;
	struct itimerval value = {{0, 0}, {3600, 0}}, old;

	(void)state;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &value, NULL);
	assert_int_equal(copy.left(ITIMER_REAL), 0);
	copy.set(ITIMER_REAL, 10000, 0);
	wait_until_seen(&copy, 0, 1);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, &old);
	assert_in_range(old.it_value.tv_sec, 3000, 3600);
	sigaction(SIGALRM, &before, NULL);
	test_ns_destroy(copy.ns);
}

// A timer is stopped while its signal is blocked: the signal still goes to the copy that set the
// timer, or to nobody.
static void a_late_signal_harms_nobody(void **state)
{
	struct copy one = make_copy(NULL), other = make_copy(NULL);
	sigset_t set, saved, pending;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, &saved);
	for (int round = 0; round < 2; round++) {
		one.set(ITIMER_REAL, 1000, 0);
		do
			sigpending(&pending);
		while (!sigismember(&pending, SIGALRM));
		if (round) {
			test_ns_destroy(one.ns);
		} else {
			one.set(ITIMER_REAL, 0, 0);
		}
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		if (!round) // Linux 6.13 drops it
			assert_in_range(seen(&one, 0), 0, 1);
		assert_int_equal(seen(&other, 0), 0);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	test_ns_destroy(other.ns);
}

static void where_handlers_never_run_timers_are_silent(void **state)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .no_signals = true};
	struct copy copy = make_copy(&opts);

	(void)state;
	copy.set(ITIMER_REAL, 1000, 1000);
	usleep(20000);
	assert_in_range(copy.left(ITIMER_REAL), 1, 1000);
	assert_int_equal(seen(&copy, 0), 0);
	test_ns_destroy(copy.ns);
}

// A child inherits no timers. Those that the child of a program makes are the kernel's, and so outlive exec(); in a child
// of the host each copy has timers of its own again.
static int in_a_child(const struct copy *copy, bool hosts)
{
	struct itimerval value;

	if (copy->left(ITIMER_REAL) || count_timers())
		return 1;
	copy->set(ITIMER_REAL, 3600000000, 0);
	if (getitimer(ITIMER_REAL, &value) || (value.it_value.tv_sec < 3000) != hosts)
		return 2;
	return count_timers() == hosts ? 0 : 3;
}

static int fork_in_a_child(void *hosts)
{
	struct copy copy = make_copy(NULL);
	pid_t pid;
	int status;

	alarm(0);
	copy.set(ITIMER_REAL, 3600000000, 0);
	pid = hosts ? fork() : gorgon_fork(copy.ns);
	if (!pid)
		_exit(in_a_child(&copy, hosts));
	return waitpid(pid, &status, 0) != pid ? -1 : status;
}

static void forked_children_have_none(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(fork_in_a_child, NULL), 0);
	assert_int_equal(test_in_child(fork_in_a_child, "host"), 0);
}

// A namespace without a program has nothing that the signal could end but the process.
static int fall(void *arg)
{
	struct gorgon_ns *ns = test_ns();

	(void)arg;
	signal(SIGALRM, SIG_DFL);
	SYMBOL(test_open(ns, "libchildren.so"), void (*)(int, long, long), "timers_set")(ITIMER_REAL, 1000, 0);
	sleep(60);
	return 0;
}

static void without_a_program_the_default_is_the_processes(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(fall, NULL), -SIGALRM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_copy_has_interval_timers_of_its_own),
		cmocka_unit_test(alarm_is_the_real_timer),
		cmocka_unit_test(the_hosts_timers_are_the_hosts),
		cmocka_unit_test(a_late_signal_harms_nobody),
		cmocka_unit_test(where_handlers_never_run_timers_are_silent),
		cmocka_unit_test(forked_children_have_none),
		cmocka_unit_test(without_a_program_the_default_is_the_processes),
	};

	return cmocka_run_group_tests_name("timers", tests, test_warm_up, NULL);
}
