// SPDX-License-Identifier: MIT
// Two namespaces, the host, and a file that they lock; see lockers.h.

#define _GNU_SOURCE
#include "lockers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct locker lockers_make_copy(void)
{
	struct locker copy = {.ns = test_ns()};
	struct gorgon_object *object = test_open(copy.ns, "liblocks.so");

	copy.open = SYMBOL(object, int (*)(const char *, int), "locks_open");
	copy.fcntl = SYMBOL(object, int (*)(int, int, struct flock *), "locks_fcntl");
	copy.lockf = SYMBOL(object, int (*)(int, int, off_t), "locks_lockf");
	copy.close = SYMBOL(object, int (*)(int), "locks_close");
	copy.dup2 = SYMBOL(object, int (*)(int, int), "locks_dup2");
	copy.close_range = SYMBOL(object, int (*)(unsigned, unsigned), "locks_close_range");
	copy.fclose = SYMBOL(object, int (*)(FILE *), "locks_fclose");
	copy.freopen = SYMBOL(object, FILE * (*)(const char *, const char *, FILE *),
			      "locks_freopen");
	return copy;
}

int host_fcntl(int fd, int cmd, struct flock *lock)
{
	return fcntl(fd, cmd, lock);
}

// --- three namespaces with a locker and one file -------------------------------------------------

struct locker one, two;
const char *path;
int fd_one, fd_two, fd_host;

int lockers_set_up(void **state)
{
	(void)state;
	one = lockers_make_copy();
	two = lockers_make_copy();
	path = strdup(test_temp("locked"));
	test_write(path, "0123456789", 10);
	fd_one = one.open(path, O_RDWR | O_CLOEXEC);
	fd_two = two.open(path, O_RDWR | O_CLOEXEC);
	fd_host = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd_one >= 0 && fd_two >= 0 && fd_host >= 0);
	return 0;
}

int lockers_tear_down(void **state)
{
	(void)state;
	close(fd_host);
	one.close(fd_one);
	two.close(fd_two);
	test_ns_destroy(one.ns);
	test_ns_destroy(two.ns);
	unlink(path);
	free((char *)path);
	return 0;
}

// Returns 0 or an errno.
int lock_at(int (*function)(int, int, struct flock *), int fd, int cmd, short type, off_t start,
		off_t size)
{
	struct flock arg = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

	return function(fd, cmd, &arg) ? errno : 0;
}

int lock_one(short type, off_t start, off_t size)
{
	return lock_at(one.fcntl, fd_one, F_SETLK, type, start, size);
}

int lock_two(short type, off_t start, off_t size)
{
	return lock_at(two.fcntl, fd_two, F_SETLK, type, start, size);
}

int lock_host(short type, off_t start, off_t size)
{
	return lock_at(host_fcntl, fd_host, F_SETLK, type, start, size);
}

// Whether another process could lock [start, start + size). The process exits with an errno.
struct probe {
	short type;
	off_t start, size;
};

static int probe_in_child(void *arg)
{
	const struct probe *probe = arg;
	int fd = open(path, O_RDWR);

	return lock_at(host_fcntl, fd, F_SETLK, probe->type, probe->start, probe->size);
}

int lock_outside(short type, off_t start, off_t size)
{
	struct probe probe = {type, start, size};

	return test_in_child(probe_in_child, &probe);
}

struct flock ask(int (*function)(int, int, struct flock *), int fd, short type, off_t start,
			off_t size)
{
	struct flock arg = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

	assert_int_equal(function(fd, F_GETLK, &arg), 0);
	return arg;
}
