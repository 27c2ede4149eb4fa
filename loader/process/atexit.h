/* SPDX-License-Identifier: MIT */
/* Functions that private code has registered for the end. See atexit.c. */
#ifndef GORGON_PROCESS_ATEXIT_H
#define GORGON_PROCESS_ATEXIT_H

struct gorgon_exit;
struct gorgon_ns;

/* Functions that code of a namespace has registered. */
struct gorgon_atexit {
	struct gorgon_exit *pending, *done; /* newest first */
};

/* Call all functions that @ns has registered, the last registered first, and functions that these
 * register meanwhile. on_exit() functions get the status 0. The lock is held on entry and exit and
 * released around each call. */
void gorgon_atexit_run(struct gorgon_ns *ns);
/* Make the C library forget the functions that have been called. The lock is as above. */
void gorgon_atexit_forget(struct gorgon_ns *ns);

/* The end of a child process that code of @ns has forked: what is its own runs, and nobody else's. In
 * any other process it is exit(). */
_Noreturn void gorgon_atexit_leave(struct gorgon_ns *ns, int status);

/* Around fork(), which must find the lists whole. */
void gorgon_atexit_before_fork(void);
void gorgon_atexit_after_fork(void);

/* --- replacement (see replacements.c) -------------------------------------------- */

int gorgon_atexit_register(void (*fn)(void *), void *arg, void *dso, struct gorgon_ns *ns);
int gorgon_atexit_register_with_status(void (*fn)(int, void *), void *arg, struct gorgon_ns *ns);

#endif
