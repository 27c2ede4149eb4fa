/* SPDX-License-Identifier: MIT */
/* Times in which a thread must not be interrupted, because it holds a lock of importlib's. See
 * shield.c. */
#ifndef GORGON_PROCESS_SHIELD_H
#define GORGON_PROCESS_SHIELD_H

#include "ns/thread.h"

/* The calling thread, which has a record, begins or ends to hold one. */
void gorgon_shield_begin(bool whole);
void gorgon_shield_end(bool whole);
/* Whether a thread, or with NULL the calling thread, holds one. Safe in signal handlers. */
bool gorgon_shield_is_up(const struct gorgon_thread *thread);
bool gorgon_shield_is_whole(void);

/* A SIGINT is for the calling thread's Python. True: it holds a lock, and the signal is kept.
 * Safe in signal handlers. */
bool gorgon_shield_keeps_sigint(void);
/* The same for an interrupt of the library, of which Python has just been told. */
bool gorgon_shield_keeps_interrupt(void);
/* Whether any was kept. */
bool gorgon_shield_has_kept(void);
/* Whether one was kept, which it is not any more. */
bool gorgon_shield_take_sigint(void);
bool gorgon_shield_take_interrupt(void);

/* An entry of the calling thread begins: it holds none. Returns what held before, to be given
 * back at its end. */
struct gorgon_shields gorgon_shields_enter(void);
void gorgon_shields_leave(struct gorgon_shields before);

#endif
