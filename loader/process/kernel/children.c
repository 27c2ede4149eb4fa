// SPDX-License-Identifier: MIT
// Child processes of a namespace: the functions that private code gets, its SIGCHLD, and what
// becomes of its children at its end. children_list.c says what is known of children.

#define _GNU_SOURCE
#include "children.h"
#include "fork.h"
#include "ns/ns.h"
#include "signals.h"

#include <unistd.h>

#define LOOKED_AT_MAX 64 // the number of a namespace's children that are looked at for one signal

static bool has_news(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return !waitid(P_PID, (id_t)pid, &info,
		       WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

// One SIGCHLD may stand for several that came at once. So it concerns a child of ours, too, when
// the kernel has something to tell of that child. A signal about a child that nobody has noted may
// concern anybody.
static bool children_concerns(void *ctx, pid_t pid)
{
	struct gorgon_child child, list[LOOKED_AT_MAX];
	const struct gorgon_children *owner = gorgon_children_owner(pid, &child);
	size_t count;

	if (owner == ctx || !child.serial)
		return true;
	count = gorgon_children_list(ctx, 0, list, LOOKED_AT_MAX);
	for (size_t i = 0; i < count; i++)
		if (has_news(list[i].pid))
			return true;
	return count == LOOKED_AT_MAX;
}

// --- the part ------------------------------------------------------------------------------------

static bool children_begin(void *state, struct gorgon_ns *ns)
{
	struct gorgon_children *children = state;

	children->ns = ns;
	children->pid = getpid();
	if (ns->signals)
		gorgon_signals_filter_children(ns->signals, children_concerns, children);
	return true;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) || info.si_pid == pid;
}

// Wait for the children that have ended; the others become orphans.
static void children_stop(void *state)
{
	struct gorgon_children *children = state;
	struct gorgon_child child = {0};
	bool orphans = false;

	if (!gorgon_children_are_ours(children))
		return;
	while (gorgon_children_list(children, child.serial, &child, 1)) {
		if (has_ended(child.pid)) {
			gorgon_children_forget(child);
			continue;
		}
		orphans |= gorgon_children_list_orphan(child);
	}
	if (orphans)
		gorgon_children_watch();
}

static void after_fork(bool child)
{
	if (child)
		gorgon_children_making_in_child();
	gorgon_children_list_after_fork(child);
}

static void in_child(void *state)
{
	struct gorgon_children *children = state;

	children->waiting = 0;
	if (gorgon_fork_keeps(children->ns))
		children->pid = getpid();
}

static const struct gorgon_bound bound[] = {
	{"fork", gorgon_children_fork, 0, 0, GORGON_OWN,
	 "the child is the program's own; handlers of other copies, which would wait for threads "
	 "that are not there, do not run"},
	{"forkpty", gorgon_children_forkpty, 4, 0, GORGON_OWN, "as fork"},
	{"vfork", gorgon_children_vfork, 0, 0, GORGON_OWN, "the child is the program's own"},
	{"posix_spawn", gorgon_children_spawn, 6, 0, GORGON_OWN, "the child is the program's own"},
	{"posix_spawnp", gorgon_children_spawnp, 6, 0, GORGON_OWN, "as posix_spawn"},
	{"system", gorgon_children_system, 1, 0, GORGON_OWN,
	 "the child is the program's own and has its environment; SIGINT is kept from the calling "
	 "thread, not from other programs"},
	{"wait", gorgon_children_wait, 1, 0, GORGON_OWN, "waits for the program's own children"},
	{"wait3", gorgon_children_wait3, 3, 0, GORGON_OWN, "as wait"},
	{"wait4", gorgon_children_wait4, 4, 0, GORGON_OWN, "as waitpid"},
	{"waitpid", gorgon_children_waitpid, 3, 0, GORGON_OWN,
	 "waits for the program's own children; another program's is no child (ECHILD)"},
	{"waitid", gorgon_children_waitid, 4, 0, GORGON_OWN, "as waitpid"},
};

const struct gorgon_part gorgon_children_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_children),
	.begin = children_begin,
	.stop = children_stop,
	.end = children_stop, // for children that threads have made after the program's end
	.before_fork = gorgon_children_list_before_fork,
	.after_fork = after_fork,
	.in_child = in_child,
};
