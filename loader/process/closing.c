// SPDX-License-Identifier: MIT
// Closing a descriptor in a table that is shared with the host.
//
// POSIX: a process that closes any descriptor of a file loses all of its record locks of that file.
// For the kernel the process is the descriptor table, so a close() by private code takes the
// *host's* locks, and none of the namespace's, which are open file description locks. Both
// are put right here: the namespace's are dropped, and the host's kept.
//
// The kernel drops the table's locks whichever way a number is closed. So a number is closed at a
// moment when the host has no lock: while we hold the whole file exclusively, by an open file
// description lock, the host has no lock of it and gets none. So a descriptor of a file that is known to
// be locked at times is closed under such a lock. When that is not granted, because anybody has a
// lock of the file, the descriptor is parked: it stays open, and its number in use, until a
// later close() finds such a moment. close() has succeeded for the program; the locks that came with the
// open file (flock(), F_OFD_SETLK) are released. A file that is locked for good - WAL of SQLite,
// say - would gather parked descriptors, so open() takes a parked one when one fits: same inode,
// same mode, not shared with another descriptor.
//
// What a program can see of that: the number of a parked descriptor is not given out, and reading
// or writing it is no EBADF (closing it again is); another locker may be refused for the
// microsecond in which the whole file is locked; dup2() onto the descriptor of a file of which the
// host has a lock fails with EBUSY.
//
// A file that was never seen locked is closed after asking once for its locks (F_OFD_GETLK): that is
// all that most calls of close() cost. Not handled: a lock that the host gets between that look and the close(), when
// neither a namespace nor such a look has met a lock of the file before; files that we cannot
// open for writing, which are looked at only; closing by other ways than the C library's
// functions (syscall(2), io_uring, shared libraries like libstdc++); a lock that the host gets while
// dup2() closes a file that others have locks of.

#define _GNU_SOURCE
#include "record_locks.h"
#include "lock_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

// A descriptor that the program has closed.
struct parked {
	struct parked *next;
	dev_t dev;
	ino_t ino;
	int fd;
	bool reusable; // no other descriptor shares the open file
};

static struct parked *parked;	// with the lock of lock_files.h, like all that follows
static unsigned parked_count;	// atomic
static struct noted {
	dev_t dev;
	ino_t ino;
} noted[64]; // the last inodes that were seen locked
static bool any_noted; // atomic

static void closing_note(const struct stat *st)
{
	noted[st->st_ino % (sizeof(noted) / sizeof(*noted))] =
		(struct noted){st->st_dev, st->st_ino};
	__atomic_store_n(&any_noted, true, __ATOMIC_RELAXED);
}

static bool is_noted(const struct stat *st)
{
	const struct noted *entry = &noted[st->st_ino % (sizeof(noted) / sizeof(*noted))];

	return entry->ino == st->st_ino && entry->dev == st->st_dev;
}

// Whether anybody has a lock on the file except through this open file, which several descriptors
// may share.
static bool is_locked(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int saved_errno = errno;
	bool locked = !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;

	errno = saved_errno;
	return locked;
}

// --- parked descriptors ----------------------------------------------------------------------

static bool is_inode(const struct parked *entry, const struct stat *st)
{
	return entry->dev == st->st_dev && entry->ino == st->st_ino;
}

// Other code of the process may have closed it in the meantime.
static bool is_there(const struct parked *entry)
{
	struct stat st;

	return !fstat(entry->fd, &st) && is_inode(entry, &st) &&
	       gorgon_lock_file_is_marked(entry->fd);
}

static void closing_forget(struct parked *entry)
{
	struct parked **at = &parked;

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	free(entry);
	__atomic_sub_fetch(&parked_count, 1, __ATOMIC_RELAXED);
}

static struct parked *find_parked(int fd)
{
	struct parked *entry = parked;

	while (entry && entry->fd != fd)
		entry = entry->next;
	if (!entry || is_there(entry))
		return entry;
	closing_forget(entry);
	return NULL;
}

