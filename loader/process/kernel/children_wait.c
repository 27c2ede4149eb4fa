// SPDX-License-Identifier: MIT
// Waiting for children: wait(2), waitid(2), and gorgon_waitpid() for the host.
//
// The kernel is asked about each child by its number, so that what it says of stopped children,
// WNOWAIT and resources holds. When none is ready the thread sleeps on a futex, which signal
// handlers interrupt as they interrupt wait(): EINTR, or not where they were installed with
// SA_RESTART. The thread of children_watch.c wakes it when a child ends; a child that another
// thread makes meanwhile counts, too.
//
// Only SIGCHLD and wait() itself tell of children that stop or continue. A thread that waits for
// stopped children looks 20 times a second, and gets EINTR from any handler. A thread of the host
// does that always: the host's children are not noted, they are the children in /proc that no
// interpreter has made.
//
// Sleeping is no cancellation point here.

#define _GNU_SOURCE
#include "children.h"
#include "gorgon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT4_OPTIONS  (WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL)
#define WAITID_OPTIONS \
	(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL)
#define BATCH	       64
#define AGAIN_MS       50

// The children to wait for, and the place for the result.
struct request {
	pid_t group; // 0: all
	int options;
	bool by_id; // waitid(): `info`, otherwise `status` and `usage`
	int *status;
	struct rusage *usage;
	siginfo_t *info;
};

// --- one child -----------------------------------------------------------------------------------

static int ask_id(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}

static bool is_end(const siginfo_t *info)
{
	return info->si_pid && (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
				info->si_code == CLD_DUMPED);
}

// A child of a kind or thread that the options leave out still counts as a child: no ECHILD for it.
static bool is_gone(int options)
{
	return errno == ECHILD && !(options & (__WNOTHREAD | __WCLONE));
}

// How a child ended that its owner does not want is not told: wait(2), "NOTES".
static pid_t keep_quiet(struct gorgon_child child, int *errnum, pid_t ret)
{
	if (!child.unwanted)
		return ret;
	*errnum = ECHILD;
	return -1;
}

// wait4() for one child, which is forgotten once it has been waited for.
static pid_t ask_status(struct gorgon_child child, pid_t pid, const struct request *request,
			int options)
{
	int status, saved;
	pid_t ret = wait4(pid, &status, options, request->usage);

	saved = errno;
	if (ret > 0 ? WIFEXITED(status) || WIFSIGNALED(status) : ret < 0 && is_gone(options)) {
		gorgon_children_forget(child);
		ret = keep_quiet(child, &saved, ret);
	}
	if (ret > 0 && request->status)
		*request->status = status;
	errno = saved;
	return ret;
}

// Ask for a child by waitid(): returns 1 when it has been found.
static pid_t ask_info(struct gorgon_child child, idtype_t type, id_t id,
		      const struct request *request, int options)
{
	siginfo_t info = {.si_pid = 0};
	int err = ask_id(type, id, &info, options), saved = errno;

	if (err ? is_gone(options) : is_end(&info)) {
		if (!(options & WNOWAIT) || err)
			gorgon_children_forget(child);
		err = keep_quiet(child, &saved, err);
	}
	if (!err && request->info)
		*request->info = info;
	errno = saved;
	return err ? -1 : info.si_pid != 0;
}

static pid_t wait_ask(struct gorgon_child child, const struct request *request)
{
	int options = request->options | WNOHANG;

	return request->by_id ? ask_info(child, P_PID, (id_t)child.pid, request, options)
			      : ask_status(child, child.pid, request, options);
}

// --- any child ----------------------------------------------------------------------------------

// Ask about each child. 0: none is ready; -1 with ECHILD: there is no child.
static pid_t wait_look(const struct gorgon_children *children, const struct request *request)
{
	struct gorgon_child list[BATCH];
	uint64_t after = 0;
	bool any = false;
	size_t count;

	do {
		count = gorgon_children_list(children, after, list, BATCH);
		for (size_t i = 0; i < count; i++) {
			pid_t ret;

			after = list[i].serial;
			if (request->group && getpgid(list[i].pid) != request->group)
				continue;
			ret = wait_ask(list[i], request);
			if (ret > 0 || (ret < 0 && errno != ECHILD))
				return ret;
			any |= !ret;
		}
	} while (count == BATCH);
	if (any)
		return 0;
	errno = ECHILD;
	return -1;
}

