// SPDX-License-Identifier: MIT
// POSIX record locks: fcntl() with F_SETLK, F_SETLKW, F_GETLK, and lockf().
//
// Their owner is the process: two copies of a library in two namespaces, each of which believes
// that it is alone, would be granted the same lock. Here the owner is the namespace and the inode,
// by open file description locks on a descriptor of our own (lock_files.c). So they conflict
// with those of other namespaces, of the host and its libraries, and of other processes; they end
// when the namespace closes a descriptor of the inode (closing.c), when its program ends, and a
// forked child has none. A program with a descriptor table of its own gets the kernel's, which are
// right there.
//
// What differs from the kernel is put right: access modes and SEEK_CUR are of the caller's
// descriptor; F_GETLK names this process as the holder where another namespace has locks of the
// file.
//
// What stays as it is: files that are not regular have the process's locks; nobody gets EDEADLK,
// because the kernel finds no deadlocks among locks of open file descriptions; locks by syscall(2)
// are the process's; and F_GETLK says -1 of such a description's lock in another process, as in any
// program.

#define _GNU_SOURCE
#include "record_locks.h"
#include "lock_files.h"
#include "ns/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

// --- setting ------------------------------------------------------------------------------

static bool is_same(int fd, const struct stat *st)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

// Our descriptor has another position, so a range that is relative to the caller's is made
// absolute. False with errno.
static bool make_absolute(int fd, struct flock *lock)
{
	off_t at;

	lock->l_pid = 0;
	if (lock->l_whence != SEEK_CUR)
		return true;
	at = lseek(fd, 0, SEEK_CUR);
	if (__builtin_add_overflow(at, lock->l_start, &lock->l_start)) {
		errno = EOVERFLOW;
		return false;
	}
	lock->l_whence = SEEK_SET;
	return true;
}

static struct gorgon_lock_file *use_file(struct gorgon_record_locks *owner, int fd,
					 const struct stat *st, bool make, bool write)
{
	struct gorgon_lock_file *file;

	gorgon_lock_files_enter();
	file = make ? gorgon_lock_file_get(owner, fd, st, write) : gorgon_lock_file_find(owner, st);
	if (file)
		file->users++;
	gorgon_lock_files_leave();
	return file;
}

static void leave_file(void *arg)
{
	struct gorgon_lock_file *file = arg;

	gorgon_lock_files_enter();
	file->users--;
	gorgon_lock_files_leave();
}

// As for a lock that is not set.
static int check_arguments(int fd, struct flock lock)
{
	lock.l_type = F_RDLCK;
	return fcntl(fd, F_OFD_GETLK, &lock);
}

// The thread may be cancelled while it waits.
static int set_through(struct gorgon_lock_file *file, bool wait, struct flock *lock)
{
	int ret, errnum;

	pthread_cleanup_push(leave_file, file);
	ret = fcntl(file->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, lock);
	errnum = errno;
	pthread_cleanup_pop(1);
	errno = errnum;
	return ret;
}

// A lock that came when the descriptor had been closed would stay: closing has dropped them all.
static int check_still_open(struct gorgon_record_locks *owner, int fd, const struct stat *st,
			    struct flock lock)
{
	struct gorgon_lock_file *file;

	if (is_same(fd, st))
		return 0;
	lock.l_type = F_UNLCK;
	file = use_file(owner, fd, st, false, false);
	if (file) {
		fcntl(file->fd, F_OFD_SETLK, &lock);
		leave_file(file);
	}
	errno = EBADF;
	return -1;
}

static bool locks_allows(int mode, short type)
{
	return !(type == F_WRLCK && mode == O_RDONLY) && !(type == F_RDLCK && mode == O_WRONLY);
}

static int locks_set(struct gorgon_record_locks *owner, int fd, bool wait, const struct stat *st,
		     struct flock lock, int mode)
{
	unsigned closings = __atomic_load_n(&owner->closings, __ATOMIC_SEQ_CST);
	bool unlock = lock.l_type == F_UNLCK;
	struct gorgon_lock_file *file;

	if (!locks_allows(mode, lock.l_type)) {
		if (!check_arguments(fd, lock))
			errno = EBADF;
		return -1;
	}
	file = use_file(owner, fd, st, !unlock, lock.l_type == F_WRLCK);
	if (!file)
		return unlock ? check_arguments(fd, lock) : -1;
	if (set_through(file, wait, &lock))
		return -1;
	if (unlock || closings == __atomic_load_n(&owner->closings, __ATOMIC_SEQ_CST))
		return 0;
	return check_still_open(owner, fd, st, lock);
}

// --- asking ---------------------------------------------------------------------------------

// Whether another namespace has locks of the file.
static bool has_neighbour(struct gorgon_record_locks *owner, const struct stat *st)
{
	struct gorgon_lock_file *file = NULL;
	bool found = false;

	gorgon_lock_files_enter();
	while (!found && (file = gorgon_lock_file_next(file, st)))
		found = file->owner && file->owner != owner;
	gorgon_lock_files_leave();
	return found;
}