void gorgon_closing_forget(void)
{
	while (parked) {
		if (is_there(parked))
			close(parked->fd);
		closing_forget(parked);
	}
}

// The next open descriptor from @fd on, or -1.
static int next_open(DIR *list, unsigned first, unsigned last)
{
	const struct dirent *entry;

	while ((entry = readdir(list))) {
		unsigned fd = (unsigned)strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd >= first && fd <= last && (int)fd != dirfd(list))
			return (int)fd;
	}
	return -1;
}

// Whether another descriptor has the same open file, which has just been marked.
static bool is_shared(int fd, const struct stat *st)
{
	DIR *list = opendir("/proc/thread-self/fd");
	bool shared = !list;
	struct stat other;
	int next;

	while (!shared && (next = next_open(list, 0, INT_MAX)) >= 0)
		shared = next != fd && !fstat(next, &other) && other.st_ino == st->st_ino &&
			 other.st_dev == st->st_dev && gorgon_lock_file_is_marked(next) &&
			 !gorgon_lock_file_numbered(next) && !find_parked(next);
	if (list)
		closedir(list);
	return shared;
}

// Release the locks that go with the last close() of an open file.
static void release_locks(int fd)
{
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	flock(fd, LOCK_UN);
	fcntl(fd, F_OFD_SETLK, &whole);
}

static bool has_posix_lock(int fd)
{
	char path[64], line[256];
	bool found = false;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && !found && fgets(line, sizeof(line), info))
		found = !strncmp(line, "lock:", 5) && strstr(line, ": POSIX ");
	if (info)
		fclose(info);
	return found;
}

// Whether the table's owner, the host, has a lock now; the kernel lists it with the descriptor
// that it was set through. True when it cannot be known.
static bool host_has_lock(const struct stat *st)
{
	DIR *list = opendir("/proc/thread-self/fd");
	bool found = !list;
	struct stat other;
	int next;

	while (!found && (next = next_open(list, 0, INT_MAX)) >= 0)
		found = !fstat(next, &other) && other.st_ino == st->st_ino &&
			other.st_dev == st->st_dev && has_posix_lock(next);
	if (list)
		closedir(list);
	return found;
}

// Without memory the descriptor stays open for good: the host's locks matter more.
static void closing_park(int fd, const struct stat *st)
{
	struct parked *entry = malloc(sizeof(*entry));
	int saved_errno = errno;

	if (!entry)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	gorgon_lock_file_mark(fd, true);
	*entry = (struct parked){parked, st->st_dev, st->st_ino, fd, !is_shared(fd, st)};
	if (entry->reusable)
		release_locks(fd);
	parked = entry;
	__atomic_add_fetch(&parked_count, 1, __ATOMIC_RELAXED);
	errno = saved_errno;
}

// Close the parked descriptors of an inode on which nobody but us has a lock.
static void close_parked(const struct stat *st)
{
	for (struct parked *entry = parked, *next; entry; entry = next) {
		next = entry->next;
		if (!is_inode(entry, st))
			continue;
		if (is_there(entry)) {
			gorgon_lock_file_mark(entry->fd, false);
			close(entry->fd);
		}
		closing_forget(entry);
	}
}

// Close parked descriptors of files for which there is no lock file.
static void drain_unguarded(void)
{
	for (struct parked *entry = parked, *next; entry; entry = next) {
		struct stat st = {.st_dev = entry->dev, .st_ino = entry->ino};

		next = entry->next;
		if (gorgon_lock_file_find(NULL, &st) || is_locked(entry->fd))
			continue;
		close_parked(&st);
		next = parked;
	}
}

