/* SPDX-License-Identifier: MIT */
/* malloc() and its family for extensions. See malloc_family.c. */
#ifndef GORGON_PROCESS_MALLOC_FAMILY_H
#define GORGON_PROCESS_MALLOC_FAMILY_H

#include "part.h"

struct gorgon_large;

extern const struct gorgon_part gorgon_malloc_part;

/* realloc(3) of extensions, free(3) of all private code. */
void *gorgon_malloc_realloc(void *p, size_t size, const struct gorgon_large *large);
void gorgon_malloc_free(void *p);

#endif
