/* SPDX-License-Identifier: MIT */
/* Constructors and destructors. See init.c. */
#ifndef GORGON_LOAD_INIT_H
#define GORGON_LOAD_INIT_H

#include "ns/object.h"

/* Run the constructors of @objects, which are in the order of their dependencies. The caller holds
 * the lock, which is released while a constructor runs. */
void gorgon_init_run(struct gorgon_object **objects, size_t count);
/* Run the destructors of one object, unless they have run at the program's end. The lock is held
 * and released in the same way. */
void gorgon_fini_run(struct gorgon_object *object);
/* The same at the end of the object's program: the object stays in use. */
void gorgon_fini_run_early(struct gorgon_object *object);
/* In a forked child. */
void gorgon_init_after_fork(void);

#endif