// Close the lock files without an owner that can be closed by now, and the parked descriptors of their inodes.
static void closing_drain(void)
{
	struct gorgon_lock_file *file = gorgon_lock_file_next_of(NULL, NULL), *next;

	for (; file; file = next) {
		struct stat st = {.st_dev = file->dev, .st_ino = file->ino};

		next = gorgon_lock_file_next_of(file, NULL);
		if (file->users || (!gorgon_lock_file_exclude(file) && is_locked(file->fd)))
			continue;
		close_parked(&st);
		gorgon_lock_file_close(file);
	}
	drain_unguarded();
}

// --- before and after a close ---------------------------------------------------------------

struct closing {
	bool entered;	// we have the lock
	bool must_park; // the descriptor is to be parked and not closed
	struct stat st;
	struct gorgon_lock_file *own;  // of the namespace
	struct gorgon_lock_file *gate; // the whole file is locked with this one
};

static bool is_quiet(int fd)
{
	return !gorgon_lock_files_count() && !__atomic_load_n(&parked_count, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&any_noted, __ATOMIC_RELAXED) && !is_locked(fd);
}

bool gorgon_record_locks_are_native(const struct gorgon_record_locks *owner)
{
	return __atomic_load_n(&owner->files->own, __ATOMIC_RELAXED) ||
	       !gorgon_lock_files_are_ours();
}

// Whether a close() needs more than the kernel's close(). Questions without a system call come first.
static bool needs_care(int fd, const struct gorgon_record_locks *owner)
{
	return fd >= 0 && !__atomic_load_n(&owner->files->own, __ATOMIC_RELAXED) && !is_quiet(fd) &&
	       !gorgon_record_locks_are_native(owner);
}

static struct gorgon_lock_file *lock_whole_file(struct closing *closing, int fd)
{
	struct gorgon_lock_file *file = closing->own;

	if (file && file->users)
		return NULL;
	if (!file)
		file = gorgon_lock_file_get(NULL, fd, &closing->st, true);
	return file && gorgon_lock_file_exclude(file) ? file : NULL;
}

// Close the descriptor if nobody has a lock of the file, otherwise park it.
static void closing_guard(struct closing *closing, int fd)
{
	closing->gate = lock_whole_file(closing, fd);
	if (closing->gate)
		return;
	if (closing->own)
		gorgon_lock_file_unlock(closing->own);
	closing->must_park = is_locked(fd) ||
			     (closing->own && closing->own->writable && !closing->own->borrowed);
}

static bool concerns_us(const struct closing *closing, int fd)
{
	if (closing->own || is_noted(&closing->st) || gorgon_lock_file_next(NULL, &closing->st))
		return true;
	if (!is_locked(fd))
		return false;
	closing_note(&closing->st);
	return true;
}

// False: the number is ours, and not open for the program.
static bool closing_begin(struct closing *closing, int fd, struct gorgon_record_locks *owner)
{
	*closing = (struct closing){0};
	if (!needs_care(fd, owner) || fstat(fd, &closing->st) || !S_ISREG(closing->st.st_mode))
		return true;
	gorgon_lock_files_enter();
	closing_drain();
	if (gorgon_lock_file_numbered(fd) || find_parked(fd)) {
		gorgon_lock_files_leave();
		return false;
	}
	closing->own = gorgon_lock_file_find(owner, &closing->st);
	closing->entered = concerns_us(closing, fd);
	__atomic_add_fetch(&owner->closings, 1, __ATOMIC_SEQ_CST);
	if (closing->entered)
		closing_guard(closing, fd);
	else
		gorgon_lock_files_leave();
	return true;
}

static void give_back(struct gorgon_lock_file *file)
{
	gorgon_lock_file_unlock(file);
	if (!file->users)
		file->owner = NULL;
}

static void closing_finish(struct closing *closing)
{
	int saved_errno = errno;

	if (!closing->entered)
		return;
	if (closing->gate) {
		close_parked(&closing->st);
		gorgon_lock_file_close(closing->gate);
	} else if (closing->own) {
		give_back(closing->own);
	}
	gorgon_lock_files_leave();
	errno = saved_errno;
}

