// SPDX-License-Identifier: MIT
// What CPython has allocated with malloc(), so that it goes with the namespace.
//
// Py_Finalize leaves a quarter of a megabyte behind, with numpy a whole one: type
// dictionaries, interned strings, code. Nobody can reach it once the interpreter is gone.
// So blocks that libpython itself allocates are kept in a list of the namespace; what is
// in it at the end is freed.
//
// Only libpython's own calls are listed. Memory of PyMem_RawMalloc() and its like must by
// contract be given back to PyMem_RawFree(), which is libpython's, too: nobody else frees
// it behind our back. An extension's malloc() may well end in a free() of the C library
// (getline, a callback of a shared library) and stays the process's.
//
// A listed block is one of the C library's with a header before what the caller gets. free() and
// realloc() of extensions (malloc_family.c), too, have to tell listed blocks from others by their
// address alone. Listed ones are never at the start of a page, so that the bytes before any other
// candidate are in the same page and readable, whichever malloc() made it; the mark in the header
// depends on the address and on a secret.
//
//	|-- gap: 0 or 16 --|-- next, prev, heap, mark --|-- the caller's --|
//	^ from malloc()                                 ^ not at a page
//
// The one block in 256 that needs the gap is made larger for it.

#define _GNU_SOURCE
#include "heap.h"
#include "blocks.h"
#include "zone_heap.h"
#include "base/clock.h"
#include "base/quick_lock.h"
#include "base/usage.h"
#include "ns/ns.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GAP	 16
#define HEADER	 GORGON_HEAP_HEADER
#define OVERHEAD (HEADER + GAP)

struct heap_link {
	struct heap_link *next, *prev;
};

struct gorgon_heap {
	struct heap_link blocks; // of a circle
	struct gorgon_quick_lock lock; // a leaf
	struct gorgon_usage *usage; // its heap_bytes change under the lock
};

struct gorgon_heap_block {
	struct heap_link link;
	struct gorgon_heap *heap;
	uint64_t mark; // bit 0: there is a gap
};

_Static_assert(sizeof(struct gorgon_heap_block) == HEADER && HEADER % 16 == 0,
	       "malloc()'s alignment");
_Static_assert(offsetof(struct gorgon_heap_block, mark) == HEADER - sizeof(uint64_t),
	       "gorgon_heap_is_listed()");

uint64_t gorgon_heap_secret;

void gorgon_heap_init(void)
{
	if (getrandom(&gorgon_heap_secret, sizeof(gorgon_heap_secret), GRND_NONBLOCK) !=
	    sizeof(gorgon_heap_secret))
		gorgon_heap_secret = gorgon_now() * UINT64_C(0x9e3779b97f4a7c15);
	// A mark is no size of a chunk.
	gorgon_heap_secret = (gorgon_heap_secret & ~UINT64_C(15)) | UINT64_C(1) << 63;
}

static uint64_t mark_of(const struct gorgon_heap_block *block)
{
	return (uintptr_t)block ^ gorgon_heap_secret;
}

// The header of a listed block, or NULL for all others.
static struct gorgon_heap_block *listed(void *p)
{
	return gorgon_heap_is_listed(p) ? (struct gorgon_heap_block *)p - 1 : NULL;
}

static void *base_of(const struct gorgon_heap_block *block)
{
	return (char *)block - (block->mark & 1 ? GAP : 0);
}

// The new block has @size bytes of the C library's, and its mark.
static inline void *heap_insert(struct gorgon_heap *heap, struct gorgon_heap_block *block,
				size_t size)
{
	uint64_t *bytes = &heap->usage->heap_bytes;

	block->heap = heap;
	gorgon_quick_lock(&heap->lock);
	block->link = (struct heap_link){heap->blocks.next, &heap->blocks};
	heap->blocks.next->prev = &block->link;
	heap->blocks.next = &block->link;
	__atomic_store_n(bytes, *bytes + size, __ATOMIC_RELAXED);
	gorgon_quick_unlock(&heap->lock);
	return block + 1;
}

