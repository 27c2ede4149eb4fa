// SPDX-License-Identifier: MIT
// Threads of an abandoned namespace.
//
// An interpreter that does not end is abandoned: its memory stays, and none of its Python code runs any more. Nobody
// can take a thread away from code that runs, so threads are parked where they can do no harm: where CPython asks for
// a lock of its own. Every CPython hands its GIL over under a mutex and with conditions (pthread_mutex_lock(),
// pthread_cond_timedwait(), pthread_cond_wait()), and libpython's own calls of these come here. A thread that computes
// in bytecode comes here when another thread asks for the GIL (../python/abandon.c does), a thread that comes out of a
// blocking call when it takes the GIL again. There it holds no lock of the C library or of ours. Code that never
// comes back to Python is not stopped.
//
// A parked thread of the program waits in the kernel with all signals blocked. A thread of the host leaves the call
// that it has made (on_park in struct gorgon_ns_user).
//
// A wait for the mutex of a GIL, and for a switch of threads, ends from time to time, so that a thread that waits when
// its namespace is abandoned notices it. Who waits for the GIL itself is woken up by the thread that abandons, whose own wait
// shows it the condition.
//
// Hurry. A thread of ours that takes a GIL gives up after a while: CPython cannot, so the wait is left by a jump (../python/call.c).
// It is left with the mutex released, and CPython's state is whole: the thread has a state in Python and waits for nothing.

#define _GNU_SOURCE
#include "parking.h"
#include "part.h"
#include "base/clock.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define LOOK_MS	 20 // how often a thread that waits looks whether its namespace is abandoned
#define HURRY_MS 5  // after so long a thread in a hurry asks for the GIL anew

static __thread struct gorgon_hurry *hurry __attribute__((tls_model("initial-exec")));

void gorgon_parking_abandon(struct gorgon_ns *ns)
{
	__atomic_store_n(&ns->abandoned, true, __ATOMIC_SEQ_CST);
}

bool gorgon_parking_is_abandoned(const struct gorgon_ns *ns)
{
	return __builtin_expect(__atomic_load_n(&ns->abandoned, __ATOMIC_ACQUIRE), false);
}

void gorgon_parking_hurry(struct gorgon_hurry *given)
{
	hurry = given;
}

void gorgon_parking_prepare(void)
{
	Dl_info info;

	// A program that this library is linked into statically stays anyway.
	if (dladdr((void *)(uintptr_t)gorgon_park, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void gorgon_park(struct gorgon_ns *ns)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	struct gorgon_ns *wanted = ns;
	sigset_t all;

	// Nobody needs to interrupt it any more.
	if (thread)
		__atomic_compare_exchange_n(&thread->interrupt, &wanted, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	gorgon_callout_forget();
	if (ns->user.on_park)
		ns->user.on_park(ns->user.ctx);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (;;)
		pause();
}

static bool is_in_hurry(const struct gorgon_ns *ns)
{
	return hurry && hurry->ns == ns;
}

// Where a thread may be parked, or may give up.
static void stop_here(struct gorgon_ns *ns)
{
	if (!is_in_hurry(ns)) {
		if (gorgon_parking_is_abandoned(ns))
			gorgon_park(ns);
	} else if (gorgon_now() >= hurry->until) {
		hurry->give_up();
	}
}

static __attribute__((noinline)) int lock_slowly(pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	int err;

	do {
		struct timespec until = gorgon_deadline(LOOK_MS);

		stop_here(ns);
		err = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
	} while (err == ETIMEDOUT);
#if defined(__SANITIZE_THREAD__) && __GNUC__ < 15 // the runtime of these versions does not see pthread_mutex_clocklock()
	if (!err) {
		__tsan_mutex_pre_lock(mutex, 0);
		__tsan_mutex_post_lock(mutex, 0, 0);
	}
#endif
	return err;
}

static int lock_mutex(pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	int err = gorgon_parking_is_abandoned(ns) ? EBUSY : pthread_mutex_trylock(mutex);

	return err == EBUSY ? lock_slowly(mutex, ns) : err;
}

// Leave a wait that this thread has the mutex for.
static void leave_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	if (!gorgon_parking_is_abandoned(ns) && !is_in_hurry(ns))
		return;
	if (is_in_hurry(ns) && (gorgon_now() < hurry->until || !hurry->asked))
		return;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
	stop_here(ns);
}

static int wait_for_cond(pthread_cond_t *cond, pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	struct timespec until = gorgon_deadline(LOOK_MS);
	int err;

	leave_wait(cond, mutex, ns);
	err = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until);
	leave_wait(cond, mutex, ns);
	// Waits for conditions may end without a reason (POSIX), and CPython expects it.
	return err == ETIMEDOUT ? 0 : err;
}

static int wait_for_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until,
			       struct gorgon_ns *ns)
{
	int err;

	leave_wait(cond, mutex, ns);
	if (is_in_hurry(ns)) {
		// The program may have told CPython to ask a running thread for the GIL only after a long time.
		struct timespec soon = gorgon_deadline(HURRY_MS);

		err = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &soon);
		leave_wait(cond, mutex, ns);
		hurry->asked |= err == ETIMEDOUT; // which makes CPython ask
		return err;
	}
	err = pthread_cond_timedwait(cond, mutex, until);
	leave_wait(cond, mutex, ns);
	return err;
}

static const struct gorgon_bound bound[] = {
	{"pthread_mutex_lock", lock_mutex, 1, 0, GORGON_OWN,
	 "threads of an interpreter that was abandoned are parked where they take its GIL"},
	{"pthread_cond_wait", wait_for_cond, 2, 0, GORGON_OWN, "as pthread_mutex_lock"},
	{"pthread_cond_timedwait", wait_for_cond_until, 3, 0, GORGON_OWN, "as pthread_mutex_lock"},
};

const struct gorgon_part gorgon_parking_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.when = GORGON_WHEN_PYTHON,
	.title = "Threads that are parked",
	.loader_only = true,
};
