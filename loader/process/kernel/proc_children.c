// SPDX-License-Identifier: MIT
// What /proc says of children, for programs that look there for their own, as psutil's children()
// does: it reads the parent of each process.
//
// The children of all interpreters have one parent, this process. In a process of its own a
// program would see the children of its neighbours as children of another process. So where
// private code opens /proc/PID/stat or /proc/PID/status of a child that another namespace has
// made, or that has become an orphan, it gets the file with this process's parent in place of this
// process. Lists of children (/proc/self/task/TID/children) come without them. Such a file is in
// memory: the kernel's, as it was when it was opened.
//
// Not handled: children that are not noted (children_list.c), which are the host's, or of clone()
// and popen(); a directory that is opened first (openat(), chdir()); a status of more than a page.

#define _GNU_SOURCE
#include "proc_children.h"
#include "children.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM 4096 // a page, which is the most that the kernel hands out of such a file at once

enum kind { NOT_OURS, STAT, STATUS, LIST };

static const char *skip(const char *path, const char *part)
{
	size_t size = strlen(part);

	return path && !strncmp(path, part, size) ? path + size : NULL;
}

static const char *skip_number(const char *path, pid_t *ret)
{
	char *end = NULL;

	*ret = path && isdigit(*path) ? (pid_t)strtol(path, &end, 10) : 0;
	return end;
}

// Whether another namespace has made it, or it is an orphan.
static bool is_neighbours(const struct gorgon_children *children, pid_t pid)
{
	struct gorgon_child child;

	return gorgon_children_owner(pid, &child) != children && child.serial;
}

static enum kind kind_of(const struct gorgon_children *children, const char *path)
{
	const char *rest = skip(path, "/proc/"), *process, *task;
	bool here = true;
	pid_t pid, tid;

	if ((process = skip_number(rest, &pid)))
		here = pid == getpid();
	else if (!(process = skip(rest, "self")) && (process = skip(rest, "thread-self")))
		return !strcmp(process, "/children") ? LIST : NOT_OURS;
	if ((task = skip_number(skip(process, "/task/"), &tid)))
		process = task;
	if (!process)
		return NOT_OURS;
	if (here)
		return task && !strcmp(process, "/children") ? LIST : NOT_OURS;
	if (strcmp(process, "/stat") && strcmp(process, "/status"))
		return NOT_OURS;
	return !is_neighbours(children, pid) ? NOT_OURS : process[5] ? STATUS : STAT;
}

// The end of the text before the parent's number, or NULL.
static char *find_parent(char *text, enum kind kind)
{
	if (kind == STATUS)
		return (text = strstr(text, "\nPPid:\t")) ? text + 7 : NULL;
	// "1234 (any name) S 1"; only this process's children come here.
	return (text = strrchr(text, ')')) && strlen(text) > 4 ? text + 4 : NULL;
}

static bool write_with_other_parent(char *text, enum kind kind, int to)
{
	char *parent = find_parent(text, kind), *rest;

	if (!parent || strtol(parent, &rest, 10) != getpid())
		return dprintf(to, "%s", text) >= 0;
	return dprintf(to, "%.*s%d%s", (int)(parent - text), text, (int)getppid(), rest) >= 0;
}

static bool write_own(const struct gorgon_children *children, FILE *from, int to)
{
	bool done = true;
	int pid;

	while (done && fscanf(from, "%d", &pid) == 1)
		done = is_neighbours(children, pid) || dprintf(to, "%d ", pid) >= 0;
	return done && !ferror(from);
}

static bool copy(const struct gorgon_children *children, enum kind kind, FILE *from, int to)
{
	char text[ROOM];

	if (kind == LIST)
		return write_own(children, from, to);
	text[fread(text, 1, sizeof(text) - 1, from)] = 0;
	return !ferror(from) && write_with_other_parent(text, kind, to); // it may have ended
}

static bool fill(const struct gorgon_children *children, enum kind kind, const char *path, int fd)
{
	FILE *from = fopen(path, "re");
	bool done = from && copy(children, kind, from, fd) && !lseek(fd, 0, SEEK_SET);
	int err = errno;

	if (from)
		fclose(from);
	errno = err;
	return done;
}

bool gorgon_proc_children_open(const struct gorgon_children *children, const char *path, int flags,
			       int *ret)
{
	enum kind kind;
	int fd, err;

	if (!path || !skip(path, "/proc/") || !gorgon_children_are_ours(children) ||
	    flags & (O_ACCMODE | O_PATH | O_DIRECTORY))
		return false;
	kind = kind_of(children, path);
	if (kind == NOT_OURS)
		return false;
	*ret = fd = memfd_create("gorgon-children", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd >= 0 && !fill(children, kind, path, fd)) {
		*ret = -1;
		err = errno;
		close(fd);
		errno = err;
	}
	return true;
}
