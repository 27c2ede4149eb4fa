/* SPDX-License-Identifier: MIT */
/* Threads that private code starts. See pthread_create.c. */
#ifndef GORGON_PROCESS_PTHREAD_CREATE_H
#define GORGON_PROCESS_PTHREAD_CREATE_H

struct gorgon_ns;
struct gorgon_thread;

/* End the calling thread, whose record this is and whose @start_env is set, without leaving the
 * functions that it is in. */
_Noreturn void gorgon_thread_leave(const struct gorgon_thread *thread);

/* Threads that were ended in a wait and that nobody can join any more give up their stacks. No
 * code of the namespace runs any more; under the loader's lock. */
void gorgon_thread_detach_left(struct gorgon_ns *ns);

/* --- replacement (see replacements.c) ------------------------------------------- */

int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns);

#endif
