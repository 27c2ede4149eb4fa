// SPDX-License-Identifier: MIT
// /proc/self for programs with descriptors and a current directory of their own.
//
// /proc/self is the process, and there the kernel shows what the process's first thread has:
// not what such a program has. /proc/thread-self shows what the calling thread has. So where
// private code names a file below /proc/self that differs from thread to thread (fd, fdinfo, cwd,
// root), or /dev/fd, /dev/stdin and the like, which lead there, the name is changed on its way.
// The process's number in place of `self` means the same.
//
// What it says of children is the work of proc_children.c.
//
// Not handled: other ways to such a file (openat() from a descriptor of /proc/self, symbolic
// links), files that shared libraries open themselves (but see tools/streams.c), and other
// processes: under this process's number they see the first thread's files.

#define _GNU_SOURCE
#include "children.h"
#include "files.h"
#include "proc_children.h"
#include "ns/ns.h"
#include "process/libc/streams.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// A changed name is longer than the name it replaces. Only short names, of a few digits, are
// changed.
#define NAME_SIZE 128

struct proc_paths {
	const struct gorgon_program_files *files;
	struct gorgon_streams *streams;
	const struct gorgon_children *children;
};

static bool proc_paths_begin(void *state, struct gorgon_ns *ns)
{
	*(struct proc_paths *)state = (struct proc_paths){
		.files = gorgon_parts_state(ns->parts, &gorgon_files_part),
		.streams = gorgon_parts_state(ns->parts, &gorgon_streams_part),
		.children = gorgon_parts_state(ns->parts, &gorgon_children_part),
	};
	return true;
}

// The rest of @path behind @prefix, if that is empty or begins with a slash; otherwise NULL.
static const char *after(const char *path, const char *prefix)
{
	size_t size = strlen(prefix);

	if (strncmp(path, prefix, size) || (path[size] && path[size] != '/'))
		return NULL;
	return path + size;
}

static bool differs_by_thread(const char *name)
{
	return after(name, "fd") || after(name, "fdinfo") || after(name, "cwd") ||
	       after(name, "root");
}

// "fd/3" of "/proc/self/fd/3" and "/proc/1234/fd/3"; or NULL.
static const char *below_self(const char *path)
{
	const char *rest;
	char *end;

	if (strncmp(path, "/proc/", 6))
		return NULL;
	path += 6;
	rest = after(path, "self");
	if (!rest && *path >= '1' && *path <= '9' && strtol(path, &end, 10) == getpid())
		rest = end;
	return rest && *rest == '/' && differs_by_thread(rest + 1) ? rest + 1 : NULL;
}

// The name to use for @path; @buffer has NAME_SIZE bytes.
static const char *proc_paths_translate(const struct proc_paths *state, const char *path,
					char *buffer)
{
	static const struct {
		const char *name, *means;
	} devices[] = {
		{"/dev/fd", "fd"},
		{"/dev/stdin", "fd/0"},
		{"/dev/stdout", "fd/1"},
		{"/dev/stderr", "fd/2"},
	};
	const char *rest = NULL, *means = "";

	if (!path || *path != '/' || !__atomic_load_n(&state->files->own, __ATOMIC_ACQUIRE))
		return path;
	if (path[1] == 'd') {
		for (size_t i = 0; !rest && i < sizeof(devices) / sizeof(*devices); i++) {
			rest = after(path, devices[i].name);
			means = devices[i].means;
		}
	} else {
		rest = below_self(path);
	}
	if (!rest || strlen(rest) > NAME_SIZE / 2)
		return path;
	snprintf(buffer, NAME_SIZE, "/proc/thread-self/%s%s", means, rest);
	return buffer;
}

// --- functions ------------------------------------------------------------------------------

// Each function changes its path and calls the C library's function of that name. Some names are
// only in newer releases of the C library (stat), and some serve programs that were linked with
// older releases (__xstat): they are looked up at run time.
//
//	P(type, name, before, path, after): parameters and arguments before and behind the path
#define FUNCTION(type, name, parameters, path, ...)               \
	static type own_##name parameters                         \
	{                                                         \
		char buffer[NAME_SIZE];                           \
                                                                  \
		path = proc_paths_translate(state, path, buffer); \
		return name(__VA_ARGS__);                         \
	}

#define ST const struct proc_paths *state

static int own_openat(int at, const char *path, int flags, mode_t mode, ST)
{
	char buffer[NAME_SIZE];
	int ret;

	if (gorgon_proc_children_open(state->children, path, flags, &ret))
		return ret;
	return openat(at, proc_paths_translate(state, path, buffer), flags, mode);
}

// In the C library since 2.43.
static int own_openat2(int at, const char *path, const void *how, size_t size, ST)
{
	char buffer[NAME_SIZE];

	return (int)syscall(SYS_openat2, at, proc_paths_translate(state, path, buffer), how, size);
}

static int own_open(const char *path, int flags, mode_t mode, ST)
{
	return own_openat(AT_FDCWD, path, flags, mode, state);
}

FUNCTION(int, creat, (const char *path, mode_t mode, ST), path, path, mode)
FUNCTION(DIR *, opendir, (const char *path, ST), path, path)
FUNCTION(ssize_t, readlink, (const char *path, char *target, size_t size, ST), path, path, target,
	 size)
FUNCTION(ssize_t, readlinkat, (int at, const char *path, char *target, size_t size, ST), path, at,
	 path, target, size)
FUNCTION(int, stat, (const char *path, struct stat *ret, ST), path, path, ret)
FUNCTION(int, lstat, (const char *path, struct stat *ret, ST), path, path, ret)
FUNCTION(int, fstatat, (int at, const char *path, struct stat *ret, int flags, ST), path, at, path,
	 ret, flags)
