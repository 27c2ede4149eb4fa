// SPDX-License-Identifier: MIT
// Signals: every namespace has its own view of the dispositions.
//
// A process has one handler per signal. If each copy of CPython installed its handler, only the
// last copy would get Ctrl-C, and after the copy is unmapped the handler would be gone. So
// sigaction() and signal() of private code change a view. While any view has a function for a
// signal, our dispatcher is the process's handler; the host's disposition is kept, and put back
// when no view has a function any more.
//
// A view that has not set a disposition for a signal sees the host's, never another view's: each
// CPython finds SIGINT at its default and installs its KeyboardInterrupt. A view to which no
// signals are delivered sees the default. The view of a worker of a pool gets all signals but
// SIGINT, which is the host's; it sees the default where the host has a handler, and what it
// ignores its process does not.
//
// SIG_IGN in a view (CPython ignores SIGPIPE) holds for the process while the host
// has the default, as with any embedded CPython. SIG_IGN for SIGCHLD does not: the kernel would
// keep no child's status for anybody (children.c).
//
// A vfork() child (subprocess makes one) runs in this memory but has dispositions of its
// own, which it resets before it executes something: its calls go to the kernel directly. What its
// program ignores it finds ignored, and so does the program that it executes (dispositions.c).
//
// signal_views.c has what handlers read of the views, signal_dispatch.c says who gets a signal that
// arrives, dispositions.c what is installed in the process. `lock` orders those who change
// something; it is a leaf, and all signals are blocked while it is held.

#define _GNU_SOURCE
#include "dispositions.h"
#include "fork.h"
#include "signal_dispatch.h"
#include "signal_views.h"
#include "timer_owners.h"
#include "base/masked_lock.h"
#include "ns/ns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before_fork; // the forking thread's mask, under `lock`
static pid_t process;	    // the process whose dispositions these are; atomic

static __thread bool reserving __attribute__((tls_model("initial-exec")));
static __thread sighandler_t reserved __attribute__((tls_model("initial-exec")));

bool gorgon_signals_are_ours(void)
{
	return getpid() == __atomic_load_n(&process, __ATOMIC_RELAXED);
}

static void signals_install(int number)
{
	gorgon_signals_install(number, gorgon_signals_dispatch);
}

// --- timers ---------------------------------------------------------------------------------

bool gorgon_signals_add_timer(struct gorgon_signals *view, int id, int number)
{
	sigset_t saved;
	bool ret;

	gorgon_masked_lock(&lock, &saved);
	ret = gorgon_timer_owners_add(view, id);
	if (ret && !(view->timed & bit(number))) {
		view->timed |= bit(number);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
	return ret;
}

void gorgon_signals_end_timer(struct gorgon_signals *view, int id)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	gorgon_timer_owners_end(view, id);
	gorgon_masked_unlock(&lock, &saved);
}

// Take a pending signal that the calling thread blocks: later the process's default would be its
// action.
static void signals_discard(int number, const sigset_t *blocked)
{
	const struct timespec now = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	while (sigismember(blocked, number) && sigtimedwait(&one, NULL, &now) == number)
		continue;
}

void gorgon_signals_stop_timers(struct gorgon_signals *view)
{
	sigset_t saved;
	uint64_t timed;

	gorgon_masked_lock(&lock, &saved);
	timed = view->timed;
	view->timed = 0;
	gorgon_timer_owners_drop(view);
	// A thread of an abandoned program may still have a signal to take, for which the process's
	// default would be its action: the dispatcher stays until the view goes.
	if (!view->deliver)
		view->timed = timed;
	for (int number = 1; number < NSIG; number++) {
		if (!(timed & bit(number)))
			continue;
		signals_discard(number, &saved);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
}

// --- faults ---------------------------------------------------------------------------------

void gorgon_signals_watch_faults(bool watch)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint64_t now = watch ? gorgon_dispositions.watched | bit(numbers[i])
				     : gorgon_dispositions.watched & ~bit(numbers[i]);

		__atomic_store_n(&gorgon_dispositions.watched, now, __ATOMIC_RELEASE);
		signals_install(numbers[i]);
	}
	gorgon_masked_unlock(&lock, &saved);
}

// --- views ----------------------------------------------------------------------------------

struct gorgon_signals *gorgon_signals_create(bool deliver)
{
	struct gorgon_signals *view = calloc(1, sizeof(*view));
	sigset_t saved;