static int locks_get(struct gorgon_record_locks *owner, int fd, const struct stat *st,
		     struct flock lock, struct flock *ret)
{
	struct gorgon_lock_file *file;
	int status;

	if (lock.l_type != F_RDLCK && lock.l_type != F_WRLCK) {
		errno = EINVAL;
		return -1;
	}
	file = use_file(owner, fd, st, false, false);
	status = fcntl(file ? file->fd : fd, F_OFD_GETLK, &lock);
	if (file)
		leave_file(file);
	if (status)
		return status;
	if (lock.l_type == F_UNLCK) {
		ret->l_type = F_UNLCK;
		return 0;
	}
	if (lock.l_pid == -1 && has_neighbour(owner, st))
		lock.l_pid = getpid();
	*ret = lock;
	return 0;
}

// --- the functions ----------------------------------------------------------------------------

static int lock_record(struct gorgon_record_locks *owner, int fd, int cmd, struct flock *arg)
{
	struct flock lock = *arg;
	struct stat st;
	int flags;

	if (gorgon_record_locks_are_native(owner) || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (flags = fcntl(fd, F_GETFL)) < 0 || flags & O_PATH)
		return fcntl(fd, cmd, arg);
	if (!make_absolute(fd, &lock))
		return -1;
	return cmd == F_GETLK ? locks_get(owner, fd, &st, lock, arg)
			      : locks_set(owner, fd, cmd == F_SETLKW, &st, lock, flags & O_ACCMODE);
}

static int record_fcntl(int fd, int cmd, void *arg, struct gorgon_record_locks *owner)
{
	if (cmd == F_SETLK || cmd == F_SETLKW || cmd == F_GETLK)
		return lock_record(owner, fd, cmd, arg);
	return fcntl(fd, cmd, arg);
}

static int test_record(int fd, struct flock lock, struct gorgon_record_locks *owner)
{
	lock.l_type = F_RDLCK;
	if (lock_record(owner, fd, F_GETLK, &lock))
		return -1;
	// Its own are not found. By the C library's check of l_pid a neighbour's would be its own.
	if (lock.l_type == F_UNLCK)
		return 0;
	errno = EACCES;
	return -1;
}

static int record_lockf(int fd, int cmd, off_t size, struct gorgon_record_locks *owner)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = size};

	switch (cmd) {
	case F_TEST:
		return test_record(fd, lock, owner);
	case F_ULOCK:
		lock.l_type = F_UNLCK;
		return lock_record(owner, fd, F_SETLK, &lock);
	case F_LOCK:
		return lock_record(owner, fd, F_SETLKW, &lock);
	case F_TLOCK:
		return lock_record(owner, fd, F_SETLK, &lock);
	default:
		errno = EINVAL;
		return -1;
	}
}

// --- the part -----------------------------------------------------------------------------

static bool locks_begin(void *state, struct gorgon_ns *ns)
{
	((struct gorgon_record_locks *)state)->files =
		gorgon_parts_state(ns->parts, &gorgon_files_part);
	return true;
}

static void locks_stop(void *state)
{
	gorgon_closing_drop(state);
}

static void after_fork(bool child)
{
	if (child)
		gorgon_lock_files_forget();
	gorgon_lock_files_leave();
}

#define LOCKS(name, target, args)                                                                  \
	{name, target, args, 0, GORGON_OWN,                                                        \
	 "record locks are the interpreter's: they conflict with those of others and the host"}
#define CLOSES(name, target, args)                                                                 \
	{name, target, args, 0, GORGON_OWN,                                                        \
	 "drops the interpreter's record locks of the file"}

static const struct gorgon_bound bound[] = {
	LOCKS("fcntl", record_fcntl, 3),
	LOCKS("fcntl64", record_fcntl, 3),
	LOCKS("__fcntl", record_fcntl, 3),
	LOCKS("lockf", record_lockf, 3),
	LOCKS("lockf64", record_lockf, 3),
	CLOSES("close", gorgon_closing_close, 1),
	CLOSES("__close", gorgon_closing_close, 1),
	CLOSES("dup2", gorgon_closing_dup2, 2),
	CLOSES("__dup2", gorgon_closing_dup2, 2),
	CLOSES("dup3", gorgon_closing_dup3, 3),
	CLOSES("close_range", gorgon_closing_close_range, 3),
	CLOSES("closefrom", gorgon_closing_closefrom, 1),
	CLOSES("fclose", gorgon_closing_fclose, 1),
	CLOSES("_IO_fclose", gorgon_closing_fclose, 1),
	CLOSES("freopen", gorgon_closing_freopen, 3),
	CLOSES("freopen64", gorgon_closing_freopen, 3),
};

const struct gorgon_part gorgon_record_locks = {
	.bound = bound,
	.bound_count = COUNT(bound),
	.state_size = sizeof(struct gorgon_record_locks),
	.begin = locks_begin,
	.stop = locks_stop,
	.end = locks_stop,
	.before_fork = gorgon_lock_files_enter,
	.after_fork = after_fork,
};
