// SPDX-License-Identifier: MIT
// loader/process/children*.c: whose child it is that wait() returns.

#define _GNU_SOURCE
#include "helpers.h"
#include "skip.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { FORK, VFORK, SPAWN, SPAWNP, PTY, WAYS };

struct copy {
	struct gorgon_ns *ns;
	pid_t (*make)(enum way, int);
	pid_t (*sleeper)(void);
	pid_t (*wait)(int *);
	pid_t (*wait3)(int *, int, struct rusage *);
	pid_t (*waitpid)(pid_t, int *, int);
	int (*waitid)(idtype_t, id_t, siginfo_t *, int);
	void (*ignore)(void);
};

static struct copy make_copy(void)
{
	struct copy copy = {.ns = test_ns()};
	struct gorgon_object *object = test_open(copy.ns, "libchildren.so");

	copy.make = SYMBOL(object, pid_t (*)(enum way, int), "children_make");
	copy.sleeper = SYMBOL(object, pid_t (*)(void), "children_sleeper");
	copy.wait = SYMBOL(object, pid_t (*)(int *), "children_wait");
	copy.wait3 = SYMBOL(object, pid_t (*)(int *, int, struct rusage *), "children_wait3");
	copy.waitpid = SYMBOL(object, pid_t (*)(pid_t, int *, int), "children_waitpid");
	copy.waitid = SYMBOL(object, int (*)(idtype_t, id_t, siginfo_t *, int), "children_waitid");
	copy.ignore = SYMBOL(object, void (*)(void), "children_ignore");
	return copy;
}

#define assert_errno(call, number)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, number);                                                   \
	} while (0)

static pid_t make_own(int status)
{
	pid_t pid = fork();

	if (!pid)
		_exit(status);
	return pid;
}

// Waits until the child has ended and can be waited for.
static void wait_until_ended(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

// Asserts that the child is gone, because somebody has waited for it.
static void assert_goes(pid_t pid)
{
	siginfo_t info;

	for (int i = 0; !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT); i++) {
		assert_true(i < 6000);
		usleep(10000);
	}
	assert_int_equal(errno, ECHILD);
}

static void each_way_makes_a_child_of_its_own_namespace(void **state)
{
	struct copy one = make_copy(), other = make_copy();
	int status;

	(void)state;
	for (enum way way = 0; way < WAYS; way++) {
		pid_t pid = one.make(way, 10 + (int)way);

		assert_true(pid > 0);
		assert_errno(other.wait(&status), ECHILD);
		assert_errno(other.waitpid(pid, &status, WNOHANG), ECHILD);
		assert_int_equal(one.wait(&status), pid);
		assert_int_equal(WEXITSTATUS(status), 10 + way);
		assert_errno(one.wait(&status), ECHILD);
		assert_errno(one.waitpid(pid, &status, 0), ECHILD);
	}
	test_ns_destroy(one.ns);
	test_ns_destroy(other.ns);
}

static void children_of_the_host_are_the_hosts(void **state)
{
	struct copy copy = make_copy();
	pid_t hosts = make_own(3), own = copy.make(FORK, 4), group = getpgrp();
	int status;

	(void)state;
	wait_until_ended(hosts);
	wait_until_ended(own);
	assert_int_equal(copy.waitpid(-1, &status, WNOHANG), own);
	assert_errno(copy.waitpid(-1, &status, 0), ECHILD);
	own = copy.make(FORK, 4);
	wait_until_ended(own);
	assert_int_equal(gorgon_waitpid(-1, &status, WNOHANG), hosts);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_errno(gorgon_waitpid(-1, &status, 0), ECHILD);
	assert_errno(gorgon_waitpid(0, &status, WNOHANG), ECHILD);
	assert_errno(gorgon_waitpid(-group, &status, WNOHANG), ECHILD);
	assert_errno(gorgon_waitpid(own, &status, 0), ECHILD);
	hosts = make_own(5);
	assert_int_equal(gorgon_waitpid(0, &status, 0), hosts);
	// A namespace may wait for a child of the host by the child's number, which the host may have handed on.
	hosts = make_own(6);
	assert_int_equal(copy.waitpid(hosts, &status, 0), hosts);
	assert_int_equal(copy.waitpid(0, &status, 0), own);
	test_ns_destroy(copy.ns);
}

