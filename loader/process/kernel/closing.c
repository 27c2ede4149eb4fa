// SPDX-License-Identifier: MIT
// Closing a descriptor in a table that is shared with the host.
//
// POSIX: a process that closes any descriptor of a file loses all of its record locks of that file.
// A namespace's locks are open file description locks on a descriptor of ours (lock_files.c), which
// the kernel does not drop then, so they are dropped here.
//
// The kernel drops the locks of the table's owner, the host, as it does for any library that opens
// and closes a file behind its program's back. docs/limits.md names that hazard.

#define _GNU_SOURCE
#include "record_locks.h"
#include "lock_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

bool gorgon_record_locks_are_native(const struct gorgon_record_locks *owner)
{
	return __atomic_load_n(&owner->files->own, __ATOMIC_RELAXED) ||
	       !gorgon_lock_files_are_ours();
}

// Whether a close() needs more than the kernel's close(). The question costs no system call while
// nobody has a lock.
static bool needs_care(const struct gorgon_record_locks *owner)
{
	return gorgon_lock_files_count() && !gorgon_record_locks_are_native(owner);
}

// A lock file without an owner is free for the next lock of the inode.
static void give_back(struct gorgon_lock_file *file)
{
	gorgon_lock_file_unlock(file);
	if (!file->users)
		file->owner = NULL;
}

// Close the lock files of the inode that nobody uses. It is a moment when the kernel drops the
// host's locks of the inode anyway.
static void close_free(const struct stat *st)
{
	struct gorgon_lock_file *file = gorgon_lock_file_next(NULL, st), *next;

	for (; file; file = next) {
		next = gorgon_lock_file_next(file, st);
		if (!file->owner && !file->users)
			gorgon_lock_file_close(file);
	}
}

enum closing {
	CLOSING_FREE,  // nothing of ours is concerned
	CLOSING_HELD,  // closing_finish() must follow
	CLOSING_OURS,  // the number is one of our own, and not open for the program
};

static enum closing closing_begin(int fd, struct gorgon_record_locks *owner)
{
	struct gorgon_lock_file *file;
	struct stat st;

	if (!needs_care(owner) || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return CLOSING_FREE;
	gorgon_lock_files_enter();
	if (gorgon_lock_file_numbered(fd)) {
		gorgon_lock_files_leave();
		return CLOSING_OURS;
	}
	// A thread that locks the file meanwhile looks whether its descriptor is still open.
	__atomic_add_fetch(&owner->closings, 1, __ATOMIC_SEQ_CST);
	if (!gorgon_lock_file_next(NULL, &st)) {
		gorgon_lock_files_leave();
		return CLOSING_FREE;
	}
	file = gorgon_lock_file_find(owner, &st);
	if (file)
		give_back(file);
	close_free(&st);
	return CLOSING_HELD;
}

static void closing_finish(enum closing closing)
{
	if (closing == CLOSING_HELD)
		gorgon_lock_files_leave();
}

void gorgon_closing_drop(const struct gorgon_record_locks *owner)
{
	struct gorgon_lock_file *file, *next;

	if (!needs_care(owner))
		return;
	gorgon_lock_files_enter();
	next = gorgon_lock_file_next_of(NULL, owner);
	while ((file = next)) {
		next = gorgon_lock_file_next_of(file, owner);
		if (gorgon_files_are_own()) { // the numbers are those of another table
			file->owner = NULL;
			continue;
		}
		give_back(file);
		if (!file->owner)
			gorgon_lock_file_close(file);
	}
	gorgon_lock_files_leave();
}

int gorgon_closing_close(int fd, struct gorgon_record_locks *owner)
{
	enum closing closing = closing_begin(fd, owner);
	int ret;

	if (closing == CLOSING_OURS) {
		errno = EBADF;
		return -1;
	}
	ret = close(fd);
	closing_finish(closing);
	return ret;
}

// The program wants a number that a lock file has: move the lock file.
static bool closing_vacate(int fd)
{
	struct gorgon_lock_file *file;
	bool free;

	gorgon_lock_files_enter();
	file = gorgon_lock_file_numbered(fd);
	free = !file || (!file->users && gorgon_lock_file_move(file));
	gorgon_lock_files_leave();
	return free;
}

// The flags are those of dup3(), or -1 for dup2().
static int closing_duplicate(int fd, int number, int flags, struct gorgon_record_locks *owner)
{
	enum closing closing = CLOSING_FREE;
	int ret;

	// dup2() closes nothing when it fails, and when both numbers are equal.
	if (fd != number && fcntl(fd, F_GETFD) >= 0)
		closing = closing_begin(number, owner);
	if (closing == CLOSING_OURS && !closing_vacate(number)) {
		errno = EBUSY;
		return -1;
	}
	ret = flags < 0 ? dup2(fd, number) : dup3(fd, number, flags);
	closing_finish(closing);
	return ret;
}

int gorgon_closing_dup2(int fd, int number, struct gorgon_record_locks *owner)
{
	return closing_duplicate(fd, number, -1, owner);
}

int gorgon_closing_dup3(int fd, int number, int flags, struct gorgon_record_locks *owner)
{
	if (flags < 0) {
		errno = EINVAL;
		return -1;
	}
	return closing_duplicate(fd, number, flags, owner);
}

int gorgon_closing_close_range(unsigned first, unsigned last, int flags,
			       struct gorgon_record_locks *owner)
{
	int saved_errno = errno;
	struct dirent *entry;
	DIR *list;

	if (flags || first > last || !needs_care(owner))
		return close_range(first, last, flags);
	list = opendir("/proc/thread-self/fd");
	if (!list)
		return close_range(first, last, flags);
	while ((entry = readdir(list))) {
		unsigned fd = (unsigned)strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd >= first && fd <= last && (int)fd != dirfd(list))
			gorgon_closing_close((int)fd, owner);
	}
	closedir(list);
	errno = saved_errno;
	return 0;
}

void gorgon_closing_closefrom(int first, struct gorgon_record_locks *owner)
{
	gorgon_closing_close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0, owner);
}

// --- streams --------------------------------------------------------------------------------

int gorgon_closing_fclose(FILE *stream, struct gorgon_record_locks *owner)
{
	int fd = fileno_unlocked(stream), ret;
	enum closing closing;

	if (needs_care(owner))
		fflush(stream); // without the lock: writing may take long
	closing = closing_begin(fd, owner);
	if (closing == CLOSING_OURS)
		closing_vacate(fd);
	ret = fclose(stream);
	closing_finish(closing);
	return ret;
}

// The lock is not held meanwhile: opening a pipe may take long.
FILE *gorgon_closing_freopen(const char *path, const char *mode, FILE *stream,
			     struct gorgon_record_locks *owner)
{
	int fd = fileno_unlocked(stream);
	enum closing closing = closing_begin(fd, owner);

	if (closing == CLOSING_OURS)
		closing_vacate(fd);
	closing_finish(closing);
	return freopen(path, mode, stream);
}