void gorgon_closing_drop(const struct gorgon_record_locks *owner)
{
	struct gorgon_lock_file *file, *next;

	if (!gorgon_lock_files_count() || gorgon_record_locks_are_native(owner))
		return;
	gorgon_lock_files_enter();
	next = gorgon_lock_file_next_of(NULL, owner);
	while ((file = next)) {
		next = gorgon_lock_file_next_of(file, owner);
		if (gorgon_files_are_own()) // the numbers are those of another table
			file->owner = NULL;
		else
			give_back(file);
	}
	if (!gorgon_files_are_own())
		closing_drain();
	gorgon_lock_files_leave();
}

// --- the functions --------------------------------------------------------------------------

int gorgon_closing_close(int fd, struct gorgon_record_locks *owner)
{
	struct closing closing;
	int ret = 0;

	if (!closing_begin(&closing, fd, owner)) {
		errno = EBADF;
		return -1;
	}
	if (closing.must_park)
		closing_park(fd, &closing.st);
	else
		ret = close(fd);
	closing_finish(&closing);
	return ret;
}

// The program wants a number that a lock file has: move the lock file.
static bool closing_vacate(int fd)
{
	struct gorgon_lock_file *file;
	bool free;

	gorgon_lock_files_enter();
	file = gorgon_lock_file_numbered(fd);
	free = file ? !file->users && gorgon_lock_file_move(file) : !find_parked(fd);
	gorgon_lock_files_leave();
	return free;
}

static int closing_duplicate(int fd, int number, int flags, bool is_dup2)
{
	return is_dup2 ? dup2(fd, number) : dup3(fd, number, flags);
}

static int duplicate_onto(int fd, int number, int flags, bool is_dup2,
			  struct gorgon_record_locks *owner)
{
	struct closing closing;
	int ret = -1;

	// dup2() closes nothing when it fails, and when both numbers are equal.
	if (fd == number || fcntl(fd, F_GETFD) < 0)
		return closing_duplicate(fd, number, flags, is_dup2);
	if (!closing_begin(&closing, number, owner) && !closing_vacate(number)) {
		errno = EBUSY;
		return -1;
	}
	// The descriptor cannot be parked, since its number is wanted now.
	if (closing.must_park && host_has_lock(&closing.st))
		errno = EBUSY;
	else
		ret = closing_duplicate(fd, number, flags, is_dup2);
	closing_finish(&closing);
	return ret;
}

int gorgon_closing_dup2(int fd, int number, struct gorgon_record_locks *owner)
{
	return duplicate_onto(fd, number, 0, true, owner);
}

int gorgon_closing_dup3(int fd, int number, int flags, struct gorgon_record_locks *owner)
{
	return duplicate_onto(fd, number, flags, false, owner);
}

// Without /proc each possible number is tried.
static void close_numbers(unsigned first, unsigned last, struct gorgon_record_locks *owner)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur <= last)
		last = (unsigned)limit.rlim_cur - 1;
	for (unsigned fd = first; fd <= last; fd++)
		gorgon_closing_close((int)fd, owner);
}

int gorgon_closing_close_range(unsigned first, unsigned last, int flags,
			       struct gorgon_record_locks *owner)
{
	DIR *list;
	int fd, saved_errno = errno;

	if (flags || first > last || gorgon_record_locks_are_native(owner))
		return close_range(first, last, flags);
	list = opendir("/proc/thread-self/fd");
	if (!list)
		close_numbers(first, last, owner);
	while (list && (fd = next_open(list, first, last)) >= 0)
		gorgon_closing_close(fd, owner);
	if (list)
		closedir(list);
	errno = saved_errno;
	return 0;
}

void gorgon_closing_closefrom(int first, struct gorgon_record_locks *owner)
{
	gorgon_closing_close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0, owner);
}

// --- streams --------------------------------------------------------------------------------

