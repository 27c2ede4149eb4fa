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
// A listed block is one of the C library's with a header before what the caller gets.
// free() and realloc() of extensions (malloc_family.c), too, have to tell listed blocks from others by their
// address alone. Listed ones are never at the start of a page, so that the bytes before
// any other candidate are in the same page and readable, whichever malloc() made it; the
// mark in the header depends on the address and on a secret.
//
//	|-- gap: 0 or 16 --|-- next, prev, heap, mark --|-- the caller's --|
//	^ from malloc()                                 ^ not at a page
//
// The one block in 256 that needs the gap is made larger for it.

#define _GNU_SOURCE
#include "heap.h"
#include "blocks.h"
#include "base/clock.h"
#include "base/usage.h"
#include "ns/ns.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GAP	 16
#define HEADER	 GORGON_HEAP_HEADER
#define OVERHEAD (HEADER + GAP)

struct gorgon_heap {
	pthread_mutex_t lock; // a leaf
	struct gorgon_heap_block *blocks;
	struct gorgon_usage *usage;
};

struct gorgon_heap_block {
	struct gorgon_heap_block *next, *prev;
	struct gorgon_heap *heap;
	uint64_t mark; // bit 0: there is a gap
};

_Static_assert(sizeof(struct gorgon_heap_block) == HEADER && HEADER % 16 == 0, "malloc()'s alignment");
_Static_assert(offsetof(struct gorgon_heap_block, mark) == HEADER - sizeof(uint64_t), "gorgon_heap_is_listed()");

uint64_t gorgon_heap_secret;

__attribute__((constructor(199))) static void init_secret(void)
{
	if (getrandom(&gorgon_heap_secret, sizeof(gorgon_heap_secret), GRND_NONBLOCK) != sizeof(gorgon_heap_secret))
		gorgon_heap_secret = gorgon_now() * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t mark_of(const struct gorgon_heap_block *block)
{
	return ((uintptr_t)block ^ gorgon_heap_secret) & ~UINT64_C(15);
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

static void heap_insert(struct gorgon_heap *heap, struct gorgon_heap_block *block)
{
	pthread_mutex_lock(&heap->lock);
	block->heap = heap;
	block->prev = NULL;
	block->next = heap->blocks;
	if (heap->blocks)
		heap->blocks->prev = block;
	heap->blocks = block;
	pthread_mutex_unlock(&heap->lock);
	__atomic_add_fetch(&heap->usage->heap_bytes, gorgon_blocks_usable(base_of(block)),
			   __ATOMIC_RELAXED);
}

static void remove_block(struct gorgon_heap_block *block)
{
	struct gorgon_heap *heap = block->heap;

	pthread_mutex_lock(&heap->lock);
	if (block->prev)
		block->prev->next = block->next;
	else
		heap->blocks = block->next;
	if (block->next)
		block->next->prev = block->prev;
	pthread_mutex_unlock(&heap->lock);
	__atomic_sub_fetch(&heap->usage->heap_bytes, gorgon_blocks_usable(base_of(block)),
			   __ATOMIC_RELAXED);
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

// Make a new block larger by a gap, if it needs a gap; the added bytes are zeros. NULL: no memory, and
// the block is freed.
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
	heap_insert(heap, block);
	return block + 1;
}

void *gorgon_heap_malloc(size_t size, struct gorgon_heap *heap)
{
	void *base = allowed(heap, size) ? make_room(malloc(size + HEADER), size) : NULL;

	if (base)
		return heap_adopt(heap, base);
	errno = ENOMEM;
	return NULL;
}

void *gorgon_heap_calloc(size_t count, size_t size, struct gorgon_heap *heap)
{
	size_t bytes;
	void *base;

	base = !__builtin_mul_overflow(count, size, &bytes) && allowed(heap, bytes)
		       ? make_room(calloc(1, bytes + HEADER), bytes)
		       : NULL;
	if (base)
		return heap_adopt(heap, base);
	errno = ENOMEM;
	return NULL;
}

// The block is taken out of the list while it moves. At its new place in a page it may need a gap, or
// need none any more.
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
	struct gorgon_heap_block *block = listed(p);
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
	pthread_mutex_lock(&heap->lock);
}

void gorgon_heap_after_fork(struct gorgon_heap *heap)
{
	pthread_mutex_unlock(&heap->lock);
}

void *gorgon_heap_realloc(void *p, size_t size, struct gorgon_heap *heap)
{
	if (!p)
		return gorgon_heap_malloc(size, heap);
	if (listed(p))
		return gorgon_heap_resize(p, size);
	gorgon_blocks_forget(p, heap->usage);
	return realloc(p, size);
}

static bool heap_begin(void *state, struct gorgon_ns *ns)
{
	struct gorgon_heap *heap = state;

	pthread_mutex_init(&heap->lock, NULL);
	heap->usage = &ns->usage;
	return true;
}

static void heap_end(void *state)
{
	struct gorgon_heap *heap = state;
	struct gorgon_heap_block *block = heap->blocks, *next;

	for (; block; block = next) {
		void *base = base_of(block);

		next = block->next;
		block->mark = 0;
		free(base);
	}
	pthread_mutex_destroy(&heap->lock);
}

static const struct gorgon_bound bound[] = {
	{"malloc", gorgon_heap_malloc, 1, 0, GORGON_OWN,
	 "what CPython leaves behind goes with its namespace"},
	{"calloc", gorgon_heap_calloc, 2, 0, GORGON_OWN, "as malloc"},
	{"realloc", gorgon_heap_realloc, 2, 0, GORGON_OWN, "as malloc"},
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
