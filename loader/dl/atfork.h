/* SPDX-License-Identifier: MIT */
/* What is done around fork(). See atfork.c. */
#ifndef GORGON_DL_ATFORK_H
#define GORGON_DL_ATFORK_H

#include <stdbool.h>

/* From now on fork() takes the locks. */
void gorgon_atfork_init(void);

/* A caller of a fork() that skips the functions given to pthread_atfork() calls these around it. */
void gorgon_before_fork(void);
void gorgon_after_fork(bool child);

/* The locks of the floor above: they are taken, and released, with the loader's lock held. */
struct gorgon_atfork {
	void (*before)(void);
	void (*after)(bool child);
};

/* Take these locks, too, which live for ever. A second call has the same. With the loader's lock.
 */
void gorgon_atfork_join(const struct gorgon_atfork *given);

#endif
