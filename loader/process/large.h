/* SPDX-License-Identifier: MIT */
/* Large blocks of extensions, counted. See large.c. */
#ifndef GORGON_PROCESS_LARGE_H
#define GORGON_PROCESS_LARGE_H

#include <stddef.h>

/* Blocks of so many bytes, and larger ones. */
#define GORGON_LARGE_MIN 65536

struct gorgon_heap;
struct gorgon_ns;

/* @p, which may be NULL, is a block of @ns's extensions: count it if it is large. Returns @p. Without
 * memory for its entry it is not counted. */
void *gorgon_large_note(void *p, struct gorgon_ns *ns);
/* @p is about to be freed, or may move: it is not counted any more. */
void gorgon_large_forget(void *p);
/* No code of the namespace runs any more. */
void gorgon_large_release(const struct gorgon_heap *heap);

void gorgon_large_before_fork(void);
void gorgon_large_after_fork(void);

/* --- replacements (see replacements.c); malloc(3), for extensions -------------------- */

void *gorgon_large_malloc(size_t size, struct gorgon_ns *ns);
void *gorgon_large_calloc(size_t count, size_t size, struct gorgon_ns *ns);
void *gorgon_large_aligned_alloc(size_t alignment, size_t size, struct gorgon_ns *ns);
int gorgon_large_posix_memalign(void **ret, size_t alignment, size_t size, struct gorgon_ns *ns);

#endif