FUNCTION(int, statx,
	 (int at, const char *path, int flags, unsigned mask, struct statx *ret, ST), path, at,
	 path, flags, mask, ret)
FUNCTION(int, access, (const char *path, int mode, ST), path, path, mode)
FUNCTION(int, faccessat, (int at, const char *path, int mode, int flags, ST), path, at, path, mode,
	 flags)
FUNCTION(char *, realpath, (const char *path, char *target, ST), path, path, target)
FUNCTION(int, chdir, (const char *path, ST), path, path)
FUNCTION(int, scandir,
	 (const char *path, struct dirent ***ret, int (*filter)(const struct dirent *),
	  int (*compare)(const struct dirent **, const struct dirent **), ST),
	 path, path, ret, filter, compare)

static FILE *own_fopen(const char *path, const char *mode, const struct proc_paths *state)
{
	int fd = -1, flags = strchr(mode, '+') || *mode != 'r' ? O_RDWR : O_RDONLY;
	char buffer[NAME_SIZE];
	FILE *file;

	if (strchr(mode, 'e'))
		flags |= O_CLOEXEC;
	if (!gorgon_proc_children_open(state->children, path, flags, &fd))
		file = fopen(proc_paths_translate(state, path, buffer), mode);
	else
		file = fd < 0 ? NULL : fdopen(fd, mode);
	return gorgon_streams_note(state->streams, file);
}

static int own_open_checked(const char *path, int flags, const struct proc_paths *state)
{
	return own_open(path, flags, 0, state);
}

static int own_openat_checked(int at, const char *path, int flags, const struct proc_paths *state)
{
	return own_openat(at, path, flags, 0, state);
}

static ssize_t own_readlink_checked(const char *path, char *target, size_t size, size_t room,
				    const struct proc_paths *state)
{
	if (size > room)
		abort(); // as the C library does, after a message
	return own_readlink(path, target, size, state);
}

static ssize_t own_readlinkat_checked(int at, const char *path, char *target, size_t size,
				      const struct proc_paths *state)
{
	return own_readlinkat(at, path, target, size, state);
}

static char *own_realpath_checked(const char *path, char *target, size_t room,
				  const struct proc_paths *state)
{
	if (room < PATH_MAX)
		abort();
	return own_realpath(path, target, state);
}

// Programs that were linked with glibc 2.32 or older call these. The first argument is the version
// of the structure; x86-64 has only one version.
static int own_xstat(int version, const char *path, struct stat *ret,
		     const struct proc_paths *state)
{
	(void)version;
	return own_stat(path, ret, state);
}

static int own_lxstat(int version, const char *path, struct stat *ret,
		      const struct proc_paths *state)
{
	(void)version;
	return own_lstat(path, ret, state);
}

static int own_fxstatat(int version, int at, const char *path, struct stat *ret, int flags,
			const struct proc_paths *state)
{
	(void)version;
	return own_fstatat(at, path, ret, flags, state);
}

#define BOUND(name, target, args)                                                    \
	{#name,                                                                      \
	 target,                                                                     \
	 args,                                                                       \
	 0,                                                                          \
	 GORGON_OWN,                                                                 \
	 "a program with descriptors and a current directory of its own finds them " \
	 "below /proc/self and /dev/fd"}

// off_t has 64 bits here, so names with 64 are the same functions.
static const struct gorgon_bound bound[] = {
	BOUND(open, own_open, 3),
	BOUND(open64, own_open, 3),
	BOUND(__open_2, own_open_checked, 2),
	BOUND(__open64_2, own_open_checked, 2),
	BOUND(openat, own_openat, 4),
	BOUND(openat64, own_openat, 4),
	BOUND(__openat_2, own_openat_checked, 3),
	BOUND(__openat64_2, own_openat_checked, 3),
	BOUND(openat2, own_openat2, 4),
	BOUND(creat, own_creat, 2),
	BOUND(creat64, own_creat, 2),
	BOUND(fopen, own_fopen, 2),
	BOUND(fopen64, own_fopen, 2),
	BOUND(opendir, own_opendir, 1),
	BOUND(scandir, own_scandir, 4),
	BOUND(scandir64, own_scandir, 4),
	BOUND(readlink, own_readlink, 3),
	BOUND(__readlink_chk, own_readlink_checked, 4),
	BOUND(readlinkat, own_readlinkat, 4),
	BOUND(__readlinkat_chk, own_readlinkat_checked, 4),
	BOUND(realpath, own_realpath, 2),
	BOUND(__realpath_chk, own_realpath_checked, 3),
	BOUND(stat, own_stat, 2),
	BOUND(stat64, own_stat, 2),
	BOUND(lstat, own_lstat, 2),
	BOUND(lstat64, own_lstat, 2),
	BOUND(fstatat, own_fstatat, 4),
	BOUND(fstatat64, own_fstatat, 4),
	BOUND(statx, own_statx, 5),
	BOUND(__xstat, own_xstat, 3),
	BOUND(__xstat64, own_xstat, 3),
	BOUND(__lxstat, own_lxstat, 3),
	BOUND(__lxstat64, own_lxstat, 3),
	BOUND(__fxstatat, own_fxstatat, 5),
	BOUND(__fxstatat64, own_fxstatat, 5),
	BOUND(access, own_access, 2),
	BOUND(faccessat, own_faccessat, 4),
	BOUND(chdir, own_chdir, 1),
};

const struct gorgon_part gorgon_proc_paths_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct proc_paths),
	.begin = proc_paths_begin,
	.title = "Files and directories by path",
};