// Sleep until @children->ended is not @ended any more. False: a signal handler has run.
static bool sleep_until_change(struct gorgon_children *children, uint32_t ended, bool limited)
{
	const struct timespec limit = {0, AGAIN_MS * 1000000};

	return !syscall(SYS_futex, &children->ended, FUTEX_WAIT_PRIVATE, ended,
			limited ? &limit : NULL, NULL, 0) ||
	       errno != EINTR;
}

// @refresh: called before each look, or NULL; false when it does not know all of them.
static pid_t wait_any(struct gorgon_children *children, const struct request *request,
		      bool (*refresh)(struct gorgon_children *))
{
	bool limited = refresh || request->options & (WUNTRACED | WCONTINUED), sleeps = false, all;
	int saved;
	pid_t ret;

	for (;;) {
		uint32_t ended = __atomic_load_n(&children->ended, __ATOMIC_ACQUIRE);

		all = !refresh || refresh(children);
		ret = wait_look(children, request);
		if (ret < 0 && errno == ECHILD && !all)
			ret = 0;
		if (ret || request->options & WNOHANG)
			break;
		if (!sleeps) {
			sleeps = true;
			limited |= !gorgon_children_sleep(children);
		} else if (!sleep_until_change(children, ended, limited)) {
			ret = -1;
			break;
		}
	}
	saved = errno;
	if (sleeps)
		gorgon_children_wake_up(children);
	errno = saved;
	return ret;
}

static int wait_fail(int errnum)
{
	errno = errnum;
	return -1;
}

// --- wait4() and its relatives -----------------------------------------------------------------

// A child of another program is ECHILD.
static bool is_anothers(pid_t pid, const struct gorgon_children *children,
			struct gorgon_child *child)
{
	const struct gorgon_children *owner = gorgon_children_owner(pid, child);

	return child->serial && owner != children;
}

static pid_t wait_with(pid_t pid, const struct request *request, struct gorgon_children *children,
		       bool (*refresh)(struct gorgon_children *))
{
	struct request of_group = *request;
	struct gorgon_child child;

	if (request->options & ~WAIT4_OPTIONS)
		return wait_fail(EINVAL);
	if (pid == INT32_MIN)
		return wait_fail(ESRCH);
	if (pid <= 0) {
		of_group.group = pid == -1 ? 0 : pid ? -pid : getpgrp();
		return wait_any(children, &of_group, refresh);
	}
	if (is_anothers(pid, children, &child))
		return wait_fail(ECHILD);
	return ask_status(child, pid, request, request->options);
}

pid_t gorgon_children_wait4(pid_t pid, int *status, int options, struct rusage *usage,
			    struct gorgon_children *children)
{
	struct request request = {.options = options, .status = status, .usage = usage};

	if (!gorgon_children_are_ours(children))
		return wait4(pid, status, options, usage);
	return wait_with(pid, &request, children, NULL);
}

pid_t gorgon_children_wait3(int *status, int options, struct rusage *usage,
			    struct gorgon_children *children)
{
	return gorgon_children_wait4(-1, status, options, usage, children);
}

pid_t gorgon_children_waitpid(pid_t pid, int *status, int options, struct gorgon_children *children)
{
	return gorgon_children_wait4(pid, status, options, NULL, children);
}

pid_t gorgon_children_wait(int *status, struct gorgon_children *children)
{
	return gorgon_children_wait4(-1, status, 0, NULL, children);
}

// --- waitid() --------------------------------------------------------------------------------

// The process that a pidfd of the calling thread refers to, or 0.
static pid_t pid_of(id_t descriptor)
{
	char path[64], text[512], *line;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%u", descriptor);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	line = strstr(text, "\nPid:");
	return line ? (pid_t)strtol(line + 5, NULL, 10) : 0;
}

