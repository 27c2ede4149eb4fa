// SPDX-License-Identifier: MIT
// fork(): all locks of the library are taken before it and released after it, so that the
// child's lists are whole. In the child, what the parent's other threads had is forgotten.
//
// The order is that of the locks: the loader's lock (lock.c) comes first, and libjitreg's last. libjitreg registers
// its own handlers in an earlier constructor; handlers for before fork() run in the opposite order of their
// registration. The locks in between are leaves, except that of jit_mirror.c, which has only libjitreg's below it, and those of an
// interpreter's calls and of the list of threads, which are taken in this order. The lock of the debug root need not be taken (../ns/debug_root.c).

#define _GNU_SOURCE
#include "atfork.h"
#include "load/init.h"
#include "base/lock.h"
#include "debug/debug_mode.h"
#include "process/heap.h"
#include "ns/ns.h"
#include "process/signals.h"
#include "ns/thread.h"
#include "process/thread_exit.h"
#include "ns/unwind.h"
#include "process/part.h"

static void before_fork_of_namespaces(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		gorgon_heap_before_fork(gorgon_parts_state(ns->parts, &gorgon_heap_part));
		if (ns->user.before_fork)
			ns->user.before_fork(ns->user.ctx);
	}
}

static void after_fork_of_namespaces(bool child)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		if (ns->user.after_fork)
			ns->user.after_fork(ns->user.ctx, child);
		gorgon_heap_after_fork(gorgon_parts_state(ns->parts, &gorgon_heap_part));
	}
}

void gorgon_before_fork(void)
{
	gorgon_lock_before_fork();
	before_fork_of_namespaces();
	gorgon_threads_lock();
	gorgon_signals_before_fork();
	gorgon_parts_before_fork();
}

// fork() leaves the child only the calling thread: the others that private code had started are gone.
static void reset_namespaces(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		ns->thread_count = thread && thread->ns == ns;
		gorgon_parts_in_child(ns->parts);
	}
}

void gorgon_after_fork(bool child)
{
	gorgon_parts_after_fork(child);
	gorgon_signals_after_fork(child);
	gorgon_threads_unlock();
	after_fork_of_namespaces(child);
	if (child) {
		gorgon_unwind_after_fork();
		gorgon_thread_after_fork();
		reset_namespaces();
		gorgon_init_after_fork();
		gorgon_debug_mode_after_fork();
	}
	gorgon_lock_after_fork(child);
}

static void after_fork_parent(void)
{
	gorgon_after_fork(false);
}

static void after_fork_child(void)
{
	gorgon_after_fork(true);
}

// 200: after libjitreg's constructor, before the constructors of the library's users.
__attribute__((constructor(200))) static void init(void)
{
	pthread_atfork(gorgon_before_fork, after_fork_parent, after_fork_child);
}
