// SPDX-License-Identifier: MIT The locks of interpreters around fork(). They are taken kind by
// kind, in the order of docs/architecture.md: the locks of all interpreters' calls, then the
// leaves. So no leaf is held while another lock is taken.

#define _GNU_SOURCE
#include "dl/atfork.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/kernel/fork.h"
#include "python/calls/held.h"
#include "python/calls/interp.h"
#include "python/lines/lines.h"

#include <unistd.h>

static struct gorgon_interp *own_python; // under the loader's lock

static void for_each_interp(void (*fn)(struct gorgon_interp *interp, bool child), bool child)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		if (ns->user.ctx)
			fn(ns->user.ctx, child);
	if (own_python)
		fn(own_python, child);
}

static void lock_calls_of(struct gorgon_interp *interp, bool child)
{
	(void)child;
	gorgon_calls_before_fork(&interp->calls);
}

static void lock_shared_refs_of(struct gorgon_interp *interp, bool child)
{
	(void)child;
	pthread_mutex_lock(&interp->shared_refs.lock);
}

static void interps_before_fork(void)
{
	for_each_interp(lock_calls_of, false);
	for_each_interp(lock_shared_refs_of, false);
	gorgon_held_lock();
}

// Threads that code of the interpreter had started, and that are not in this child.
static bool has_lost_threads(const struct gorgon_interp *interp)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return interp->ns->thread_count > (thread && thread->ns == interp->ns);
}

// Python takes the thread that has forked for the main one of its child. What debuggers read is the
// number that the thread has here.
static void show_forker(struct gorgon_interp *interp)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();
	bool is_caller = gorgon_fork_caller() == interp->ns,
	     is_main = is_caller || (thread && thread->tid == interp->ns->debug.thread);

	if (is_caller && thread)
		interp->calls.main_thread = thread->serial;
	if (interp->ns->debug.thread)
		gorgon_interp_show_thread(interp, is_main ? (uint64_t)gettid() : 0);
}

static void release_interp(struct gorgon_interp *interp, bool child)
{
	pthread_mutex_unlock(&interp->shared_refs.lock);
	// Other threads do not exist in the child. The thread that has forked from within a call
	// leaves it.
	if (child) {
		interp->held.users = 0;
		interp->held.call_pending = false;
	}
	// A CPython that forks by itself puts in order what its threads have left.
	if (child && gorgon_fork_caller() != interp->ns && has_lost_threads(interp))
		gorgon_calls_lose(&interp->calls);
	gorgon_calls_after_fork(&interp->calls, child);
	if (gorgon_fork_caller() == interp->ns)
		interp->calls.lost = interp->calls.unsure = false;
	if (child && gorgon_fork_keeps(interp->ns))
		interp->calls.pid = getpid();
	if (child)
		show_forker(interp);
}

static void interps_after_fork(bool child)
{
	for_each_interp(release_interp, child);
	gorgon_held_after_fork(child);
	if (child)
		gorgon_lines_in_child();
}

void gorgon_interp_join_fork(struct gorgon_interp *host)
{
	static const struct gorgon_atfork locks = {interps_before_fork, interps_after_fork};

	if (host)
		own_python = host;
	gorgon_atfork_join(&locks);
}
