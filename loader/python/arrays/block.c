// SPDX-License-Identifier: MIT
// Counted memory of the host.
//
// Arrays go from one interpreter to another without a copy, so their memory has several holders,
// which are counted: the last holder frees it, on its own thread, without any lock or GIL. The end
// of an interpreter takes holders away and nothing else.
//
// Memory is the C library's, with a header in front of the data:
//
//	|-- up to 48 --|-- struct gorgon_block --|-- data --|
//	^ from malloc()				 ^ a multiple of 64
//
// so that a data pointer leads to its block (NEP 49: free() gets only the pointer). A block over
// memory of another owner is allocated apart and has a function that tells the owner.

#define _GNU_SOURCE
#include "block.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN GORGON_PLACEMENT_ALIGN

struct foreign {
	struct gorgon_block block;
	void (*destroy)(void *ctx, void *data);
	void *ctx;
};

static uint64_t mark_of(const struct gorgon_block *block)
{
	return (uintptr_t)block ^ UINT64_C(0x676f72676f6e2121);
}

// What malloc() gives is a multiple of 16.
static size_t overhead(size_t align)
{
	return sizeof(struct gorgon_block) + align - 8;
}

// Where the data go in what malloc() gave.
static void *place(void *base, size_t align)
{
	return (void *)(((uintptr_t)base + overhead(align)) & -(uintptr_t)align);
}

static struct gorgon_block *init(void *base, void *data, size_t size)
{
	struct gorgon_block *block = (struct gorgon_block *)data - 1;

	*block = (struct gorgon_block){
		.count = 1,
		.data = (char *)(block + 1),
		.size = size,
		.capacity = size,
		.offset = (uint32_t)((char *)(block + 1) - (char *)base),
		.mark = mark_of(block),
	};
	return block;
}

struct gorgon_block *gorgon_block_create(size_t size, bool zeroed)
{
	void *base;

	if (size > PTRDIFF_MAX - overhead(ALIGN))
		return NULL;
	// calloc() does not touch what the system has just given.
	base = zeroed ? calloc(1, size + overhead(ALIGN)) : malloc(size + overhead(ALIGN));
	return base ? init(base, place(base, ALIGN), size) : NULL;
}

struct gorgon_block *gorgon_block_wrap(void *data, size_t size,
				       void (*destroy)(void *ctx, void *data), void *ctx)
{
	struct foreign *foreign = calloc(1, sizeof(*foreign));

	if (!foreign)
		return NULL;
	foreign->block.count = 1;
	foreign->block.data = data;
	foreign->block.size = size;
	foreign->destroy = destroy;
	foreign->ctx = ctx;
	return &foreign->block;
}

// More alignment than that of other blocks, or a mapping of its own.
struct gorgon_error *gorgon_block_create_placed(size_t size,
						const struct gorgon_placement *placement,
						struct gorgon_block **ret)
{
	size_t align = placement->alignment > ALIGN ? placement->alignment : ALIGN;
	struct gorgon_block *block;
	struct gorgon_pages pages;
	struct gorgon_error *err;
	void *base;

	if (!gorgon_placement_needs_pages(placement, size)) {
		if (size > PTRDIFF_MAX - overhead(align) ||
		    !(base = calloc(1, size + overhead(align))))
			return &gorgon_error_nomem;
		*ret = init(base, place(base, align), size);
		return NULL;
	}
	if ((err = gorgon_placement_map(placement, size, sizeof(*block), &pages)))
		return err;
	block = init(pages.base, pages.data, size);
	block->mapped = pages.size;
	*ret = block;
	return NULL;
}

void gorgon_block_hold(struct gorgon_block *block)
{
	// The caller holds the block already, so this needs no order with what others do.
	__atomic_add_fetch(&block->count, 1, __ATOMIC_RELAXED);
}

void gorgon_block_release(struct gorgon_block *block)
{
	// What other holders have written comes before the end of the memory.
	if (!block || __atomic_sub_fetch(&block->count, 1, __ATOMIC_ACQ_REL))
		return;
	if (block->mapped) {
		munmap(block->data - block->offset, block->mapped);
	} else if (block->offset) {
		block->mark = 0;
		free(block->data - block->offset);
	} else {
		struct foreign *foreign = (struct foreign *)block;

		if (foreign->destroy)
			foreign->destroy(foreign->ctx, block->data);
		free(foreign);
	}
}

// Nobody else knows of the block, so nobody can begin to hold it meanwhile.
struct gorgon_block *gorgon_block_resize(struct gorgon_block *block, size_t size)
{
	size_t kept = size < block->size ? size : block->size;
	size_t offset = block->offset;
	char *base;

	if (size > PTRDIFF_MAX - overhead(ALIGN))
		return NULL;
	base = realloc(block->data - offset, size + overhead(ALIGN));
	if (!base)
		return NULL;
	// The distance to a multiple of 64 may be another one now.
	memmove(place(base, ALIGN), base + offset, kept);
	return init(base, place(base, ALIGN), size);
}

void gorgon_block_use_huge_pages(struct gorgon_block *block)
{
	uintptr_t page = (uintptr_t)getpagesize();
	uintptr_t start = ((uintptr_t)block->data + page - 1) & -page;
	uintptr_t end = ((uintptr_t)block->data + block->size) & -page;

	// A system without huge pages refuses, and gives small ones.
	if (start < end)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

struct gorgon_block *gorgon_block_create_for_copy(size_t size)
{
	struct gorgon_block *ret = gorgon_block_create(size, false);

	if (ret && size >= GORGON_BLOCK_HUGE_PAGES_MIN)
		gorgon_block_use_huge_pages(ret);
	return ret;
}

struct gorgon_block *gorgon_block_of(void *data)
{
	struct gorgon_block *block = (struct gorgon_block *)data - 1;

	if ((uintptr_t)data % ALIGN || block->mark != mark_of(block))
		return NULL;
	return block;
}
