// SPDX-License-Identifier: MIT
// The loader's one lock.
//
// Order: this lock, then libjitreg's, then whatever the C library takes (malloc,
// its own loader lock inside dlopen and dlsym). Nothing below takes this lock:
// constructors, destructors, resolvers of our callers and Python code run without
// it, and callbacks of the host are documented as running under it.
//
// One lock for all namespaces, not one each: a load takes about a millisecond of
// an import's fifty, registering with a debugger is serial by nature, and fork and
// the debug root stay simple.
//
// ("Callouts" are calls that are made from within an operation and for which it gives the
// lock up: constructors, destructors, functions that were registered for the end.)

#include "lock.h"
#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

// How many callouts are under way in the process, and how many of them on this thread. Under the
// lock.
static unsigned callouts;
static __thread unsigned callouts_here __attribute__((tls_model("initial-exec")));

// How long fork() waits for callouts of other threads to end.
#define FORK_WAIT_MS 1000

void gorgon_lock(void)
{
	pthread_mutex_lock(&lock);
}

bool gorgon_trylock(void)
{
	return !pthread_mutex_trylock(&lock);
}

void gorgon_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool gorgon_lock_wait(int milliseconds)
{
	struct timespec until;

	if (milliseconds < 0)
		return pthread_cond_wait(&changed, &lock) == 0;
	until = gorgon_deadline(milliseconds);
	return pthread_cond_timedwait(&changed, &lock, &until) != ETIMEDOUT;
}

void gorgon_lock_broadcast(void)
{
	pthread_cond_broadcast(&changed);
}

static void init_cond(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
}

void gorgon_callout_begin(void)
{
	callouts++;
	callouts_here++;
	gorgon_unlock();
}

void gorgon_callout_end(void)
{
	gorgon_lock();
	callouts--;
	callouts_here--;
	gorgon_lock_broadcast();
}

void gorgon_callout_forget(void)
{
	if (!callouts_here)
		return;
	gorgon_lock();
	callouts -= callouts_here;
	callouts_here = 0;
	gorgon_lock_broadcast();
	gorgon_unlock();
}

// Constructors and destructors take a lock of the C library (__cxa_atexit, __cxa_finalize) that
// it does not reset in a child. The wait is bounded, because a callout may be waiting for this
// very thread.
void gorgon_lock_before_fork(void)
{
	uint64_t until;

	gorgon_lock();
	until = gorgon_now() + FORK_WAIT_MS * 1000000ull;
	while (callouts > callouts_here && gorgon_now() < until)
		gorgon_lock_wait(10);
}

void gorgon_lock_after_fork(bool child)
{
	if (child) {
		// Waiters of the parent do not exist here, but the condition counts them.
		init_cond();
		callouts = callouts_here;
	}
	gorgon_unlock();
}

// 200: before the constructors of our users.
__attribute__((constructor(200))) static void init(void)
{
	init_cond();
}