	if (!view)
		return NULL;
	view->deliver = deliver;
	gorgon_masked_lock(&lock, &saved);
	__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	view->next = gorgon_dispositions.views;
	__atomic_store_n(&gorgon_dispositions.views, view, __ATOMIC_RELEASE);
	gorgon_masked_unlock(&lock, &saved);
	return view;
}

void gorgon_signals_destroy(struct gorgon_signals *view)
{
	struct gorgon_signals **p = &gorgon_dispositions.views;
	sigset_t saved;

	if (!view)
		return;
	gorgon_masked_lock(&lock, &saved);
	while (*p != view)
		p = &(*p)->next;
	__atomic_store_n(p, view->next, __ATOMIC_RELEASE);
	gorgon_timer_owners_drop(view);
	for (int number = 1; number < NSIG; number++)
		if ((view->set | view->timed) & bit(number))
			signals_install(number);
	// For GORGON_SIGNAL_WAKE_IN_LLDB the dispatcher stays, because a signal may still be under
	// way, whose default action would end the process.
	if (gorgon_dispositions.wakes & bit(GORGON_SIGNAL_WAKE) && !gorgon_dispositions.views) {
		gorgon_dispositions.wakes &= ~bit(GORGON_SIGNAL_WAKE);
		signals_install(GORGON_SIGNAL_WAKE);
	}
	gorgon_masked_unlock(&lock, &saved);
	gorgon_views_wait_for_readers();
	free(view);
}

// --- interrupts -----------------------------------------------------------------------------