// Give @stream another descriptor, which can be closed without harm. Its buffer has been written.
static void closing_detach(FILE *stream)
{
	stream->_fileno = open("/dev/null", O_PATH | O_CLOEXEC);
}

int gorgon_closing_fclose(FILE *stream, struct gorgon_record_locks *owner)
{
	int fd = fileno_unlocked(stream), failed, ret;
	struct closing closing;

	if (!needs_care(fd, owner))
		return fclose(stream);
	failed = fflush(stream); // without the lock: writing may take long
	if (!closing_begin(&closing, fd, owner)) {
		closing_detach(stream);
		fclose(stream);
		errno = EBADF;
		return EOF;
	}
	if (closing.must_park) {
		closing_park(fd, &closing.st);
		closing_detach(stream);
		fclose(stream);
		ret = 0;
	} else {
		ret = fclose(stream);
	}
	closing_finish(&closing);
	return failed ? EOF : ret;
}

FILE *gorgon_closing_freopen(const char *path, const char *mode, FILE *stream,
			     struct gorgon_record_locks *owner)
{
	int fd = fileno_unlocked(stream);
	struct closing closing;
	char again[64];
	FILE *ret;

	if (!needs_care(fd, owner))
		return freopen(path, mode, stream);
	fflush(stream);
	if (!path) {
		snprintf(again, sizeof(again), "/proc/thread-self/fd/%d", fd);
		path = again;
	}
	if (closing_begin(&closing, fd, owner) && closing.must_park) {
		closing_park(fd, &closing.st);
		closing_detach(stream);
	}
	ret = freopen(path, mode, stream);
	closing_finish(&closing);
	return ret;
}

// --- opening ----------------------------------------------------------------------------------

// fcntl() can set the flags SETTABLE. The flags FIXED must be what the open file has already.
#define SETTABLE (O_APPEND | O_NONBLOCK | O_NOATIME | O_DIRECT)
#define FIXED	 (O_ACCMODE | O_SYNC | O_DSYNC)

static bool may_reuse(int flags)
{
	int writes = flags & O_ACCMODE;

	return !((flags & O_CREAT) && (flags & O_EXCL)) && !(flags & O_PATH) &&
	       !(flags & (O_DIRECTORY | O_ASYNC)) && !((flags & O_TRUNC) && writes == O_RDONLY);
}

static bool may_access(int dir, const char *path, int flags)
{
	int mode = flags & O_ACCMODE;
	int want = (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0);

	return !faccessat(dir, path, want, AT_EACCESS);
}

// Put a reused descriptor into the state in which open() returns one.
static bool closing_renew(int fd, int flags)
{
	if (fcntl(fd, F_SETFL, flags & SETTABLE) || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_SETFD, flags & O_CLOEXEC ? FD_CLOEXEC : 0))
		return false;
	gorgon_lock_file_mark(fd, false);
	return !(flags & O_TRUNC) || !ftruncate(fd, 0);
}

static int take_parked(const struct stat *st, int flags)
{
	for (struct parked *entry = parked; entry; entry = entry->next) {
		int fd = entry->fd;

		if (!entry->reusable || !is_inode(entry, st) || !is_there(entry) ||
		    ((fcntl(fd, F_GETFL) ^ flags) & FIXED) || !closing_renew(fd, flags))
			continue;
		closing_forget(entry);
		return fd;
	}
	return -1;
}

int gorgon_closing_reuse(int dir, const char *path, int flags)
{
	int saved_errno = errno, fd = -1;
	struct stat st;

	if (!__atomic_load_n(&parked_count, __ATOMIC_RELAXED) || !may_reuse(flags) ||
	    !gorgon_lock_files_are_ours())
		return -1;
	if (!fstatat(dir, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) &&
	    S_ISREG(st.st_mode) && may_access(dir, path, flags)) {
		gorgon_lock_files_enter();
		fd = take_parked(&st, flags);
		gorgon_lock_files_leave();
	}
	errno = saved_errno;
	return fd;
}
