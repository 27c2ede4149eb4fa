/* SPDX-License-Identifier: MIT */
/* A lock for a few instructions that run very often. See quick_lock.c. */
#ifndef GORGON_BASE_QUICK_LOCK_H
#define GORGON_BASE_QUICK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed it is free. */
struct gorgon_quick_lock {
	uint32_t state; /* 0: free, 1: held, 2: held, and threads may sleep; a futex */
};

void gorgon_quick_lock_wait(struct gorgon_quick_lock *lock);
void gorgon_quick_lock_wake(struct gorgon_quick_lock *lock);

static inline void gorgon_quick_lock(struct gorgon_quick_lock *lock)
{
	uint32_t free = 0;

	if (__builtin_expect(!__atomic_compare_exchange_n(&lock->state, &free, 1, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
			     false))
		gorgon_quick_lock_wait(lock);
}

static inline void gorgon_quick_unlock(struct gorgon_quick_lock *lock)
{
	if (__builtin_expect(__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2, false))
		gorgon_quick_lock_wake(lock);
}

#endif
