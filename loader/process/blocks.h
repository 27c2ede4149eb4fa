/* SPDX-License-Identifier: MIT */
/* Blocks that extensions have from malloc(), counted. See blocks.c. */
#ifndef GORGON_PROCESS_BLOCKS_H
#define GORGON_PROCESS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

struct gorgon_usage;
struct gorgon_part;

/* The namespace of @usage begins. */
void gorgon_blocks_begin(struct gorgon_usage *usage);
/* No code of it runs any more. */
void gorgon_blocks_release(const struct gorgon_usage *usage);

/* The size to ask the C library for, so that a block of @size bytes can be counted. */
size_t gorgon_blocks_size(size_t size);
/* Whether the namespace may have @size bytes more; otherwise errno is ENOMEM. */
bool gorgon_blocks_allow(size_t size, struct gorgon_usage *usage);
/* @p, which may be NULL, has gorgon_blocks_size() bytes of the C library's for the namespace: count it. Returns @p. */
void *gorgon_blocks_note(void *p, struct gorgon_usage *usage);
/* @p is about to be freed, or may move: the namespace does not count it any more. A block that it does not count is ignored. */
void gorgon_blocks_forget(void *p, struct gorgon_usage *usage);
/* How many bytes of a block are its user's; see malloc_usable_size(3). */
size_t gorgon_blocks_usable_size(void *p, const struct gorgon_usage *usage);

extern const struct gorgon_part gorgon_blocks_part; /* its lock, for fork() */

#endif
