/* SPDX-License-Identifier: MIT */
/* Large blocks of extensions, counted. See large.c. */
#ifndef GORGON_PROCESS_LARGE_H
#define GORGON_PROCESS_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* The size in bytes from which a block is large. */
#define GORGON_LARGE_MIN 65536

struct gorgon_usage;
struct gorgon_part;

/* The part of a namespace. */
struct gorgon_large {
	struct gorgon_usage *usage; /* where its blocks are counted */
};

/* @p, which may be NULL, is a block of the namespace's extensions: count it if it is large. Returns @p. Without
 * memory for its entry it is not counted. */
void *gorgon_large_note(void *p, const struct gorgon_large *large);
/* Whether the namespace may have @size bytes more; otherwise errno is ENOMEM. Sizes that are not counted always may. */
bool gorgon_large_allow(size_t size, const struct gorgon_large *large);
/* @p is about to be freed, or may move: it is not counted any more. */
void gorgon_large_forget(void *p);
/* No code of the namespace runs any more. */
void gorgon_large_release(const struct gorgon_large *large);

extern const struct gorgon_part gorgon_large_part; /* its lock, for fork() */

/* --- malloc(3), for extensions ------------------------------------------------------ */

void *gorgon_large_malloc(size_t size, const struct gorgon_large *large);
void *gorgon_large_calloc(size_t count, size_t size, const struct gorgon_large *large);
void *gorgon_large_aligned_alloc(size_t alignment, size_t size, const struct gorgon_large *large);
int gorgon_large_posix_memalign(void **ret, size_t alignment, size_t size, const struct gorgon_large *large);

#endif
