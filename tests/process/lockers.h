/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LOCKERS_H
#define TESTS_LOCKERS_H

/* Two namespaces, the host, and a file that they lock: what tests of record locks have in
 * common. */

#include "helpers.h"

#include <stdio.h>
#include <sys/types.h>

struct flock;

/* A namespace with a library that locks and closes files. */
struct locker {
	struct gorgon_ns *ns;
	int (*open)(const char *path, int flags);
	int (*fcntl)(int fd, int cmd, struct flock *lock);
	int (*lockf)(int fd, int cmd, off_t size);
	int (*close)(int fd);
	int (*dup2)(int fd, int number);
	int (*close_range)(unsigned first, unsigned last);
	int (*fclose)(FILE *stream);
	FILE *(*freopen)(const char *path, const char *mode, FILE *stream);
};

extern struct locker one, two;
extern const char *path; /* of the file */
extern int fd_one, fd_two, fd_host;

struct locker lockers_make_copy(void);
int host_fcntl(int fd, int cmd, struct flock *lock);
int lockers_set_up(void **state);
int lockers_tear_down(void **state);
/* Returns 0 or an errno. */
int lock_at(int (*function)(int, int, struct flock *), int fd, int cmd, short type, off_t start,
		off_t size);
int lock_one(short type, off_t start, off_t size);
int lock_two(short type, off_t start, off_t size);
int lock_host(short type, off_t start, off_t size);
/* Try to lock [start, start + size) in another process. Returns 0 or an errno. */
int lock_outside(short type, off_t start, off_t size);
struct flock ask(int (*function)(int, int, struct flock *), int fd, short type, off_t start,
			off_t size);

#endif
