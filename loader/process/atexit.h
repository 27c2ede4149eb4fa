/* SPDX-License-Identifier: MIT */
/* Functions that private code has registered for the end. See atexit.c. */
#ifndef GORGON_PROCESS_ATEXIT_H
#define GORGON_PROCESS_ATEXIT_H

#include "part.h"

struct gorgon_atexit;

extern const struct gorgon_part gorgon_atexit_part;

/* Call all that was registered, the last one first, what they register meanwhile included; the
 * status is 0. The lock is held on entry and exit and released around each call. */
void gorgon_atexit_run(struct gorgon_atexit *exits);
/* Make the C library forget the functions that have been called. The same about the lock. */
void gorgon_atexit_forget(struct gorgon_atexit *exits);
/* The same calls at the end of a process, without the lock. */
void gorgon_atexit_run_at_end(struct gorgon_atexit *exits, int status);

#endif