static int wait_for_one(idtype_t type, id_t id, const struct request *request,
			const struct gorgon_children *children)
{
	pid_t pid = type == P_PID ? (pid_t)id : pid_of(id);
	struct gorgon_child child = {0};

	if (pid > 0 && is_anothers(pid, children, &child))
		return wait_fail(ECHILD);
	return ask_info(child, type, id, request, request->options) < 0 ? -1 : 0;
}

int gorgon_children_waitid(idtype_t type, id_t id, siginfo_t *info, int options,
			   struct gorgon_children *children)
{
	struct request request = {.options = options, .by_id = true, .info = info};

	if (!gorgon_children_are_ours(children) || (options & ~WAITID_OPTIONS) ||
	    !(options & (WEXITED | WSTOPPED | WCONTINUED)))
		return waitid(type, id, info, options);
	if (type == P_PID || type == P_PIDFD)
		return wait_for_one(type, id, &request, children);
	if (type == P_PGID)
		request.group = id ? (pid_t)id : getpgrp();
	else if (type != P_ALL)
		return wait_fail(EINVAL);
	if (request.group < 0)
		return wait_fail(EINVAL);
	if (info) // as waitid(2) leaves it when no child is ready
		info->si_pid = info->si_signo = 0;
	return wait_any(children, &request, NULL) < 0 ? -1 : 0;
}

// --- the host's ------------------------------------------------------------------------------

static struct gorgon_children host;

#define ADOPTED 512 // the most children that are looked at in a call

// Find children that nobody has noted.
struct unknown {
	pid_t pids[ADOPTED];
	size_t count;
};

static void add_unknown(struct unknown *unknown, pid_t pid)
{
	struct gorgon_child child;

	if (!pid || unknown->count == ADOPTED)
		return;
	gorgon_children_owner(pid, &child);
	if (!child.serial)
		unknown->pids[unknown->count++] = pid;
}

// Read numbers with a space behind each from an open file.
static void read_children(int fd, struct unknown *unknown)
{
	char text[512];
	pid_t pid = 0;
	ssize_t size;

	while ((size = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < size; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			add_unknown(unknown, pid);
			pid = 0;
		}
	}
}

// Read the children of one thread, whose folder in @tasks is @name. A thread that has ended has
// left its children to another thread.
static void read_thread(int tasks, const char *name, struct unknown *unknown)
{
	char path[NAME_MAX + 16];
	int fd;

	stpcpy(stpcpy(path, name), "/children");
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	read_children(fd, unknown);
	close(fd);
}

// opendir() allocates, and the host may ask in a signal handler.
struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void read_threads(int tasks, struct unknown *unknown)
{
	_Alignas(struct entry) char buffer[2048];
	long size;

	while ((size = syscall(SYS_getdents64, tasks, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < size;) {
			const struct entry *entry = (const void *)(buffer + at);

			if (*entry->name != '.')
				read_thread(tasks, entry->name, unknown);
			at += entry->size;
		}
	}
}

// A child is the host's if no interpreter has noted it once all children that were being made are
// noted.
static bool refresh_host(struct gorgon_children *children)
{
	int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unknown unknown = {.count = 0};

	if (tasks < 0)
		return true;
	read_threads(tasks, &unknown);
	close(tasks);
	if (unknown.count && !gorgon_children_settle())
		return false;
	for (size_t i = 0; i < unknown.count; i++)
		gorgon_children_note_unknown(children, unknown.pids[i]);
	return unknown.count < ADOPTED;
}

pid_t gorgon_waitpid(pid_t pid, int *status, int options)
{
	struct request request = {.options = options, .status = status};

	__atomic_store_n(&host.pid, getpid(), __ATOMIC_RELAXED);
	if (pid <= 0 && access("/proc/thread-self/children", R_OK))
		return wait_fail(ENOSYS);
	return wait_with(pid, &request, &host, refresh_host);
}
