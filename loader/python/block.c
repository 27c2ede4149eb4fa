// SPDX-License-Identifier: MIT
// Counted memory of the host.
//
// Arrays go from one interpreter to another without a copy, so their memory is nobody's
// alone: who holds it counts, and the last holder frees it, in its own thread, without any
// lock or GIL. An interpreter's end takes one holder away and nothing else.
//
// Memory is the C library's, with a header in front of the data:
//
//	|-- up to 48 --|-- struct gorgon_block --|-- data --|
//	^ from malloc()				 ^ a multiple of 64
//
// so that a data pointer leads to its block (NEP 49: free() gets no more than that). The
// block of memory that belongs to somebody else stands alone and knows whom to tell.

#define _GNU_SOURCE
#include "block.h"
#include "base/error.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALIGN	 64
#define OVERHEAD (sizeof(struct gorgon_block) + ALIGN - 8)

struct foreign {
	struct gorgon_block block;
	void (*destroy)(void *ctx, void *data);
	void *ctx;
};

static uint64_t mark_of(const struct gorgon_block *block)
{
	return (uintptr_t)block ^ UINT64_C(0x676f72676f6e2121);
}

// Where the data go in what malloc() gave.
static void *place(void *base)
{
	return (void *)(((uintptr_t)base + OVERHEAD) & -(uintptr_t)ALIGN);
}

static struct gorgon_block *init(void *base, size_t size)
{
	struct gorgon_block *block = (struct gorgon_block *)place(base) - 1;

	*block = (struct gorgon_block){
		.count = 1,
		.data = (char *)(block + 1),
		.size = size,
		.capacity = size,
		.offset = (size_t)((char *)(block + 1) - (char *)base),
		.mark = mark_of(block),
	};
	return block;
}

struct gorgon_block *gorgon_block_create(size_t size, bool zeroed)
{
	void *base;

	if (size > PTRDIFF_MAX - OVERHEAD)
		return NULL;
	// calloc() does not touch what the system has just given.
	base = zeroed ? calloc(1, size + OVERHEAD) : malloc(size + OVERHEAD);
	return base ? init(base, size) : NULL;
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

// The system call: libnuma would be a dependency for this alone.
static struct gorgon_error *bind_to_nodes(void *data, size_t size, uint64_t nodes)
{
	// It takes the number of bits plus one.
	if (!syscall(SYS_mbind, data, size, MPOL_BIND, &nodes, 8 * sizeof(nodes) + 1, 0))
		return NULL;
	if (errno == ENOSYS)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "array: NUMA nodes %#lx: this kernel has no memory policies (mbind)",
					   nodes);
	if (errno == EINVAL)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "array: NUMA nodes %#lx: none of them is a node that this process "
					   "may use", nodes);
	return gorgon_error_create_os(errno, "array: NUMA nodes %#lx: mbind", nodes);
}

static void unmap(void *size, void *data)
{
	munmap(data, (size_t)size);
}

// A policy belongs to pages: in malloc()'s it would outlive the block.
struct gorgon_error *gorgon_block_create_on_nodes(size_t size, uint64_t nodes,
						  struct gorgon_block **ret)
{
	size_t mapped = size ?: 1;
	void *data = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gorgon_error *err;

	if (data == MAP_FAILED)
		return &gorgon_error_nomem;
	err = bind_to_nodes(data, mapped, nodes);
	if (!err) {
		*ret = gorgon_block_wrap(data, size, unmap, (void *)mapped);
		err = *ret ? NULL : &gorgon_error_nomem;
	}
	if (err)
		munmap(data, mapped);
	return err;
}

void gorgon_block_hold(struct gorgon_block *block)
{
	// Whoever calls holds it already: nothing to wait for.
	__atomic_add_fetch(&block->count, 1, __ATOMIC_RELAXED);
}

void gorgon_block_release(struct gorgon_block *block)
{
	// What other holders have written comes before the end of the memory.
	if (!block || __atomic_sub_fetch(&block->count, 1, __ATOMIC_ACQ_REL))
		return;
	if (block->offset) {
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
static struct gorgon_block *resize_own(struct gorgon_block *block, size_t size)
{
	size_t kept = size < block->size ? size : block->size;
	size_t offset = block->offset;
	char *base;

	if (size > PTRDIFF_MAX - OVERHEAD)
		return NULL;
	base = realloc(block->data - offset, size + OVERHEAD);
	if (!base)
		return NULL;
	// The distance to a multiple of 64 may be another one now.
	memmove(place(base), base + offset, kept);
	return init(base, size);
}

struct gorgon_block *gorgon_block_resize(struct gorgon_block *block, size_t size)
{
	struct gorgon_block *ret;

	if (block->offset && __atomic_load_n(&block->count, __ATOMIC_ACQUIRE) == 1)
		return resize_own(block, size);
	ret = gorgon_block_create(size, false);
	if (!ret)
		return NULL;
	memcpy(ret->data, block->data, size < block->size ? size : block->size);
	gorgon_block_release(block);
	return ret;
}

void gorgon_block_use_huge_pages(struct gorgon_block *block)
{
	uintptr_t page = (uintptr_t)getpagesize();
	uintptr_t start = ((uintptr_t)block->data + page - 1) & -page;
	uintptr_t end = ((uintptr_t)block->data + block->size) & -page;

	// A wish: a system without huge pages refuses, and all works as well.
	if (start < end)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

struct gorgon_block *gorgon_block_of(void *data)
{
	struct gorgon_block *block = (struct gorgon_block *)data - 1;

	if ((uintptr_t)data % ALIGN || block->mark != mark_of(block))
		return NULL;
	return block;
}
