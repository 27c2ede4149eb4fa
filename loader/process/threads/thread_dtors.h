/* SPDX-License-Identifier: MIT */
/* Destructors of thread_local variables of private objects. See thread_dtors.c. */
#ifndef GORGON_PROCESS_THREAD_DTORS_H
#define GORGON_PROCESS_THREAD_DTORS_H

#include <stdbool.h>

struct gorgon_ns;
struct gorgon_object;
struct gorgon_thread;

/* Before @object is unmapped: run the calling thread's thread_local destructors of it
 * and forget its destructors of other threads. The lock is held, and released around calls. */
void gorgon_thread_drop_dtors(struct gorgon_object *object);
/* Run the calling thread's destructors of all objects of @ns, the last registered first. The lock
 * is as above. */
void gorgon_thread_run_dtors(struct gorgon_ns *ns);
/* Take destructors of a namespace out of the lists of all threads, without running them. The lock
 * is held. */
void gorgon_thread_forget_dtors(struct gorgon_ns *ns);

/* Whether a thread has destructors of @object's thread_local variables to run. The lock is
 * held. */
bool gorgon_thread_has_dtors(const struct gorgon_object *object);

/* Call @fn with what gorgon_thread_atexit() was given on a thread, the last first. The lock is
 * held. */
void gorgon_thread_each_dtor(const struct gorgon_thread *thread,
			     void (*fn)(void *ctx, void (*dtor)(void *), void *arg, void *dso),
			     void *ctx);

/* Forget the destructors of a thread that has ended. */
void gorgon_thread_free_dtors(struct gorgon_thread *thread);

/* --- replacement (see replacements.c) ------------------------------------------- */

int gorgon_thread_atexit(void (*fn)(void *), void *arg, void *dso);

#endif
