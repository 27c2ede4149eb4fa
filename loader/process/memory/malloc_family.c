// SPDX-License-Identifier: MIT
// malloc() and its family for extensions. realloc() and free() get blocks of three kinds, and tell
// them apart by the address: libpython's (heap.c), blocks of extensions, which are counted
// (blocks.c), and all others, which are the C library's alone.

#define _GNU_SOURCE
#include "malloc_family.h"
#include "blocks.h"
#include "heap.h"
#include "zone_heap.h"
#include "ns/ns.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Where the call that this function is returns to.
#define CALLER __builtin_return_address(0)

static __attribute__((noinline)) void *malloc_slowly(size_t size, struct gorgon_usage *usage,
						     const void *caller)
{
	if (gorgon_zone_heap_is_open(usage->zone_heap))
		return gorgon_zone_heap_alloc(usage->zone_heap, 0, size, caller);
	return gorgon_blocks_allow(size, usage)
		       ? gorgon_blocks_note(malloc(gorgon_blocks_size(size)), usage)
		       : NULL;
}

static __attribute__((noinline)) void *note_slowly(void *p, struct gorgon_usage *usage)
{
	return gorgon_blocks_note(p, usage);
}

// Extensions call this function and free_quickly() for each block, so the usual way through them is
// short.
void *gorgon_malloc(size_t size, struct gorgon_usage *usage)
{
	void *p;

	if (__builtin_expect(size >= __atomic_load_n(&usage->quick_below, __ATOMIC_ACQUIRE), false))
		return malloc_slowly(size, usage, CALLER);
	p = gorgon_blocks_malloc(size + sizeof(uint64_t));
	if (__builtin_expect(p && gorgon_blocks_note_quickly(p, usage), true))
		return p;
	return note_slowly(p, usage);
}

void *gorgon_malloc_calloc(size_t count, size_t size, struct gorgon_usage *usage)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (gorgon_zone_heap_is_open(usage->zone_heap))
		return gorgon_zone_heap_alloc(usage->zone_heap, 0, bytes, CALLER);
	return gorgon_blocks_allow(bytes, usage)
		       ? gorgon_blocks_note(calloc(1, gorgon_blocks_size(bytes)), usage)
		       : NULL;
}

void *gorgon_malloc_aligned_alloc(size_t alignment, size_t size, struct gorgon_usage *usage)
{
	if (alignment & (alignment - 1))
		return aligned_alloc(alignment, size); // which C libraries refuse, or round up
	if (gorgon_zone_heap_is_open(usage->zone_heap))
		return gorgon_zone_heap_alloc(usage->zone_heap, alignment, size, CALLER);
	if (!gorgon_blocks_allow(size, usage))
		return NULL;
	// The counted block's size need be no multiple of the alignment, on which some replacements
	// of malloc() insist.
	return gorgon_blocks_note(memalign(alignment, gorgon_blocks_size(size)), usage);
}

int gorgon_malloc_posix_memalign(void **ret, size_t alignment, size_t size,
				 struct gorgon_usage *usage)
{
	int saved = errno, number = ENOMEM;

	if (gorgon_zone_heap_is_open(usage->zone_heap)) {
		void *p = gorgon_zone_heap_alloc(usage->zone_heap, alignment, size, CALLER);

		errno = saved;
		if (!p)
			return ENOMEM;
		*ret = p;
		return 0;
	}
	if (gorgon_blocks_allow(size, usage))
		number = posix_memalign(ret, alignment, gorgon_blocks_size(size));
	if (!number)
		gorgon_blocks_note(*ret, usage);
	errno = saved;
	return number;
}

void *gorgon_malloc_realloc(void *p, size_t size, struct gorgon_usage *usage)
{
	size_t before;
	void *ret;

	if (!p)
		return gorgon_malloc(size, usage);
	if (gorgon_zone_heap_owns(usage->zone_heap, p))
		return gorgon_zone_heap_fits(p, size)
			       ? p
			       : gorgon_zone_heap_move(usage->zone_heap, p, size,
						       size ? gorgon_malloc(size, usage) : NULL);
	if (gorgon_heap_is_listed(p))
		return gorgon_heap_resize(p, size);
	before = gorgon_blocks_usable(p);
	if (size > before && !gorgon_blocks_allow(size - before, usage))
		return NULL;
	// A block that cannot grow stays, uncounted for the moment in between.
	gorgon_blocks_forget(p, usage);
	ret = realloc(p, size ? gorgon_blocks_size(size) : 0);
	if (!ret && size)
		gorgon_blocks_note(p, usage);
	return gorgon_blocks_note(ret, usage);
}

void *gorgon_malloc_reallocarray(void *p, size_t count, size_t size, struct gorgon_usage *usage)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return gorgon_malloc_realloc(p, bytes, usage);
	errno = ENOMEM;
	return NULL;
}

size_t gorgon_malloc_usable_size(void *p, struct gorgon_usage *usage)
{
	if (!p)
		return 0;
	if (gorgon_zone_heap_owns(usage->zone_heap, p))
		return gorgon_zone_heap_usable(p);
	return gorgon_heap_is_listed(p) ? gorgon_heap_usable_size(p)
					: gorgon_blocks_usable_size(p, usage);
}

