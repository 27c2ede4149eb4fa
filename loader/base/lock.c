// SPDX-License-Identifier: MIT
// The loader's one lock, and the lock that is taken before it.
//
// Order: the loader's lock, then libjitreg's, then whatever the C library takes (malloc,
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

#define _GNU_SOURCE
#include "lock.h"
#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t linker_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void gorgon_linker_lock(void)
{
	pthread_mutex_lock(&linker_lock);
}

void gorgon_linker_unlock(void)
{
	pthread_mutex_unlock(&linker_lock);
}

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
	return pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

void gorgon_lock_broadcast(void)
{
	pthread_cond_broadcast(&changed);
}

void gorgon_callout_begin(void)
{
	gorgon_unlock();
}

void gorgon_callout_end(void)
{
	gorgon_lock();
	gorgon_lock_broadcast();
}

void gorgon_lock_before_fork(void)
{
	gorgon_linker_lock();
	gorgon_lock();
}

void gorgon_lock_after_fork(bool child)
{
	// Waiters of the parent do not exist in the child, but the condition counts them.
	if (child)
		changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	gorgon_unlock();
	// A recursive mutex knows its owner by the thread's number, which is another in the child.
	if (child)
		linker_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	else
		gorgon_linker_unlock();
}
