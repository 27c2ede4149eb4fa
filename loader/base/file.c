// SPDX-License-Identifier: MIT
// Files that are open for a moment: between a look and a mapping, never between calls.
//
// A descriptor is a number in a table that all threads of a program share. Another thread may
// close it at any time (os.closerange(), a daemon's start), and what somebody opens next has
// the same number. A thread may also have a table of its own (unshare(2)), in which our
// number means nothing. So the loader keeps no descriptor, asks after each step that went
// through one whether it still is what was opened, and does the step again otherwise. Where
// that goes wrong several times, somebody closes everything in a loop: the step is then
// done by a thread with a table of its own.
//
// An open file is known again by its inode and by a combination of flags that nobody else
// opens a file with. To be deceived, somebody would have to close our number, open another file
// there for the time of the step, and then the first one with the same flags.
//
// Not handled: between the last look and close(), or between open() and the first look, is a moment
// in which another thread could do all of that. No interface of the kernel closes a file
// rather than a number.

#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// As coarse as the clock of a file system can be.
#define SETTLED_SECONDS 2

// O_NONBLOCK: a pipe that nobody writes to must not hold us. O_DSYNC means nothing to a
// reader and is our mark, where the system tells it back.
#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DSYNC)

// What was just opened, and cannot be looked at.
static int give_up(int fd)
{
	int errnum = errno;

	if (errnum != EBADF)
		close(fd);
	return errnum;
}

int gorgon_file_open(const char *path, struct gorgon_file *ret)
{
	struct gorgon_file file;

	ret->fd = -1;
	for (unsigned i = 0; i < GORGON_FILE_TRIES; i++) {
		file.fd = open(path, FLAGS);
		if (file.fd < 0)
			return errno;
		file.flags = fcntl(file.fd, F_GETFL);
		// Whatever else has taken its place is not to be closed.
		if (file.flags < 0 ||
		    (file.flags & (O_ACCMODE | O_NONBLOCK)) != (O_RDONLY | O_NONBLOCK))
			continue;
		if (fstat(file.fd, &file.st))
			return give_up(file.fd);
		*ret = file;
		return 0;
	}
	return EBADF;
}

int gorgon_file_adopt(int fd, struct gorgon_file *ret)
{
	struct gorgon_file file = {.fd = fd};

	ret->fd = -1;
	if (fd < 0)
		return errno;
	file.flags = fcntl(fd, F_GETFL);
	if (fstat(fd, &file.st))
		return give_up(fd);
	*ret = file;
	return 0;
}

// Looked at before it is written to: nobody else's file has no name, no contents and no seals
// to come.
int gorgon_file_create(const char *name, const void *bytes, size_t size, struct gorgon_file *ret)
{
	struct gorgon_file file;
	ssize_t written;
	int errnum = gorgon_file_adopt(memfd_create(name, MFD_CLOEXEC), &file);

	ret->fd = -1;
	if (errnum)
		return errnum;
	if (fcntl(file.fd, F_GET_SEALS) != F_SEAL_SEAL || file.st.st_nlink || file.st.st_size)
		return EBADF;
	written = write(file.fd, bytes, size); // all or nothing, but for memory
	if (written == (ssize_t)size) {
		*ret = file;
		return 0;
	}
	gorgon_file_close(&file);
	return written < 0 ? errno : ENOSPC;
}

bool gorgon_file_is_ours(const struct gorgon_file *file)
{
	struct stat st;

	return file->fd >= 0 && !fstat(file->fd, &st) && st.st_dev == file->st.st_dev &&
	       st.st_ino == file->st.st_ino && fcntl(file->fd, F_GETFL) == file->flags;
}

bool gorgon_file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool gorgon_file_is_untouched(const struct stat *a, const struct stat *b)
{
	return gorgon_file_is_same(a, b) && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool gorgon_file_is_settled(const struct stat *st)
{
	return time(NULL) - st->st_ctim.tv_sec > SETTLED_SECONDS;
}

void gorgon_file_close(struct gorgon_file *file)
{
	int saved_errno = errno;
	struct stat st;

	// A descriptor that fstat() fails on, but that is open with the flags of ours, is taken to
	// be ours.
	if (file->fd >= 0 && fcntl(file->fd, F_GETFL) == file->flags &&
	    (fstat(file->fd, &st) ? errno != EBADF
				  : st.st_dev == file->st.st_dev && st.st_ino == file->st.st_ino))
		close(file->fd);
	file->fd = -1;
	errno = saved_errno;
}

struct apart {
	void (*work)(void *ctx);
	void *ctx;
	int errnum;
};

static void *run_apart(void *arg)
{
	struct apart *apart = arg;

	// All are left behind, so that no pipe stays open because of us.
	if (close_range(0, ~0U, CLOSE_RANGE_UNSHARE) && unshare(CLONE_FILES))
		apart->errnum = errno;
	else
		apart->work(apart->ctx);
	return NULL;
}

int gorgon_file_apart(void (*work)(void *ctx), void *ctx)
{
	struct apart apart = {work, ctx, 0};
	sigset_t all, old;
	pthread_t thread;
	int errnum;

	sigfillset(&all); // handlers are for threads of the program
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errnum = pthread_create(&thread, NULL, run_apart, &apart);
	if (!errnum)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return errnum ?: apart.errnum;
}