static __attribute__((noinline)) void free_any(void *p, struct gorgon_usage *usage)
{
	if (!p)
		return;
	if (gorgon_heap_is_listed(p)) {
		gorgon_heap_free(p);
		return;
	}
	gorgon_blocks_forget(p, usage);
	free(p);
}

// Where blocks show their sizes.
static void free_quickly(void *p, struct gorgon_usage *usage)
{
	if (__builtin_expect(!p || !gorgon_blocks_is_plain(p) ||
				     !gorgon_blocks_forget_quickly(p, usage),
			     false)) {
		free_any(p, usage);
		return;
	}
	gorgon_blocks_free(p);
}

// In namespaces with blocks in their zones.
static void free_with_zone(void *p, struct gorgon_usage *usage)
{
	if (gorgon_zone_heap_owns(usage->zone_heap, p))
		gorgon_zone_heap_free(usage->zone_heap, p);
	else if (gorgon_blocks_sizes_known)
		free_quickly(p, usage);
	else
		free_any(p, usage);
}

bool gorgon_malloc_begin_zone(struct gorgon_ns *ns, const struct gorgon_zone_seed *seed)
{
	if (!gorgon_zone_heap_begin(ns, seed))
		return false;
	ns->usage.free = free_with_zone;
	return true;
}

// C23, in the C library since 2.43. The block knows its size.
static void malloc_free_sized(void *p, size_t size, struct gorgon_usage *usage)
{
	(void)size;
	usage->free(p, usage);
}

static void malloc_free_aligned_sized(void *p, size_t alignment, size_t size,
				      struct gorgon_usage *usage)
{
	(void)alignment;
	malloc_free_sized(p, size, usage);
}

// The C library would take the block from its own malloc().
static char *malloc_strndup(const char *text, size_t size, struct gorgon_usage *usage)
{
	size_t length = strnlen(text, size);
	char *ret = gorgon_malloc(length + 1, usage);

	if (!ret)
		return NULL;
	memcpy(ret, text, length);
	ret[length] = 0;
	return ret;
}

static char *malloc_strdup(const char *text, struct gorgon_usage *usage)
{
	return malloc_strndup(text, strlen(text), usage);
}

// The functions get the namespace's usage.
struct malloc_state {
	struct gorgon_usage *usage;
};

static bool malloc_begin(void *state, struct gorgon_ns *ns)
{
	gorgon_blocks_begin(&ns->usage);
	ns->usage.free = gorgon_blocks_sizes_known ? free_quickly : free_any;
	ns->usage.quick = ns->usage.quick_below =
		gorgon_blocks_sizes_known ? GORGON_BLOCKS_QUICK : 0;
	((struct malloc_state *)state)->usage = &ns->usage;
	return true;
}

static void malloc_end(void *state)
{
	gorgon_blocks_release(((struct malloc_state *)state)->usage);
}

#define USAGE (offsetof(struct malloc_state, usage) | GORGON_BOUND_POINTER)

static const struct gorgon_bound bound[] = {
	{"malloc", gorgon_malloc, 1, USAGE, GORGON_OWN, "blocks of extensions are counted"},
	{"calloc", gorgon_malloc_calloc, 2, USAGE, GORGON_OWN, "as malloc"},
	{"realloc", gorgon_malloc_realloc, 2, USAGE, GORGON_OWN,
	 "as malloc; knows the blocks of both"},
	{"reallocarray", gorgon_malloc_reallocarray, 3, USAGE, GORGON_OWN, "as realloc"},
	{"aligned_alloc", gorgon_malloc_aligned_alloc, 2, USAGE, GORGON_OWN, "as malloc"},
	{"posix_memalign", gorgon_malloc_posix_memalign, 3, USAGE, GORGON_OWN, "as malloc"},
	{"malloc_usable_size", gorgon_malloc_usable_size, 1, USAGE, GORGON_OWN,
	 "as malloc: without what counting needs"},
	{"strdup", malloc_strdup, 1, USAGE, GORGON_OWN, "as malloc"},
	{"strndup", malloc_strndup, 2, USAGE, GORGON_OWN, "as malloc"},
	{"__strdup", malloc_strdup, 1, USAGE, GORGON_OWN, "as strdup: libgfortran calls it so"},
	{"__strndup", malloc_strndup, 2, USAGE, GORGON_OWN, "as __strdup"},
	{"free", NULL, 1, USAGE, GORGON_OWN, "knows the blocks of both"},
	{"free_sized", malloc_free_sized, 2, USAGE, GORGON_OWN, "as free"},
	{"free_aligned_sized", malloc_free_aligned_sized, 3, USAGE, GORGON_OWN, "as free"},
};

const struct gorgon_part gorgon_malloc_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct malloc_state),
	.begin = malloc_begin,
	.end = malloc_end,
	.when = GORGON_WHEN_HEAP,
	.loader_only = true,
};
