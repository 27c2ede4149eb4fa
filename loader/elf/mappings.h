/* SPDX-License-Identifier: MIT */
/* The process's number of mappings. See mappings.c. */
#ifndef GORGON_ELF_MAPPINGS_H
#define GORGON_ELF_MAPPINGS_H

#include <stdbool.h>

struct gorgon_object;

/* @object was mapped and protected: count, and give up protection near the limit.
 * The lock is held. */
void gorgon_mappings_added(struct gorgon_object *object);

/* Whether the process has so many mappings that the kernel refuses more; then *@limit is
 * how many it allows. */
bool gorgon_mappings_are_used_up(unsigned long *limit);

#endif
