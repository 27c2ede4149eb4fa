// SPDX-License-Identifier: MIT
// A lock for a few instructions that run very often.
//
// A mutex of the C library asks which kind it is, and records its owner: that is fifty instructions
// for locking and unlocking it, more than what the lock of a heap guards. This lock knows two
// states and whether anybody sleeps. It is not fair, and a thread must not lock it twice.

#define _GNU_SOURCE
#include "quick_lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// Who has slept does not know whether others still sleep, and so leaves the lock as if they did.
void gorgon_quick_lock_wait(struct gorgon_quick_lock *lock)
{
	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void gorgon_quick_lock_wake(struct gorgon_quick_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
