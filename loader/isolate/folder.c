// SPDX-License-Identifier: MIT
// A folder of this process below TMPDIR, which is removed at the process's end:
//
//	TMPDIR/gorgon-copies-XXXXXX        mode 0700
//	TMPDIR/gorgon-copies-XXXXXX/lock   flock(2)ed as long as the process lives
//	TMPDIR/gorgon-copies-XXXXXX/0      what is made there has a number as its name
//
// flock() locks the open file, and a mapping keeps the file open. A descriptor would not do, since
// programs close descriptors that they do not know.
//
// Code is loaded from this folder, so nobody else may be able to put another folder in its place:
// TMPDIR must belong to the user or to root, and be sticky if others may write to it.
//
// A process that was killed leaves its folder behind, without the lock. The next process that makes
// a folder beside it removes it: debugged programs are killed often. Only folders that belong to
// the user, that nobody else can write to, and that hold nothing but locks and numbers are
// removed: another folder of such a name stays, with what is in it. A folder without a lock file is
// just being made. If it is old, a process has left it that ended while its threads still wrote.

#define _GNU_SOURCE
#include "folder.h"
#include "base/error.h"
#include "base/file.h"
#include "process/libc/environment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "gorgon-copies-"
#define LOCK   "lock"
#define EARLY  LOCK ".new"
#define DEPTH  16 // descriptors for walking

// Far more than a process needs from making a folder to locking it.
#define MAKING_S 60

static char *folder;
static pid_t folder_pid;
static void *folder_lock; // a page without access

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	return remove(path) && errno != ENOENT;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, DEPTH, FTW_DEPTH | FTW_PHYS);
}

// Not in a forked child: the folder is its parent's.
__attribute__((destructor)) static void remove_own(void)
{
	if (folder && folder_pid == getpid())
		remove_tree(folder);
}

static bool is_ours(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, LOCK) ||
	       !strcmp(name, EARLY) || !name[strspn(name, "0123456789")];
}

// Whether a folder has only what this file makes. False if it cannot be read: then it is taken for
// somebody else's, and stays.
static bool holds_ours_only(const char *path)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	bool ret = dir != NULL;

	while (ret && (entry = readdir(dir)))
		ret = is_ours(entry->d_name);
	if (dir)
		closedir(dir);
	return ret;
}

static void remove_if_left(const char *path)
{
	struct stat st;
	bool missing;
	char *name;
	int fd;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 0777) != 0700 || !holds_ours_only(path) ||
	    asprintf(&name, "%s/" LOCK, path) < 0)
		return;
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	missing = fd < 0 && errno == ENOENT;
	free(name);
	if (fd < 0) {
		if (missing && time(NULL) - st.st_mtime > MAKING_S)
			remove_tree(path);
		return;
	}
	if (!flock(fd, LOCK_EX | LOCK_NB))
		remove_tree(path);
	close(fd);
}

// A file that cannot be read or removed stays: a later process may have permission.
static void remove_left(const char *base)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	char *path;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) ||
		    asprintf(&path, "%s/%s", base, entry->d_name) < 0)
			continue;
		remove_if_left(path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

// Map and lock @file, which is open.
static bool lock_file(const struct gorgon_file *file, void **ret)
{
	void *page;

	if (flock(file->fd, LOCK_EX | LOCK_NB))
		return false;
	page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, file->fd, 0);
	if (page == MAP_FAILED)
		return false;
	if (gorgon_file_is_ours(file)) {
		*ret = page;
		return true;
	}
	munmap(page, 1);
	errno = EBADF;
	return false;
}

// The file gets its name after it is locked, so that no other process sees it without a lock.
static struct gorgon_error *lock_folder(const char *path, void **ret)
{
	struct gorgon_error *err = NULL;
	struct gorgon_file file;
	char *name, *early;
	int errnum;

	if (asprintf(&name, "%s/" LOCK, path) < 0)
		return &gorgon_error_nomem;
	if (asprintf(&early, "%s/" EARLY, path) < 0) {
		free(name);
		return &gorgon_error_nomem;
	}
	// Open for writing, which some file systems demand for a lock.
	errnum = gorgon_file_adopt(open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), &file);
	if (!errnum && (!lock_file(&file, ret) || rename(early, name)))
		errnum = errno;
	if (errnum)
		err = gorgon_error_create_os(errnum, "%s", name);
	gorgon_file_close(&file);
	free(early);
	free(name);
	return err;
}

static struct gorgon_error *make_folder(char *path)
{
	struct gorgon_error *err;
	void *lock = NULL;

	if (!mkdtemp(path))
		return gorgon_error_create_os(errno, "%s", path);
	if ((err = lock_folder(path, &lock))) {
		if (lock)
			munmap(lock, 1);
		remove_tree(path);
		return err;
	}
	// A forked child leaves its parent's lock alone.
	if (folder_lock)
		munmap(folder_lock, 1);
	free(folder);
	folder = path;
	folder_lock = lock;
	folder_pid = getpid();
	return NULL;
}

static struct gorgon_error *check_base(const char *base)
{
	struct stat st;

	if (stat(base, &st))
		return NULL; // making a folder there will fail and say why
	// Systems that let groups write by default give each user a group of their own.
	if ((!st.st_uid || st.st_uid == geteuid()) &&
	    (st.st_mode & S_ISVTX || !(st.st_mode & (st.st_gid == getegid() ? 002 : 022))))
		return NULL;
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "%s: copies of libraries would not be safe there: others may "
				   "replace them (owner %u, mode %o)",
				   base, st.st_uid, st.st_mode & 07777);
}

struct gorgon_error *gorgon_folder_get(const char **ret)
{
	const char *base = gorgon_secure_getenv("TMPDIR", NULL);
	struct gorgon_error *err;
	char *path;

	if (folder && folder_pid == getpid()) {
		*ret = folder;
		return NULL;
	}
	base = base && *base ? base : "/tmp";
	if ((err = check_base(base)))
		return err;
	remove_left(base);
	if (asprintf(&path, "%s/" PREFIX "XXXXXX", base) < 0)
		return &gorgon_error_nomem;
	if ((err = make_folder(path)))
		free(path);
	else
		*ret = folder;
	return err;
}
