// SPDX-License-Identifier: MIT
// Descriptors of our own, on which namespaces hold their record locks.
//
// The kernel knows one owner of POSIX record locks in a process: its descriptor table. Open file
// description locks belong to one open file, and conflict with the locks of every other owner,
// POSIX locks included. So each namespace that locks a file gets a descriptor of that inode for
// itself, opened again through /proc/thread-self/fd, with O_RDWR where the file allows. Where the
// inode cannot be opened again, the namespace gets a duplicate of the caller's descriptor: its
// locks are shared with everybody who has that open file.
//
// The descriptors are in the program's table, at high numbers where that is safe. The host may
// close what is not its own, so each is looked at before it is used: device, inode, and a mark that
// F_SETSIG leaves in the open file, a signal that the kernel never sends without O_ASYNC.
//
// Closing such a descriptor drops locks of the host on its inode. So a descriptor that its owner
// needs no longer is closed when private code closes one of the inode, which drops them anyway.
//
// If the process had no right to write the file when it locked the file first, and has been given
// that right since, exclusive locks fail with ENOLCK until the program has closed the file.
//
// Seen from outside: an inotify watch tells of one more open and close, and a file with record
// locks cannot be executed meanwhile (ETXTBSY), when it can be written.

#define _GNU_SOURCE
#include "lock_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define MARK SIGWINCH // ignored by default, should somebody set O_ASYNC
#define HIGH 768      // the usual limit is 1,024; a table grows to hold the largest number

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gorgon_lock_file *files;
static unsigned count; // atomic
static pid_t pid;      // of the process that has the descriptors

void gorgon_lock_files_init(void)
{
	pid = getpid();
}

void gorgon_lock_files_enter(void)
{
	pthread_mutex_lock(&lock);
}

void gorgon_lock_files_leave(void)
{
	pthread_mutex_unlock(&lock);
}

unsigned gorgon_lock_files_count(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

bool gorgon_lock_files_are_ours(void)
{
	return getpid() == pid;
}

static bool is_inode(const struct gorgon_lock_file *file, const struct stat *st)
{
	return file->dev == st->st_dev && file->ino == st->st_ino;
}

// Whether the descriptor's number still belongs to the lock file.
static bool is_there(const struct gorgon_lock_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st) || !is_inode(file, &st))
		return false;
	// The kernel gives nobody else so high a number.
	return file->borrowed || file->fd >= HIGH || fcntl(file->fd, F_GETSIG) == MARK;
}

static void lock_files_drop(struct gorgon_lock_file *file)
{
	struct gorgon_lock_file **at = &files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	__atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED);
	free(file);
}

void gorgon_lock_files_forget(void)
{
	while (files) {
		if (is_there(files))
			close(files->fd);
		lock_files_drop(files);
	}
	pid = getpid();
}

// --- looking ------------------------------------------------------------------------------

struct gorgon_lock_file *gorgon_lock_file_next(const struct gorgon_lock_file *after,
					       const struct stat *st)
{
	struct gorgon_lock_file *file = after ? after->next : files;

	while (file && !is_inode(file, st))
		file = file->next;
	return file;
}

struct gorgon_lock_file *gorgon_lock_file_next_of(const struct gorgon_lock_file *after,
						  const void *owner)
{
	struct gorgon_lock_file *file = after ? after->next : files;

	while (file && file->owner != owner)
		file = file->next;
	return file;
}

struct gorgon_lock_file *gorgon_lock_file_find(const void *owner, const struct stat *st)
{
	struct gorgon_lock_file *file = NULL;

	while ((file = gorgon_lock_file_next(file, st)))
		if (file->owner == owner)
			break;
	// A lock file that the host has closed has lost its locks. Threads that use it find that
	// out themselves.
	if (file && !file->users && !is_there(file)) {
		lock_files_drop(file);
		return gorgon_lock_file_find(owner, st);
	}
	return file;
}

struct gorgon_lock_file *gorgon_lock_file_numbered(int fd)
{
	struct gorgon_lock_file *file = files;

	while (file && file->fd != fd)
		file = file->next;
	return file && is_there(file) ? file : NULL;
}

// --- locks of a lock file ---------------------------------------------------------------------

static bool set_whole(int fd, short type)
{
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
	int saved_errno = errno;
	bool ok = !fcntl(fd, F_OFD_SETLK, &whole);

	errno = saved_errno;
	return ok;
}

void gorgon_lock_file_unlock(const struct gorgon_lock_file *file)
{
	set_whole(file->fd, F_UNLCK);
}

// --- making a lock file -----------------------------------------------------------------------

static int lowest_high(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > HIGH + HIGH / 3)
		return HIGH;
	return (int)(limit.rlim_cur - limit.rlim_cur / 4);
}

static int duplicate_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, lowest_high());

	return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

// A program expects the lowest free number for its next file, so the lock file is duplicated to a
// high number and the low number closed. That is done while the host can have no lock, or not at
// all.
static int move_up(int fd, bool writable)
{
	int high;

	if (!writable || !set_whole(fd, F_WRLCK))
		return fd;
	high = duplicate_high(fd);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	set_whole(fd, F_UNLCK);
	return fd;
}

// O_NONBLOCK: not to wait for the holder of a lease.
static int open_again(int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return open(path, mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool open_file(struct gorgon_lock_file *file, int fd, bool write)
{
	file->writable = true;
	file->fd = open_again(fd, O_RDWR);
	if (file->fd < 0 && !write) {
		file->writable = false;
		file->fd = open_again(fd, O_RDONLY);
	}
	if (file->fd < 0) {
		if (!file->owner) // a file without an owner is needed only to lock the whole file
			return false;
		file->borrowed = true;
		file->writable = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
		file->fd = duplicate_high(fd);
		return file->fd >= 0;
	}
	file->fd = move_up(file->fd, file->writable);
	fcntl(file->fd, F_SETSIG, MARK);
	return true;
}

static struct gorgon_lock_file *lock_files_create(const void *owner, int fd, const struct stat *st,
						  bool write)
{
	struct gorgon_lock_file *file = calloc(1, sizeof(*file));

	if (!file) {
		errno = ENOLCK;
		return NULL;
	}
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->owner = owner;
	if (!open_file(file, fd, write)) {
		free(file);
		errno = ENOLCK; // what fcntl() says when there is no room for a lock
		return NULL;
	}
	file->next = files;
	files = file;
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	return file;
}

static struct gorgon_lock_file *find_free(const struct stat *st, bool write)
{
	struct gorgon_lock_file *file = NULL;

	while ((file = gorgon_lock_file_next(file, st)))
		if (!file->owner && !file->users && (file->writable || !write) && is_there(file))
			return file;
	return NULL;
}

struct gorgon_lock_file *gorgon_lock_file_get(const void *owner, int fd, const struct stat *st,
					      bool write)
{
	struct gorgon_lock_file *old = gorgon_lock_file_find(owner, st), *file;
	int saved_errno = errno;

	if (old && (old->writable || !write))
		return old;
	if (old) {
		errno = ENOLCK;
		return NULL;
	}
	file = find_free(st, write);
	if (file)
		file->owner = owner;
	else
		file = lock_files_create(owner, fd, st, write);
	if (file)
		errno = saved_errno;
	return file;
}

bool gorgon_lock_file_move(struct gorgon_lock_file *file)
{
	int fd = duplicate_high(file->fd);

	if (fd < 0)
		return false;
	file->fd = fd;
	return true;
}

void gorgon_lock_file_close(struct gorgon_lock_file *file)
{
	if (is_there(file))
		close(file->fd);
	lock_files_drop(file);
}