bool gorgon_signals_install_wake(int number)
{
	struct sigaction now;
	sigset_t saved;
	bool ret;

	gorgon_masked_lock(&lock, &saved);
	ret = gorgon_dispositions.views && !sigaction(number, NULL, &now);
	if (ret && (!(gorgon_dispositions.wakes & bit(number)) ||
		    now.sa_sigaction != gorgon_signals_dispatch)) {
		gorgon_dispositions.wakes |= bit(number);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
	return ret;
}

void gorgon_signals_on_ring(struct gorgon_signals *view, gorgon_signals_ring *fn, void *ctx)
{
	sigset_t saved;

	view->ring_ctx = ctx;
	__atomic_store_n(&view->on_ring, fn, __ATOMIC_RELEASE);
	gorgon_masked_lock(&lock, &saved);
	gorgon_dispositions.wakes |= bit(GORGON_SIGNAL_WAKE);
	signals_install(GORGON_SIGNAL_WAKE);
	gorgon_masked_unlock(&lock, &saved);
}

sighandler_t gorgon_signals_reserve(bool begin)
{
	reserving = begin;
	return reserved;
}

void gorgon_signals_before_program(void)
{
	sigset_t saved;

	if (!gorgon_signals_are_ours())
		return;
	gorgon_masked_lock(&lock, &saved);
	gorgon_signals_note_host(gorgon_signals_dispatch);
	gorgon_masked_unlock(&lock, &saved);
}

void gorgon_signals_find_defaults(const struct gorgon_signals *view, sigset_t *ret)
{
	sigset_t saved;

	sigemptyset(ret);
	gorgon_masked_lock(&lock, &saved);
	gorgon_signals_note_host(gorgon_signals_dispatch);
	for (int number = 1; number < NSIG; number++)
		if (!gorgon_signals_ignored_for(view, number))
			sigaddset(ret, number);
	gorgon_masked_unlock(&lock, &saved);
}

void gorgon_signals_before_fork(void)
{
	gorgon_masked_lock(&lock, &before_fork);
}

// In a child the view goes on whose code has forked. If the host has forked, all views go on that
// belong to this thread, or to no thread yet.
static bool goes_on(const struct gorgon_signals *view, const struct gorgon_signals *forker)
{
	return view == forker || (!gorgon_fork_caller() &&
				  (!view->tid || pthread_equal(view->thread, pthread_self())));
}

// The child of a worker is like that of a process pool's worker: it has none of the host's
// handlers, and its SIGINT is its own unless it was ignored.
static void release_worker(struct gorgon_signals *view)
{
	gorgon_signals_drop_host(gorgon_signals_dispatch);
	view->is_worker = gorgon_dispositions.host[SIGINT].sa_handler == SIG_IGN;
	for (int number = 1; number < NSIG; number++)
		if (view->set & bit(number))
			signals_install(number);
}

void gorgon_signals_after_fork(bool child)
{
	const struct gorgon_ns *caller = gorgon_fork_caller();
	struct gorgon_signals *forker = caller ? caller->signals : gorgon_views_of_thread();
	sigset_t saved = before_fork;
	uint64_t dropped = 0;

	for (struct gorgon_signals *view = gorgon_dispositions.views; child && view;
	     view = view->next) {
		view->pending = 0;
		dropped |= view->timed; // a child has no timers
		view->timed = 0;
		if (view->tid)
			view->tid = gettid();
		view->has_thread &= pthread_equal(view->thread, pthread_self());
		if (goes_on(view, forker))
			continue;
		view->deliver = false;
		dropped |= view->set;
		view->set = 0;
		memset(view->words, 0, sizeof(view->words));
	}
	if (child)
		gorgon_timer_owners_forget();
	// Dispositions of interpreters that do not exist in the child must not keep the default, or
	// what the child ignores, from being installed.
	for (int number = 1; number < NSIG; number++)
		if (dropped & bit(number))
			signals_install(number);
	if (child && forker && forker->is_worker)
		release_worker(forker);
	if (child) {
		gorgon_views_in_child();
		__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	}
	gorgon_masked_unlock(&lock, &saved);
}

// What the kernel says of a signal that a view has not set, if that is the default: then nobody has
// set it, and it is so in a child of vfork(), too. CPython asks for each signal when it starts.
static bool is_default(int number, const struct gorgon_signals *view, struct sigaction *ret)
{
	return !(__atomic_load_n(&view->set, __ATOMIC_RELAXED) & bit(number)) &&
	       !sigaction(number, NULL, ret) && ret->sa_handler == SIG_DFL;
}

// In a child of vfork(): what it looks at to reset it, it finds ignored where its program ignores
// it.
static int change_in_child(int number, const struct sigaction *action, struct sigaction *old,
			   const struct gorgon_signals *view)
{
	int r = sigaction(number, action, old);

	if (!r && old && old->sa_sigaction == gorgon_signals_dispatch &&
	    gorgon_signals_ignored_for(view, number))
		*old = (struct sigaction){.sa_handler = SIG_IGN};
	return r;
}

int gorgon_signal_action(int number, const struct sigaction *action, struct sigaction *old,
			 struct gorgon_signals *view)
{
	struct sigaction before;
	sigset_t saved;

	if (number == GORGON_SIGNAL_RESERVED && reserving) {
		if (old)
			*old = (struct sigaction){.sa_handler = SIG_DFL};
		if (action)
			reserved = action->sa_handler;
		return 0;
	}
	// SIGKILL and SIGSTOP cannot be caught, and the C library uses two signals itself. For such
	// numbers the C library's sigaction() gives the answer.
	if (number < 1 || number >= NSIG || number == SIGKILL || number == SIGSTOP ||
	    (number > SIGSYS && number < SIGRTMIN))
		return sigaction(number, action, old);
	if (!action && old && is_default(number, view, old))
		return 0;
	if (!gorgon_signals_are_ours())
		return change_in_child(number, action, old, view);
	// By the handler of SIGINT that CPython begins with the host interrupts an interpreter, and
	// asyncio.run() sets its own.
	if (view->denied && action && number != SIGINT &&
	    is_function((action_word)action->sa_handler)) {
		errno = EPERM;
		return -1;
	}
	gorgon_masked_lock(&lock, &saved);
	if (view->set & bit(number) || !view->deliver)
		before = view->actions[number]; // at first zero: the default
	else if ((gorgon_dispositions.dispatched | gorgon_dispositions.ignored) & bit(number))
		before = gorgon_dispositions.host[number];
	else
		sigaction(number, NULL, &before);
	// As in a process that was made by exec(): handlers are gone, what was ignored still is.
	if (view->is_worker && !(view->set & bit(number)) &&
	    (number == SIGINT || is_function((action_word)before.sa_handler)))
		before = (struct sigaction){.sa_handler = SIG_DFL};
	if (action) {
		view->actions[number] = *action;
		view->set |= bit(number);
		__atomic_store_n(&view->words[number], action_word_of(action), __ATOMIC_RELEASE);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
	if (old)
		*old = before;
	return 0;
}

sighandler_t gorgon_signal_set(int number, sighandler_t handler, struct gorgon_signals *view)
{
	struct sigaction action = {.sa_flags = SA_RESTART}, old;

	action.sa_handler = handler;
	sigemptyset(&action.sa_mask);
	return gorgon_signal_action(number, &action, &old, view) ? SIG_ERR : old.sa_handler;
}
