// SPDX-License-Identifier: MIT
// loader/process/kernel/record_locks.c: threads that wait for locks, forked children, and many
// lockers at once.

#define _GNU_SOURCE
#include "lockers.h"
#include "ns/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

// --- fork ---------------------------------------------------------------------------------

static int locks_in_child(void *arg)
{
	int fd = one.open(path, O_RDWR);

	(void)arg;
	if (lock_one(F_WRLCK, 0, 10) != EAGAIN || ask(one.fcntl, fd, F_WRLCK, 0, 10).l_pid != -1)
		return 1;
	if (lock_one(F_WRLCK, 20, 10) || lock_two(F_WRLCK, 20, 10) != EAGAIN)
		return 2;
	one.close(fd_one);
	return lock_two(F_WRLCK, 20, 10) ? 3 : 0;
}

static void a_forked_child_has_none(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 40, 10), 0);
	assert_int_equal(test_in_child(locks_in_child, NULL), 0);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_outside(F_WRLCK, 40, 10), EAGAIN);
}

static void a_child_does_not_keep_its_parent_s(void **state)
{
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		_exit(write(ends[1], "", 1) != 1 || pause());
	assert_int_equal(read(ends[0], &byte, 1), 1);
	one.close(fd_one);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

// The child has its parent's memory: what it closes must not change the parent's locks.
static void a_vforked_child_changes_nothing(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	pid = vfork();
	if (!pid) {
		one.close(fd_one);
		one.close_range(3, ~0u);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
}

// --- waiting ------------------------------------------------------------------------------

struct waiter {
	pthread_t thread;
	struct locker *copy;
	int fd, result;
	off_t start;
	pid_t tid;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	waiter->result =
		lock_at(waiter->copy->fcntl, waiter->fd, F_SETLKW, F_WRLCK, waiter->start, 1);
	return NULL;
}

static void begin_wait(struct waiter *waiter)
{
	char name[64], text[256] = "";

	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_lock, waiter), 0);
	while (!__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", waiter->tid);
	while (strncmp(text, "72 ", 3)) { // the number of fcntl
		FILE *file = fopen(name, "re");

		usleep(1000);
		if (!fgets(text, sizeof(text), file))
			text[0] = 0;
		fclose(file);
	}
}

static int end_wait(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	return waiter->result;
}

static void setlkw_waits(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	// Other locks can be taken meanwhile, by the same namespace, too.
	assert_int_equal(lock_two(F_WRLCK, 20, 1), 0);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), 0);
	assert_int_equal(lock_one(F_WRLCK, 0, 1), EAGAIN);
}

static void setlkw_waits_for_the_host(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};

	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	assert_int_equal(lock_host(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), 0);
	assert_int_equal(lock_host(F_WRLCK, 0, 1), EAGAIN);
}

static void ignore(int number)
{
	(void)number;
}

static void setlkw_is_interrupted(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};
	struct sigaction action = {.sa_handler = ignore}, old;

	(void)state;
	sigaction(SIGUSR1, &action, &old);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	pthread_kill(waiter.thread, SIGUSR1);
	assert_int_equal(end_wait(&waiter), EINTR);
	sigaction(SIGUSR1, &old, NULL);
}

static void setlkw_is_cancelled(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};
	int other = two.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	pthread_cancel(waiter.thread);
	end_wait(&waiter);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	two.close(other);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
}

static void a_lock_that_comes_after_the_close_is_dropped(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = two.open(path, O_RDWR)};

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	two.close(waiter.fd);
	close(waiter.fd); // parked while a thread waits with it; a process would close it now
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), EBADF);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
}

// --- many at once ---------------------------------------------------------------------------

#define TURNS 400

// Each worker counts in the file, under a lock. The hard case is a connection that is opened for each turn.
struct worker {
	pthread_t thread;
	struct locker *copy; // NULL: the host
	bool failed;
};

static bool count_up(int fd)
{
	char text[24] = "";
	int size;

	if (pread(fd, text, sizeof(text) - 1, 100) < 0)
		return false;
	size = snprintf(text, sizeof(text), "%ld", strtol(text, NULL, 10) + 1);
	return pwrite(fd, text, (size_t)size, 100) == size;
}

static void *count_in_turns(void *arg)
{
	struct worker *worker = arg;
	struct locker *copy = worker->copy;

	for (int i = 0; i < TURNS && !worker->failed; i++) {
		int fd = copy ? copy->open(path, O_RDWR) : fd_host;
		int (*function)(int, int, struct flock *) = copy ? copy->fcntl : host_fcntl;

		worker->failed = fd < 0 || lock_at(function, fd, F_SETLKW, F_WRLCK, 0, 1) ||
				 !count_up(fd) ||
				 (i % 2 && lock_at(function, fd, F_SETLK, F_UNLCK, 0, 1));
		if (copy)
			copy->close(fd); // drops the lock
		else
			lock_at(function, fd, F_SETLK, F_UNLCK, 0, 1);
	}
	return NULL;
}

static int count_outside(void *arg)
{
	struct worker worker = {0};

	(void)arg;
	fd_host = open(path, O_RDWR);
	count_in_turns(&worker);
	return worker.failed;
}

static void many_lockers_lose_nothing(void **state)
{
	struct worker workers[] = {{.copy = &one}, {.copy = &two}, {.copy = NULL}};
	char text[24] = "";
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(count_outside(NULL));
	for (size_t i = 0; i < 3; i++)
		pthread_create(&workers[i].thread, NULL, count_in_turns, &workers[i]);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_false(workers[i].failed);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(pread(fd_host, text, sizeof(text) - 1, 100) > 0);
	assert_int_equal(strtol(text, NULL, 10), 4 * TURNS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, lockers_set_up, lockers_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_forked_child_has_none),
		CASE(a_child_does_not_keep_its_parent_s),
		CASE(a_vforked_child_changes_nothing),
		CASE(setlkw_waits),
		CASE(setlkw_waits_for_the_host),
		CASE(setlkw_is_interrupted),
		CASE(setlkw_is_cancelled),
		CASE(a_lock_that_comes_after_the_close_is_dropped),
		CASE(many_lockers_lose_nothing),
	};

	return cmocka_run_group_tests_name("record_locks_waiting", tests, test_warm_up, NULL);
}