static inline void remove_block(struct gorgon_heap_block *block)
{
	struct gorgon_heap *heap = block->heap;
	uint64_t *bytes = &heap->usage->heap_bytes;
	size_t size = gorgon_blocks_usable(base_of(block));

	gorgon_quick_lock(&heap->lock);
	block->link.next->prev = block->link.prev;
	block->link.prev->next = block->link.next;
	__atomic_store_n(bytes, *bytes - size, __ATOMIC_RELAXED);
	gorgon_quick_unlock(&heap->lock);
	block->mark = 0;
}

// Whether the limit allows a block of this size with its header.
static bool allowed(struct gorgon_heap *heap, size_t size)
{
	return size <= PTRDIFF_MAX && gorgon_usage_allow(heap->usage, size + OVERHEAD);
}

static bool needs_gap(const void *base)
{
	return !(((uintptr_t)base + HEADER) % GORGON_HEAP_PAGE);
}

// Make a new block larger by a gap, if it needs a gap; the added bytes are zeros. NULL: no memory,
// and the block is freed.
static void *make_room(void *base, size_t size)
{
	char *larger;

	if (!base || !needs_gap(base))
		return base;
	larger = realloc(base, size + OVERHEAD);
	if (larger)
		memset(larger + HEADER + size, 0, GAP);
	else
		free(base);
	return larger;
}

// Write the header of a block from malloc(), put it into the list, and return the caller's part.
static void *heap_adopt(struct gorgon_heap *heap, void *base)
{
	struct gorgon_heap_block *block = base;
	bool gap = needs_gap(base);

	if (gap)
		block = (struct gorgon_heap_block *)((char *)base + GAP);
	block->mark = mark_of(block) | gap;
	return heap_insert(heap, block, gorgon_blocks_usable(base));
}

// @base: what malloc() has returned.
static __attribute__((noinline)) void *finish_malloc(void *base, size_t size,
						     struct gorgon_heap *heap)
{
	base = make_room(base, size);
	if (base)
		return heap_adopt(heap, base);
	errno = ENOMEM;
	return NULL;
}

static __attribute__((noinline)) void *heap_malloc_slowly(size_t size, struct gorgon_heap *heap)
{
	if (gorgon_zone_heap_is_open(heap->usage->zone_heap))
		return gorgon_zone_heap_alloc(heap->usage->zone_heap, 0, size, NULL);
	return finish_malloc(allowed(heap, size) ? malloc(size + HEADER) : NULL, size, heap);
}

// CPython comes here, and to heap_release(), for each object of more than 512 bytes.
void *gorgon_heap_malloc(size_t size, struct gorgon_heap *heap)
{
	struct gorgon_heap_block *block;

	if (__builtin_expect(size >= __atomic_load_n(&heap->usage->quick_below, __ATOMIC_ACQUIRE),
			     false))
		return heap_malloc_slowly(size, heap);
	block = gorgon_blocks_malloc(size + HEADER);
	if (__builtin_expect(!block || needs_gap(block) || !gorgon_blocks_is_plain(block), false))
		return finish_malloc(block, size, heap);
	block->mark = mark_of(block);
	return heap_insert(heap, block, gorgon_blocks_plain_size(block));
}

void *gorgon_heap_calloc(size_t count, size_t size, struct gorgon_heap *heap)
{
	size_t bytes;
	void *base;

	if (gorgon_zone_heap_is_open(heap->usage->zone_heap) &&
	    !__builtin_mul_overflow(count, size, &bytes))
		return gorgon_zone_heap_alloc(heap->usage->zone_heap, 0, bytes, NULL);
	base = !__builtin_mul_overflow(count, size, &bytes) && allowed(heap, bytes)
		       ? make_room(calloc(1, bytes + HEADER), bytes)
		       : NULL;
	if (base)
		return heap_adopt(heap, base);
	errno = ENOMEM;
	return NULL;
}

