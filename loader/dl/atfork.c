// SPDX-License-Identifier: MIT fork(): everything that is done before it and after it, in the one
// order in which locks are taken (docs/architecture.md). All locks of the library are taken before
// a fork and released after it, so that the child's lists are whole. In the child, what the
// parent's other threads had is forgotten.
//
// First, and without a lock, the handlers run that private code has registered. Then come the
// linker's lock and the loader's, those of interpreters, of the list of threads, of signals and of
// the parts, and libjitreg's at the end. The lock of the debug root need not be taken
// (../ns/debug_root.c).
//
// The C library runs handlers before fork() in the opposite order of their registration. These are
// registered when this library is loaded, or at its first use in a host that is linked with it
// statically, so that most handlers of a host still find it usable.

#define _GNU_SOURCE
#include "atfork.h"
#include "base/lock.h"
#include "debug/debug_mode.h"
#include "load/init.h"
#include "load/unload.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/unwind.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/memory/heap.h"
#include "process/memory/zone_heap.h"
#include "process/part.h"
#include "process/threads/thread_exit.h"

#include "jitreg.h"

#include <pthread.h>

static const struct gorgon_atfork *above; // under the loader's lock, and kept for good

void gorgon_atfork_join(const struct gorgon_atfork *given)
{
	above = given;
}

static void lock_heaps(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		gorgon_heap_before_fork(gorgon_parts_state(ns->parts, &gorgon_heap_part));
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		gorgon_zone_heap_before_fork(ns->usage.zone_heap);
}

static void unlock_heaps(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		gorgon_zone_heap_after_fork(ns->usage.zone_heap);
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		gorgon_heap_after_fork(gorgon_parts_state(ns->parts, &gorgon_heap_part));
}

void gorgon_before_fork(void)
{
	gorgon_lock_before_fork();
	if (above)
		above->before();
	gorgon_threads_lock();
	lock_heaps();
	gorgon_signals_before_fork();
	gorgon_parts_before_fork();
	jitreg_before_fork();
}

// fork() leaves the child only the calling thread: the others that private code had started are
// gone.
static void reset_namespaces(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		ns->thread_count = thread && thread->ns == ns;
		gorgon_walk_after_fork(ns);
		gorgon_parts_in_child(ns->parts);
	}
}

void gorgon_after_fork(bool child)
{
	jitreg_after_fork();
	gorgon_parts_after_fork(child);
	gorgon_signals_after_fork(child);
	unlock_heaps();
	gorgon_threads_unlock();
	if (above)
		above->after(child);
	if (child) {
		gorgon_unwind_after_fork();
		gorgon_thread_after_fork();
		reset_namespaces();
		gorgon_init_after_fork();
		gorgon_debug_mode_after_fork();
	}
	gorgon_lock_after_fork(child);
}

static void prepare(void)
{
	gorgon_fork_prepare();
	gorgon_before_fork();
}

static void in_parent(void)
{
	gorgon_after_fork(false);
	gorgon_fork_done(false);
}

static void in_child(void)
{
	gorgon_after_fork(true);
	gorgon_fork_done(true);
}

static void register_handlers(void)
{
	jitreg_fork_by_caller();
	pthread_atfork(prepare, in_parent, in_child);
}

__attribute__((constructor)) void gorgon_atfork_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
}
