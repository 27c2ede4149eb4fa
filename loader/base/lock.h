/* SPDX-License-Identifier: MIT */
/*
 * The loader's one lock, and the one before it. See lock.c for what orders what.
 */
#ifndef GORGON_BASE_LOCK_H
#define GORGON_BASE_LOCK_H

#include <stdbool.h>

void gorgon_lock(void);
void gorgon_unlock(void);

/* Take the lock unless somebody has it: true when it was taken. */
bool gorgon_trylock(void);

/* Wait until gorgon_lock_broadcast(), at most @milliseconds (-1: for ever). The lock is
 * held before and after. False on time-out. */
bool gorgon_lock_wait(int milliseconds);
void gorgon_lock_broadcast(void);

/* Release the lock for a call of a constructor, a destructor or the like, and take it again. */
void gorgon_callout_begin(void);
void gorgon_callout_end(void);

/* A recursive lock that comes before the loader's: for loads by the system's linker (../isolate).
 */
void gorgon_linker_lock(void);
void gorgon_linker_unlock(void);

/* Around fork(): both locks. See ../dl/atfork.c. */
void gorgon_lock_before_fork(void);
void gorgon_lock_after_fork(bool child);

#endif
