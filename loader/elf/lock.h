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

#endif
