/* SPDX-License-Identifier: MIT */
/* realloc() and free() of private code. See malloc_family.c. */
#ifndef GORGON_PROCESS_MALLOC_FAMILY_H
#define GORGON_PROCESS_MALLOC_FAMILY_H

#include <stddef.h>

struct gorgon_ns;

/* --- replacements (see replacements.c); malloc(3) ---------------------------------- */

/* realloc() for libpython, and for extensions. */
void *gorgon_malloc_python_realloc(void *p, size_t size, struct gorgon_ns *ns);
void *gorgon_malloc_realloc(void *p, size_t size, struct gorgon_ns *ns);
void gorgon_malloc_free(void *p);

#endif
