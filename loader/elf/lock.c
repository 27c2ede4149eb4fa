// SPDX-License-Identifier: MIT
// The loader's one lock, and fork.
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
// Fork: prepare takes the lock and those of locales.c, environment.c, memory.c, own_file.c,
// heap.c, large.c, exits.c and signals.c and of ../process, which are leaves, and registrar.c's,
// which has only libjitreg's below it; parent and child release them, so that the child's lists are whole.
// libjitreg registers its own handlers in an earlier constructor;
// prepare handlers run last-registered first, which gives the order above.

#define _GNU_SOURCE
#include "lock.h"
#include "environment.h"
#include "exits.h"
#include "locales.h"
#include "memory.h"
#include "ns.h"
#include "own_file.h"
#include "registrar.h"
#include "signals.h"
#include "thread.h"
#include "unwind.h"
#include "../process/part.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

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

void gorgon_before_fork(void)
{
	gorgon_lock();
	gorgon_init_wait_for_others();
	gorgon_locale_before_fork();
	gorgon_environment_before_fork();
	gorgon_memory_before_fork();
	gorgon_own_file_before_fork();
	gorgon_heaps_before_fork();
	gorgon_signals_before_fork();
	gorgon_registrars_before_fork();
	gorgon_exits_before_fork();
	gorgon_parts_before_fork();
}

void gorgon_after_fork(bool child)
{
	gorgon_parts_after_fork(child);
	gorgon_exits_after_fork();
	gorgon_registrars_after_fork();
	gorgon_signals_after_fork(child);
	gorgon_heaps_after_fork();
	gorgon_own_file_after_fork();
	gorgon_memory_after_fork();
	gorgon_environment_after_fork();
	gorgon_locale_after_fork();
	if (child) {
		gorgon_unwind_after_fork();
		// Waiters of the parent do not exist here, but the condition counts them.
		init_cond();
		gorgon_thread_after_fork();
		gorgon_ns_after_fork();
		gorgon_init_after_fork();
	}
	gorgon_unlock();
}

static void after_fork_parent(void)
{
	gorgon_after_fork(false);
}

static void after_fork_child(void)
{
	gorgon_after_fork(true);
}

// 200: after libjitreg's constructor, before those of our users.
__attribute__((constructor(200))) static void init(void)
{
	init_cond();
	pthread_atfork(gorgon_before_fork, after_fork_parent, after_fork_child);
}
