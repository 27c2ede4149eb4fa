/* SPDX-License-Identifier: MIT */
/* Private code and the unwinder. See unwind.c. */
#ifndef GORGON_NS_UNWIND_H
#define GORGON_NS_UNWIND_H

#include "object.h"

struct dl_find_object;
struct gorgon_ns;

/* The lock is held for both. */
struct gorgon_error *gorgon_unwind_register(struct gorgon_object *object);
void gorgon_unwind_unregister(struct gorgon_object *object);

/* In a forked child: look-ups of threads that are not here have ended. */
void gorgon_unwind_after_fork(void);

/* The namespace whose code contains @addr, or NULL. Any thread, no lock; the answer is good
 * as long as that code runs. */
struct gorgon_ns *gorgon_unwind_ns_at(uint64_t addr);

/* The private object whose code contains @addr, or NULL; otherwise as gorgon_unwind_ns_at(). */
struct gorgon_object *gorgon_unwind_object_at(uint64_t addr);

/* _dl_find_object(3) over private objects, then the system's. Any thread, no lock. */
int gorgon_unwind_find_object(void *addr, struct dl_find_object *ret);

#endif
