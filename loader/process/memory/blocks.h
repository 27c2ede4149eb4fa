/* SPDX-License-Identifier: MIT */
/* Blocks that extensions have from malloc(), counted. See blocks.c. The functions that run for each
 * block are inline in this header. */
#ifndef GORGON_PROCESS_BLOCKS_H
#define GORGON_PROCESS_BLOCKS_H

#include "base/checker.h"
#include "base/usage.h"
#include "ns/thread.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* With known sizes, and without a limit, blocks below this size are had in the quick way. No block
 * is larger. */
#define GORGON_BLOCKS_QUICK (UINT64_C(1) << 46)

struct gorgon_part;

/* The namespace of @usage begins. */
void gorgon_blocks_begin(struct gorgon_usage *usage);
/* No code of it runs any more. */
void gorgon_blocks_release(const struct gorgon_usage *usage);

/* Under a memory checker: put a block into the table, and take it out. */
void gorgon_blocks_note_checked(void *p, size_t size, struct gorgon_usage *usage);
void gorgon_blocks_forget_checked(void *p);

/* Count @size bytes more for a namespace, and tell it what this thread has counted. A thread may
 * have counted for another one before. */
void gorgon_blocks_add_slowly(struct gorgon_usage *usage, uint64_t size);
/* A block with the mark of a namespace, which @mark tells: it does not count there any more. */
void gorgon_blocks_take_marked(uint64_t mark, size_t size);

extern const struct gorgon_part gorgon_blocks_part; /* its lock, for fork() */

/* Whether the C library's malloc() is glibc's own, so that the word before a block is the size of
 * its chunk, with flags: chunks are multiples of 16 bytes, and a block has all of its chunk but
 * this word. */
extern bool gorgon_blocks_sizes_known;

/* flag: the chunk is a mapping of its own, and the block a word shorter */
#define GORGON_BLOCKS_MAPPED UINT64_C(2)
#define GORGON_BLOCKS_FLAGS  UINT64_C(7)
/* bits that no chunk has, unless it is mapped */
#define GORGON_BLOCKS_OTHER  (~UINT64_C(0xfffffffffff5))

/* malloc(3), of which the compiler does not know that it reads memory that nobody has written, and
 * in front of the block. */
extern void *gorgon_blocks_malloc(size_t size) __asm__("malloc") __attribute__((noplt));
/* This is free(3). Calls of both leave out the linkage table, which saves 5%. */
extern void gorgon_blocks_free(void *p) __asm__("free") __attribute__((noplt));

static inline uint64_t gorgon_blocks_chunk(const void *p)
{
	return ((const uint64_t *)p)[-1];
}

/* Whether a block of any kind is one of the C library's in memory that it shares with others. Sizes
 * are known. Where the C library has the size, a block of libpython's has its mark, which is no
 * size. */
static inline bool gorgon_blocks_is_plain(const void *p)
{
	return !(gorgon_blocks_chunk(p) & GORGON_BLOCKS_OTHER);
}

/* gorgon_blocks_usable() of such a block. */
static inline size_t gorgon_blocks_plain_size(const void *p)
{
	return (gorgon_blocks_chunk(p) & ~GORGON_BLOCKS_FLAGS) - sizeof(uint64_t);
}

/* Whether a block of the C library's is a mapping of its own, as far as is known. */
static inline bool gorgon_blocks_is_mapped(const void *p)
{
	return gorgon_blocks_sizes_known && gorgon_blocks_chunk(p) & GORGON_BLOCKS_MAPPED;
}

/* malloc_usable_size(3) of a block of the C library's. */
static inline size_t gorgon_blocks_usable(void *p)
{
	return !gorgon_blocks_sizes_known || gorgon_blocks_is_mapped(p)
		       ? malloc_usable_size(p)
		       : gorgon_blocks_plain_size(p);
}

/* The size to ask the C library for, so that a block of @size bytes can be counted. */
static inline size_t gorgon_blocks_size(size_t size)
{
	return gorgon_checker || size > PTRDIFF_MAX ? size : size + sizeof(uint64_t);
}

/* Count @size bytes more, which may be negative. The sum is this thread's own at first: an atomic
 * addition would cost as much as malloc(). False: gorgon_blocks_add_slowly() is needed. */
static inline bool gorgon_blocks_add_quickly(struct gorgon_usage *usage, uint64_t size)
{
	struct gorgon_untold *untold = gorgon_untold_current;
	uint64_t sum;

	if (__builtin_expect(__atomic_load_n(&untold->usage, __ATOMIC_RELAXED) != usage, false))
		return false;
	sum = __atomic_load_n(&untold->bytes, __ATOMIC_RELAXED) + size;
	if (__builtin_expect(sum <= 2 * GORGON_UNTOLD_MAX, true))
		__atomic_store_n(&untold->bytes, sum, __ATOMIC_RELAXED);
	else if (size + GORGON_UNTOLD_MAX > 2 * GORGON_UNTOLD_MAX)
		__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
	else
		return false;
	return true;
}

static inline void gorgon_blocks_add(struct gorgon_usage *usage, uint64_t size)
{
	if (!gorgon_blocks_add_quickly(usage, size))
		gorgon_blocks_add_slowly(usage, size);
}