// The block is taken out of the list while it moves. At its new place in a page it may need a gap,
// or need none any more.
static void *resize(struct gorgon_heap_block *block, size_t size)
{
	struct gorgon_heap *heap = block->heap;
	size_t old_off = block->mark & 1 ? GAP : 0, new_off, old_size;
	char *base;

	old_size = gorgon_blocks_usable((char *)block - old_off);
	if (size > PTRDIFF_MAX || (size > old_size && !allowed(heap, size - old_size))) {
		errno = ENOMEM;
		return NULL;
	}
	remove_block(block);
	base = realloc((char *)block - old_off, size + OVERHEAD);
	if (!base) {
		heap_adopt(heap, (char *)block - old_off);
		return NULL;
	}
	new_off = needs_gap(base) ? GAP : 0;
	if (new_off != old_off)
		memmove(base + new_off + sizeof(*block), base + old_off + sizeof(*block), size);
	return heap_adopt(heap, base);
}

void *gorgon_heap_resize(void *p, size_t size)
{
	struct gorgon_heap_block *block = listed(p);

	if (size)
		return resize(block, size);
	gorgon_heap_free(p);
	return NULL;
}

void gorgon_heap_free(void *p)
{
	struct gorgon_heap_block *block = (struct gorgon_heap_block *)p - 1;
	void *base = base_of(block);

	remove_block(block);
	free(base);
}

size_t gorgon_heap_usable_size(void *p)
{
	void *base = base_of(listed(p));

	return gorgon_blocks_usable(base) - (size_t)((char *)p - (char *)base);
}

void gorgon_heap_before_fork(struct gorgon_heap *heap)
{
	gorgon_quick_lock(&heap->lock);
}

void gorgon_heap_after_fork(struct gorgon_heap *heap)
{
	gorgon_quick_unlock(&heap->lock);
}

// free() of libpython, whose blocks are nearly all its own.
static void heap_release(void *p, struct gorgon_heap *heap)
{
	if (__builtin_expect(p && gorgon_heap_is_listed(p), true))
		gorgon_heap_free(p);
	else
		heap->usage->free(p, heap->usage);
}

void *gorgon_heap_realloc(void *p, size_t size, struct gorgon_heap *heap)
{
	if (!p)
		return gorgon_heap_malloc(size, heap);
	if (gorgon_zone_heap_owns(heap->usage->zone_heap, p))
		return gorgon_zone_heap_fits(p, size)
			       ? p
			       : gorgon_zone_heap_move(heap->usage->zone_heap, p, size,
						       size ? gorgon_heap_malloc(size, heap)
							    : NULL);
	if (listed(p))
		return gorgon_heap_resize(p, size);
	gorgon_blocks_forget(p, heap->usage);
	return realloc(p, size);
}

static bool heap_begin(void *state, struct gorgon_ns *ns)
{
	struct gorgon_heap *heap = state;

	heap->blocks = (struct heap_link){&heap->blocks, &heap->blocks};
	heap->usage = &ns->usage;
	return true;
}

static void heap_end(void *state)
{
	struct gorgon_heap *heap = state;
	struct heap_link *link = heap->blocks.next, *next;

	for (; link != &heap->blocks; link = next) {
		struct gorgon_heap_block *block = (struct gorgon_heap_block *)link;
		void *base = base_of(block);

		next = link->next;
		block->mark = 0;
		free(base);
	}
}

static const struct gorgon_bound bound[] = {
	{"malloc", gorgon_heap_malloc, 1, 0, GORGON_OWN,
	 "what CPython leaves behind goes with its namespace"},
	{"calloc", gorgon_heap_calloc, 2, 0, GORGON_OWN, "as malloc"},
	{"realloc", gorgon_heap_realloc, 2, 0, GORGON_OWN, "as malloc"},
	{"free", heap_release, 1, 0, GORGON_OWN, "knows the blocks of both"},
};

const struct gorgon_part gorgon_heap_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_heap),
	.begin = heap_begin,
	.end = heap_end,
	.when = GORGON_WHEN_HEAP_OF_PYTHON,
	.loader_only = true,
};
