/* SPDX-License-Identifier: MIT */
/*
 * The loader's one lock. See lock.c for what orders what.
 */
#ifndef GORGON_ELF_LOCK_H
#define GORGON_ELF_LOCK_H

#include <stdbool.h>

void gorgon_lock(void);
void gorgon_unlock(void);

/* Take the lock unless somebody has it: true when it was taken. */
bool gorgon_trylock(void);

/* Wait until gorgon_lock_broadcast(), at most @milliseconds (-1: for ever). The lock is
 * held before and after. False on time-out. */
bool gorgon_lock_wait(int milliseconds);
void gorgon_lock_broadcast(void);

/* What is done around fork(), for a fork() that does not know of it. */
void gorgon_before_fork(void);
void gorgon_after_fork(bool child);

#endif
