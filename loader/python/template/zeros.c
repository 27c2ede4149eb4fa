// SPDX-License-Identifier: MIT
// Memory of objects that begins with zeros, in an interpreter that is compared with others.
//
// CPython does not fill what it allocates, and does not use all of it: what a block held before
// would be there, would differ, and would look like addresses. So its allocators for objects and
// for buffers get functions in front, by PyMem_SetAllocator(), which are taken away again before
// the comparison. A block of at most 512 bytes lies in a pool that knows the size of its blocks;
// others are of malloc(), and are zeros (process/memory/zone_heap.c).

#include "zeros.h"
#include "ns/ns.h"
#include "process/memory/zone_heap.h"

#include <string.h>

#define SMALL     512
#define POOL_SIZE UINT64_C(16384)
#define CLASS_AT  36              // in the head of a pool

typedef void allocator_fn(int domain, struct gorgon_python_allocator *allocator);

enum { FIRST_DOMAIN = 1 }; // PYMEM_DOMAIN_MEM; PYMEM_DOMAIN_OBJ follows

// Bytes of a block in a pool; 0: it is a block of malloc(). Pools are in what is mapped in the
// zone.
static size_t room_of(const struct gorgon_zeros_of *of, const void *p)
{
	uint32_t class;

	if ((uintptr_t)p - of->interp->ns->zone - GORGON_ZONE_MAPS >=
	    GORGON_ZONE_END - GORGON_ZONE_MAPS)
		return 0;
	memcpy(&class, (const char *)((uintptr_t)p & -POOL_SIZE) + CLASS_AT, sizeof(class));
	return ((size_t) class + 1) * 16;
}

static void *zeros_malloc(void *ctx, size_t size)
{
	const struct gorgon_zeros_of *of = ctx;
	void *ret = of->before.malloc(of->before.ctx, size);

	if (ret && size <= SMALL)
		memset(ret, 0, room_of(of, ret));
	return ret;
}

static void *zeros_calloc(void *ctx, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : zeros_malloc(ctx, bytes ?: 1);
}

static void *zeros_realloc(void *ctx, void *p, size_t size)
{
	const struct gorgon_zeros_of *of = ctx;
	size_t room = p ? room_of(of, p) : 0;
	void *ret;

	if (!p)
		return zeros_malloc(ctx, size);
	if (!room || size <= room)
		return of->before.realloc(of->before.ctx, p, size);
	ret = zeros_malloc(ctx, size);
	if (ret) {
		memcpy(ret, p, room);
		of->before.free(of->before.ctx, p);
	}
	return ret;
}

static void zeros_free(void *ctx, void *p)
{
	const struct gorgon_zeros_of *of = ctx;

	of->before.free(of->before.ctx, p);
}

bool gorgon_zeros_begin(const struct gorgon_interp *interp, struct gorgon_zeros *zeros)
{
	allocator_fn *get = (allocator_fn *)gorgon_interp_find_api(interp, "PyMem_GetAllocator"),
		     *set = (allocator_fn *)gorgon_interp_find_api(interp, "PyMem_SetAllocator");

	if (!get || !set)
		return false;
	for (int i = 0; i < 2; i++) {
		struct gorgon_python_allocator allocator = {
			&zeros->of[i], zeros_malloc, zeros_calloc, zeros_realloc, zeros_free};

		zeros->of[i].interp = interp;
		get(FIRST_DOMAIN + i, &zeros->of[i].before);
		set(FIRST_DOMAIN + i, &allocator);
	}
	return true;
}

bool gorgon_zeros_are_used(const struct gorgon_zeros *zeros)
{
	for (int i = 0; i < 2; i++) {
		struct gorgon_python_allocator now;

		((allocator_fn *)gorgon_interp_find_api(zeros->of[i].interp, "PyMem_GetAllocator"))(
			FIRST_DOMAIN + i, &now);
		if (now.ctx != &zeros->of[i])
			return false;
	}
	return true;
}

void gorgon_zeros_end(struct gorgon_zeros *zeros)
{
	for (int i = 0; i < 2; i++) {
		const struct gorgon_zeros_of *of = &zeros->of[i];

		if (of->interp)
			((allocator_fn *)gorgon_interp_find_api(of->interp, "PyMem_SetAllocator"))(
				FIRST_DOMAIN + i, &zeros->of[i].before);
	}
}
