// SPDX-License-Identifier: MIT
// The list of views, which handlers read at any time on any thread, without a lock.
//
// Views are added at the head of the list with release stores; a view that goes is unlinked, and
// freed when no reader on another thread can still have it. An action can be replaced on one thread
// while a handler on another thread reads it, so handlers read one atomic word of an action
// (`action_word`). A handler may leave by siglongjmp() (handlers of cysignals do, for each error
// that PARI reports): so the handler of the thread's own view is called when the dispatcher no
// longer reads.

#define _GNU_SOURCE
#include "signal_views.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static unsigned readers; // on all threads; atomic

static __thread unsigned depth __attribute__((tls_model("initial-exec"))); // of this thread's
static __thread struct gorgon_signals *entered __attribute__((tls_model("initial-exec")));

void gorgon_views_begin_read(void)
{
	__atomic_add_fetch(&readers, 1, __ATOMIC_ACQ_REL);
	depth++;
}

void gorgon_views_end_read(void)
{
	depth--;
	__atomic_sub_fetch(&readers, 1, __ATOMIC_ACQ_REL);
}

void gorgon_views_wait_for_readers(void)
{
	while (__atomic_load_n(&readers, __ATOMIC_ACQUIRE) > depth)
		sched_yield();
}

void gorgon_views_in_child(void)
{
	readers = depth;
}

struct gorgon_signals *gorgon_views_entered(void)
{
	return entered;
}

struct gorgon_signals *gorgon_views_of_thread(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return entered ?: thread && thread->ns ? thread->ns->signals : NULL;
}

bool gorgon_views_is_here(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE) &&
	       pthread_equal(view->thread, pthread_self());
}

bool gorgon_signals_handles_interrupts(const struct gorgon_signals *view)
{
	return is_function(action_of(view, SIGINT));
}

bool gorgon_signals_delivers(const struct gorgon_signals *view)
{
	return view->deliver;
}

pid_t gorgon_signals_tid(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->tid, __ATOMIC_RELAXED);
}

int gorgon_signals_ended_by(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->ended_by, __ATOMIC_RELAXED);
}

int gorgon_signals_missed(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->missed, __ATOMIC_RELAXED);
}

bool gorgon_signals_ignores(const struct gorgon_signals *view, int number)
{
	return action_of(view, number) == (action_word)SIG_IGN;
}

void gorgon_signals_filter_children(struct gorgon_signals *view, gorgon_signals_filter *concerns,
				    void *ctx)
{
	view->concerns_ctx = ctx;
	__atomic_store_n(&view->concerns, concerns, __ATOMIC_RELEASE);
}

void gorgon_signals_be_worker(struct gorgon_signals *view)
{
	view->is_worker = true;
}

void gorgon_signals_deny(struct gorgon_signals *view)
{
	view->denied = true;
}

struct gorgon_signals *gorgon_signals_enter(struct gorgon_signals *view)
{
	struct gorgon_signals *outer = entered;

	entered = view;
	view->thread = pthread_self();
	__atomic_store_n(&view->tid, gettid(), __ATOMIC_RELAXED);
	__atomic_store_n(&view->has_thread, true, __ATOMIC_RELEASE);
	return outer;
}

void gorgon_signals_leave(struct gorgon_signals *view, struct gorgon_signals *outer, bool last)
{
	if (last) {
		__atomic_store_n(&view->has_thread, false, __ATOMIC_RELEASE);
		// The thread may end now: no dispatcher may still send it a signal.
		gorgon_views_wait_for_readers();
	}
	entered = outer;
}

void gorgon_signals_silence(struct gorgon_signals *view)
{
	__atomic_store_n(&view->deliver, false, __ATOMIC_RELEASE);
}
