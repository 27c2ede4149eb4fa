/* SPDX-License-Identifier: MIT */
/* Blocks that extensions have from malloc(), counted. See blocks.c. The functions that run for each
 * small block are inline in this header. */
#ifndef GORGON_PROCESS_BLOCKS_H
#define GORGON_PROCESS_BLOCKS_H

#include "base/checker.h"
#include "base/usage.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GORGON_BLOCKS_LARGE_MIN 65536

struct gorgon_part;

/* The namespace of @usage begins. */
void gorgon_blocks_begin(struct gorgon_usage *usage);
/* No code of it runs any more. */
void gorgon_blocks_release(const struct gorgon_usage *usage);

/* Put a large block into the table, and take it out. */
void gorgon_blocks_note_large(void *p, size_t size, struct gorgon_usage *usage);
void gorgon_blocks_forget_large(void *p);

extern const struct gorgon_part gorgon_blocks_part; /* its lock, for fork() */

/* Whether the C library's malloc() is glibc's own, so that the word before a block is the size of
 * its chunk, with flags: chunks are multiples of 16 bytes, and a block has all of its chunk but
 * this word. */
extern bool gorgon_blocks_sizes_known;

/* flag: the chunk is a mapping of its own, and the block a word shorter */
#define GORGON_BLOCKS_MAPPED UINT64_C(2)
#define GORGON_BLOCKS_FLAGS  UINT64_C(7)
/* bits that no small chunk has, unless it is mapped */
#define GORGON_BLOCKS_OTHER  (~UINT64_C(0xfff5))

/* malloc(3), of which the compiler does not know that it reads memory that nobody has written, and
 * in front of the block. */
extern void *gorgon_blocks_malloc(size_t size) __asm__("malloc");

static inline uint64_t gorgon_blocks_chunk(const void *p)
{
	return ((const uint64_t *)p)[-1];
}

/* malloc_usable_size(3) of a block of the C library's. */
static inline size_t gorgon_blocks_usable(void *p)
{
	if (!gorgon_blocks_sizes_known || gorgon_blocks_chunk(p) & GORGON_BLOCKS_MAPPED)
		return malloc_usable_size(p);
	return (gorgon_blocks_chunk(p) & ~GORGON_BLOCKS_FLAGS) - sizeof(uint64_t);
}

/* Whether a block of any kind is a small one of the C library's. Sizes are known. Where the C
 * library has the size, a block of libpython's has its mark, which is no size of a small block. */
static inline bool gorgon_blocks_is_small(const void *p)
{
	return !(gorgon_blocks_chunk(p) & GORGON_BLOCKS_OTHER);
}

/* gorgon_blocks_usable() of such a block. */
static inline size_t gorgon_blocks_small_size(const void *p)
{
	return (gorgon_blocks_chunk(p) & ~GORGON_BLOCKS_FLAGS) - sizeof(uint64_t);
}

/* Whether a block of this size is counted in the table, and has no mark. */
static inline bool gorgon_blocks_is_large(size_t size)
{
	return size >= (gorgon_checker ? 1 : GORGON_BLOCKS_LARGE_MIN);
}

/* The size to ask the C library for, so that a block of @size bytes can be counted. */
static inline size_t gorgon_blocks_size(size_t size)
{
	return size < GORGON_BLOCKS_LARGE_MIN && !gorgon_checker ? size + sizeof(uint64_t) : size;
}

/* Whether the namespace may have @size bytes more; otherwise errno is ENOMEM. */
static inline bool gorgon_blocks_allow(size_t size, struct gorgon_usage *usage)
{
	if (size > PTRDIFF_MAX || gorgon_usage_allow(usage, size))
		return true; /* of what is too large the C library says so */
	errno = ENOMEM;
	return false;
}

static inline void gorgon_blocks_add(struct gorgon_usage *usage, size_t size)
{
	__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

static inline void gorgon_blocks_take(struct gorgon_usage *usage, size_t size)
{
	__atomic_sub_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

static inline uint64_t gorgon_blocks_mark(const void *p, const struct gorgon_usage *usage)
{
	return (uintptr_t)p ^ usage->secret;
}

static inline char *gorgon_blocks_place(const void *p, size_t size)
{
	return (char *)(uintptr_t)p + size - sizeof(uint64_t);
}

/* Whether a small block is counted. The bytes may never have been written, or belong to the user of
 * a block without a mark. */
__attribute__((no_sanitize("address", "thread"))) static inline bool
gorgon_blocks_is_marked(const void *p, size_t size, const struct gorgon_usage *usage)
{
	uint64_t mark;

	memcpy(&mark, gorgon_blocks_place(p, size), sizeof(mark));
	return mark == gorgon_blocks_mark(p, usage);
}

static inline void gorgon_blocks_set_mark(void *p, size_t size, uint64_t mark)
{
	memcpy(gorgon_blocks_place(p, size), &mark, sizeof(mark));
}

static inline void *gorgon_blocks_note_small(void *p, size_t size, struct gorgon_usage *usage)
{
	/* If it has the mark already, code that does not count has freed it. */
	if (!gorgon_blocks_is_marked(p, size, usage)) {
		gorgon_blocks_set_mark(p, size, gorgon_blocks_mark(p, usage));
		gorgon_blocks_add(usage, size);
	}
	return p;
}

static inline void gorgon_blocks_forget_small(void *p, size_t size, struct gorgon_usage *usage)
{
	if (gorgon_blocks_is_marked(p, size, usage)) {
		gorgon_blocks_set_mark(p, size, 0);
		gorgon_blocks_take(usage, size);
	}
}

/* @p, which may be NULL, has gorgon_blocks_size() bytes of the C library's for the namespace: count
 * it. Returns @p. */
static inline void *gorgon_blocks_note(void *p, struct gorgon_usage *usage)
{
	size_t size;

	__asm__("" : "+r"(p)); /* as for gorgon_blocks_malloc() */
	size = p ? gorgon_blocks_usable(p) : 0;
	if (gorgon_blocks_is_large(size))
		gorgon_blocks_note_large(p, size, usage);
	else if (size >= sizeof(uint64_t)) /* or it is a sanitizer's block */
		gorgon_blocks_note_small(p, size, usage);
	return p;
}

/* @p is about to be freed, or may move: the namespace does not count it any more. A block that it
 * does not count is ignored. */
static inline void gorgon_blocks_forget(void *p, struct gorgon_usage *usage)
{
	size_t size = gorgon_blocks_usable(p);

	if (gorgon_blocks_is_large(size))
		gorgon_blocks_forget_large(p);
	else if (size >= sizeof(uint64_t))
		gorgon_blocks_forget_small(p, size, usage);
}

/* How many bytes of a block are its user's; see malloc_usable_size(3). */
static inline size_t gorgon_blocks_usable_size(void *p, const struct gorgon_usage *usage)
{
	size_t size = gorgon_blocks_usable(p);

	if (size < sizeof(uint64_t) || gorgon_blocks_is_large(size) ||
	    !gorgon_blocks_is_marked(p, size, usage))
		return size;
	return size - sizeof(uint64_t);
}

#endif
