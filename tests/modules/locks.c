// SPDX-License-Identifier: MIT
// Record locks and the ways to close a file, as private code calls them.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int locks_open(const char *path, int flags);
int locks_fcntl(int fd, int cmd, struct flock *lock);
int locks_lockf(int fd, int cmd, off_t size);
int locks_close(int fd);
int locks_dup2(int fd, int number);
int locks_close_range(unsigned first, unsigned last);
int locks_fclose(FILE *stream);
FILE *locks_freopen(const char *path, const char *mode, FILE *stream);

int locks_open(const char *path, int flags)
{
	return open(path, flags, 0600);
}

int locks_fcntl(int fd, int cmd, struct flock *lock)
{
	return fcntl(fd, cmd, lock);
}

int locks_lockf(int fd, int cmd, off_t size)
{
	return lockf(fd, cmd, size);
}

int locks_close(int fd)
{
	return close(fd);
}

int locks_dup2(int fd, int number)
{
	return dup2(fd, number);
}

int locks_close_range(unsigned first, unsigned last)
{
	return close_range(first, last, 0);
}

int locks_fclose(FILE *stream)
{
	return fclose(stream);
}

FILE *locks_freopen(const char *path, const char *mode, FILE *stream)
{
	return freopen(path, mode, stream);
}
