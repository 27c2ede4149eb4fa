/* SPDX-License-Identifier: MIT */
/* Constructors and destructors. See init.c. */
#ifndef GORGON_LOAD_INIT_H
#define GORGON_LOAD_INIT_H

#include "ns/object.h"

/* Run constructors of @objects, which are in dependency order. The lock is held on
 * entry and exit and released around each call into them. */
void gorgon_init_run(struct gorgon_object **objects, size_t count);
/* Run the destructors of one object; the same about the lock. */
void gorgon_fini_run(struct gorgon_object *object);
/* In a forked child. */
void gorgon_init_after_fork(void);

#endif
