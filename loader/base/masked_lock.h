/* SPDX-License-Identifier: MIT */
/* Locks that code which runs in signal handlers takes as well.
 *
 * Whoever holds such a lock has all signals blocked: a handler on its thread that needs the lock
 * would wait for itself. @saved is the thread's mask, to be given back. */
#ifndef GORGON_BASE_MASKED_LOCK_H
#define GORGON_BASE_MASKED_LOCK_H

#include <pthread.h>
#include <signal.h>

static inline void gorgon_masked_lock(pthread_mutex_t *lock, sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, saved);
	pthread_mutex_lock(lock);
}

static inline void gorgon_masked_unlock(pthread_mutex_t *lock, const sigset_t *saved)
{
	pthread_mutex_unlock(lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

#endif
