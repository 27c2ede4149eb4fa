/* SPDX-License-Identifier: MIT */
/* malloc() and its family for extensions. See malloc_family.c. */
#ifndef GORGON_PROCESS_MALLOC_FAMILY_H
#define GORGON_PROCESS_MALLOC_FAMILY_H

#include "process/part.h"

struct gorgon_usage;
struct gorgon_zone_seed;

extern const struct gorgon_part gorgon_malloc_part;

/* malloc(3) and its like, of extensions. free() of all private code is in their usage. */
void *gorgon_malloc(size_t size, struct gorgon_usage *usage);
void *gorgon_malloc_calloc(size_t count, size_t size, struct gorgon_usage *usage);
void *gorgon_malloc_aligned_alloc(size_t alignment, size_t size, struct gorgon_usage *usage);
int gorgon_malloc_posix_memalign(void **ret, size_t alignment, size_t size,
				 struct gorgon_usage *usage);
void *gorgon_malloc_realloc(void *p, size_t size, struct gorgon_usage *usage);
void *gorgon_malloc_reallocarray(void *p, size_t count, size_t size, struct gorgon_usage *usage);
/* gorgon_zone_heap_begin(), and free() of private code knows those blocks, too. */
bool gorgon_malloc_begin_zone(struct gorgon_ns *ns, const struct gorgon_zone_seed *seed);
size_t gorgon_malloc_usable_size(void *p, struct gorgon_usage *usage);

#endif
