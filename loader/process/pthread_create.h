/* SPDX-License-Identifier: MIT */
/* Threads that private code starts. See pthread_create.c. */
#ifndef GORGON_PROCESS_PTHREAD_CREATE_H
#define GORGON_PROCESS_PTHREAD_CREATE_H

struct gorgon_ns;

/* --- replacement (see replacements.c) ------------------------------------------- */

int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns);

#endif