/* Whether the namespace may have @size bytes more; otherwise errno is ENOMEM. */
static inline bool gorgon_blocks_allow(size_t size, struct gorgon_usage *usage)
{
	/* Of what is too large the C library says so. */
	if (size > PTRDIFF_MAX || !__atomic_load_n(&usage->limit, __ATOMIC_ACQUIRE))
		return true;
	gorgon_blocks_add_slowly(usage, 0);
	if (gorgon_usage_allow_within(usage, size))
		return true;
	errno = ENOMEM;
	return false;
}

static inline char *gorgon_blocks_place(const void *p, size_t size)
{
	return (char *)(uintptr_t)p + size - sizeof(uint64_t);
}

/* What a block's mark says: 0 that it counts for @usage, and gorgon_blocks_is_others() whether for
 * another namespace. The bytes may never have been written, or belong to the user of a block
 * without a mark. */
__attribute__((no_sanitize("address", "thread"))) static inline uint64_t
gorgon_blocks_mark(const void *p, size_t size, const struct gorgon_usage *usage)
{
	uint64_t mark;

	memcpy(&mark, gorgon_blocks_place(p, size), sizeof(mark));
	return mark ^ (uintptr_t)p ^ usage->secret;
}

/* The secrets of namespaces differ in the 16 highest bits. */
static inline bool gorgon_blocks_is_others(uint64_t mark)
{
	return !(mark << 16);
}

static inline void gorgon_blocks_set_mark(void *p, size_t size, uint64_t mark)
{
	memcpy(gorgon_blocks_place(p, size), &mark, sizeof(mark));
}

static inline void gorgon_blocks_count(void *p, size_t size, struct gorgon_usage *usage)
{
	gorgon_blocks_set_mark(p, size, (uintptr_t)p ^ usage->secret);
	gorgon_blocks_add(usage, size);
}

static inline void gorgon_blocks_note_plain(void *p, size_t size, struct gorgon_usage *usage)
{
	uint64_t mark = gorgon_blocks_mark(p, size, usage);

	/* If it has a mark already, code that does not count has freed it. */
	if (gorgon_blocks_is_others(mark))
		gorgon_blocks_take_marked(mark ^ usage->secret, size);
	gorgon_blocks_count(p, size, usage);
}

static inline void gorgon_blocks_forget_plain(void *p, size_t size, struct gorgon_usage *usage)
{
	uint64_t mark = gorgon_blocks_mark(p, size, usage);

	if (!gorgon_blocks_is_others(mark))
		return;
	gorgon_blocks_set_mark(p, size, 0);
	if (mark)
		gorgon_blocks_take_marked(mark ^ usage->secret, size);
	else
		gorgon_blocks_add(usage, -(uint64_t)size);
}

/* gorgon_blocks_note() of a block that malloc() has just given, where sizes are known, and
 * gorgon_blocks_forget() of a plain block. False: nothing is done. */
static inline bool gorgon_blocks_note_quickly(void *p, struct gorgon_usage *usage)
{
	uint64_t chunk = gorgon_blocks_chunk(p), new = (uintptr_t)p ^ usage->secret, old;
	size_t size = gorgon_blocks_plain_size(p);

	if (__builtin_expect(chunk & GORGON_BLOCKS_MAPPED, false))
		return false;
	memcpy(&old, gorgon_blocks_place(p, size), sizeof(old));
	if (__builtin_expect(gorgon_blocks_is_others(old ^ new), false) ||
	    !gorgon_blocks_add_quickly(usage, size))
		return false;
	gorgon_blocks_set_mark(p, size, new);
	return true;
}

static inline bool gorgon_blocks_forget_quickly(void *p, struct gorgon_usage *usage)
{
	size_t size = gorgon_blocks_plain_size(p);

	if (__builtin_expect(gorgon_blocks_mark(p, size, usage) != 0, false) ||
	    !gorgon_blocks_add_quickly(usage, -(uint64_t)size))
		return false;
	gorgon_blocks_set_mark(p, size, 0);
	return true;
}

/* @p, which may be NULL, has gorgon_blocks_size() bytes of the C library's for the namespace: count
 * it. Returns @p. */
static inline void *gorgon_blocks_note(void *p, struct gorgon_usage *usage)
{
	size_t size;

	__asm__("" : "+r"(p)); /* as for gorgon_blocks_malloc() */
	size = p ? gorgon_blocks_usable(p) : 0;
	if (gorgon_checker && p)
		gorgon_blocks_note_checked(p, size, usage);
	else if (size < sizeof(uint64_t))
		return p;
	else if (gorgon_blocks_is_mapped(p)) /* nobody has had this memory before */
		gorgon_blocks_count(p, size, usage);
	else
		gorgon_blocks_note_plain(p, size, usage);
	return p;
}

/* @p is about to be freed, or may move: the namespace does not count it any more. A block that
 * nobody counts is ignored. */
static inline void gorgon_blocks_forget(void *p, struct gorgon_usage *usage)
{
	size_t size = gorgon_blocks_usable(p);

	if (gorgon_checker)
		gorgon_blocks_forget_checked(p);
	else if (size >= sizeof(uint64_t))
		gorgon_blocks_forget_plain(p, size, usage);
}

/* How many bytes of a block are its user's; see malloc_usable_size(3). */
static inline size_t gorgon_blocks_usable_size(void *p, const struct gorgon_usage *usage)
{
	size_t size = gorgon_blocks_usable(p);

	if (gorgon_checker || size < sizeof(uint64_t) ||
	    !gorgon_blocks_is_others(gorgon_blocks_mark(p, size, usage)))
		return size;
	return size - sizeof(uint64_t);
}

#endif
