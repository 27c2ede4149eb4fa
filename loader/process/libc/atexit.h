/* SPDX-License-Identifier: MIT */
/* Functions that private code has registered for the end. See atexit.c. */
#ifndef GORGON_PROCESS_ATEXIT_H
#define GORGON_PROCESS_ATEXIT_H

#include "process/part.h"

/* Functions that code of a namespace has registered. */
struct gorgon_atexit;

/* One of them. @dso is an address in the object that has registered it, or NULL. */
struct gorgon_atexit_entry {
	void (*fn)(void *);
	void (*status_fn)(int, void *); /* instead of @fn, for on_exit() */
	void *arg, *dso;
};

extern const struct gorgon_part gorgon_atexit_part;

/* Call all functions that were registered, the last registered first, and functions that these
 * register meanwhile. on_exit() functions get the status 0. The lock is held on entry and exit and
 * released around each call. */
void gorgon_atexit_run(struct gorgon_atexit *exits);
/* The functions that were not called yet never will be. */
void gorgon_atexit_discard(struct gorgon_atexit *exits);
/* Make the C library forget the functions that have been called or discarded. The lock is as above.
 */
void gorgon_atexit_forget(struct gorgon_atexit *exits);
/* Call @fn with each function that was registered and not called, the oldest first. No function is
 * registered meanwhile. */
void gorgon_atexit_each(const struct gorgon_atexit *exits,
			void (*fn)(void *ctx, const struct gorgon_atexit_entry *entry), void *ctx);
/* Register one. False: no memory. */
bool gorgon_atexit_add(struct gorgon_atexit *exits, const struct gorgon_atexit_entry *entry);
/* gorgon_atexit_run() at the end of a process, or of a program, with its status and without the
 * lock. Destructors of objects follow, as in exit(). */
void gorgon_atexit_run_at_end(struct gorgon_atexit *exits, int status);
/* What runs those destructors. */
void gorgon_atexit_end_with(struct gorgon_atexit *exits, void (*destructors)(void *ctx), void *ctx);

#endif