static void options_mean_what_they_mean_to_the_kernel(void **state)
{
	struct copy copy = make_copy(), other = make_copy();
	pid_t pid = copy.sleeper();
	struct rusage usage;
	siginfo_t info;
	int status, fd;

	(void)state;
	memset(&usage, 0xff, sizeof(usage));
	memset(&info, 0xff, sizeof(info));
	assert_int_equal(copy.waitpid(-1, &status, WNOHANG), 0);
	assert_int_equal(copy.waitid(P_ALL, 0, &info, WEXITED | WNOHANG), 0);
	assert_int_equal(info.si_pid, 0);
	assert_errno(copy.waitpid(-1, &status, 0x40), EINVAL);
	assert_errno(copy.waitid(P_ALL, 0, &info, WNOHANG), EINVAL);
	kill(pid, SIGSTOP);
	assert_int_equal(copy.waitpid(-1, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	assert_int_equal(copy.waitid(P_ALL, 0, &info, WCONTINUED), 0);
	assert_int_equal(info.si_code, CLD_CONTINUED);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	kill(pid, SIGKILL);
	assert_int_equal(copy.waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_pid, pid);
	assert_errno(other.waitid(P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
	assert_errno(other.waitid(P_PGID, (id_t)getpgrp(), &info, WEXITED), ECHILD);
	assert_errno(copy.waitpid(-pid, &status, 0), ECHILD); // the child is not in that group
	assert_int_equal(copy.waitid(P_PGID, (id_t)getpgrp(), &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(copy.waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(copy.wait3(&status, 0, &usage), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(usage.ru_maxrss > 0);
	close(fd);
	test_ns_destroy(copy.ns);
	test_ns_destroy(other.ns);
}

static void children_of_an_ended_program_are_no_zombies(void **state)
{
	struct copy copy = make_copy();
	pid_t ended = copy.make(FORK, 0), alive[40];
	int status;

	(void)state;
	for (int i = 0; i < 40; i++)
		alive[i] = copy.sleeper();
	wait_until_ended(ended);
	test_ns_destroy(copy.ns);
	assert_errno(waitpid(ended, &status, WNOHANG), ECHILD);
	assert_errno(gorgon_waitpid(alive[0], &status, 0), ECHILD);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(kill(alive[i], 0), 0);
		kill(alive[i], SIGKILL);
	}
	for (int i = 0; i < 40; i++)
		assert_goes(alive[i]);
}

static void children_of_a_program_that_ignores_sigchld_are_no_zombies(void **state)
{
	struct copy copy = make_copy(), other = make_copy();
	pid_t pid, others;
	int status;

	(void)state;
	copy.ignore();
	pid = copy.make(FORK, 0);
	others = other.make(FORK, 9);
	assert_goes(pid);
	assert_errno(copy.wait(&status), ECHILD);
	assert_int_equal(other.wait(&status), others);
	assert_int_equal(WEXITSTATUS(status), 9);
	test_ns_destroy(copy.ns);
	test_ns_destroy(other.ns);
}

struct waiter {
	struct copy *copy;
	pid_t found;
	int status, errnum;
	pthread_t thread;
};

static void *wait_for_any(void *arg)
{
	struct waiter *waiter = arg;

	waiter->found = waiter->copy->wait(&waiter->status);
	waiter->errnum = errno;
	return NULL;
}

// Each thread sleeps while there is a child that runs; children are made while the threads sleep.
static void several_threads_wait_at_once(void **state)
{
	struct copy copy = make_copy();
	pid_t sleeper = copy.sleeper(), pids[3] = {0};
	struct waiter waiters[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		waiters[i] = (struct waiter){.copy = &copy};
		pthread_create(&waiters[i].thread, NULL, wait_for_any, &waiters[i]);
	}
	usleep(100000);
	pids[0] = copy.make(FORK, 20);
	pids[1] = copy.make(VFORK, 20);
	kill(sleeper, SIGTERM);
	for (int i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, NULL);
		assert_true(waiters[i].found == pids[0] || waiters[i].found == pids[1] ||
			    waiters[i].found == sleeper);
		assert_int_equal(waiters[i].status, waiters[i].found == sleeper ? SIGTERM : 20 << 8);
	}
	assert_int_equal(waiters[0].found + waiters[1].found + waiters[2].found, pids[0] + pids[1] + sleeper);
	test_ns_destroy(copy.ns);
}

static void nothing(int number)
{
	(void)number;
}

static void signals_interrupt(void **state)
{
	struct copy copy = make_copy();
	struct waiter waiter = {.copy = &copy};
	struct sigaction action = {.sa_handler = nothing}, before;
	pid_t pid = copy.sleeper();

	(void)state;
	sigaction(SIGUSR1, &action, &before);
	pthread_create(&waiter.thread, NULL, wait_for_any, &waiter);
	for (int i = 0; i < 6000 && pthread_tryjoin_np(waiter.thread, NULL); i++) {
		pthread_kill(waiter.thread, SIGUSR1);
		usleep(10000);
	}
	assert_int_equal(waiter.found, -1);
	assert_int_equal(waiter.errnum, EINTR);
	// The handler asks for calls to go on after it.
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&waiter.thread, NULL, wait_for_any, &waiter);
	for (int i = 0; i < 10; i++) {
		pthread_kill(waiter.thread, SIGUSR1);
		usleep(10000);
	}
	kill(pid, SIGKILL);
	pthread_join(waiter.thread, NULL);
	assert_int_equal(waiter.found, pid);
	sigaction(SIGUSR1, &before, NULL);
	test_ns_destroy(copy.ns);
}

struct maker {
	struct copy copy;
	int wrong;
	pthread_t thread;
};

// With GCC's thread sanitizer a child of vfork() counts its parent's threads as a leak, in memory that is the parent's: then
// the parent's exit status says so.
static enum way way_beside_others(int i)
{
#ifdef __SANITIZE_THREAD__
	if (i % PTY == VFORK)
		return FORK;
#endif
	return i % PTY;
}

static void *make_many(void *arg)
{
	struct maker *maker = arg;

	for (int i = 0; i < 200; i++) {
		pid_t pid = maker->copy.make(way_beside_others(i), i);
		int status = -1;

		if (pid < 0 || maker->copy.wait(&status) != pid || status != i << 8)
			maker->wrong++;
	}
	return NULL;
}

static void copies_and_host_make_children_at_once(void **state)
{
	struct maker makers[3];
	int wrong = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		makers[i] = (struct maker){.copy = make_copy()};
		pthread_create(&makers[i].thread, NULL, make_many, &makers[i]);
	}
	for (int i = 0; i < 100; i++) {
		pid_t pid = make_own(i);
		int status = -1;

		wrong += gorgon_waitpid(-1, &status, 0) != pid || status != i << 8;
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(makers[i].thread, NULL);
		wrong += makers[i].wrong;
		test_ns_destroy(makers[i].copy.ns);
	}
	assert_int_equal(wrong, 0);
}

// A child's child belongs to the child, and not to the parent.
static int in_a_child(void *arg)
{
	struct copy *copy = arg;
	int status;
	pid_t pid;

	if (copy->wait(&status) != -1 || errno != ECHILD)
		return 1;
	pid = copy->make(VFORK, 7);
	return copy->wait(&status) != pid || status != 7 << 8;
}

static void forked_children_have_their_own(void **state)
{
	struct copy copy;
	pid_t pid;
	int status;

	SKIP_UNDER_TSAN("the thread sanitizer calls the threads that a child does not have a leak");
	(void)state;
	copy = make_copy();
	pid = copy.sleeper();
	assert_int_equal(test_in_child(in_a_child, &copy), 0);
	kill(pid, SIGKILL);
	assert_int_equal(copy.wait(&status), pid);
	test_ns_destroy(copy.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_makes_a_child_of_its_own_namespace),
		cmocka_unit_test(children_of_the_host_are_the_hosts),
		cmocka_unit_test(options_mean_what_they_mean_to_the_kernel),
		cmocka_unit_test(children_of_an_ended_program_are_no_zombies),
		cmocka_unit_test(children_of_a_program_that_ignores_sigchld_are_no_zombies),
		cmocka_unit_test(several_threads_wait_at_once),
		cmocka_unit_test(signals_interrupt),
		cmocka_unit_test(copies_and_host_make_children_at_once),
		cmocka_unit_test(forked_children_have_their_own),
	};

	return cmocka_run_group_tests_name("children", tests, test_warm_up, NULL);
}
