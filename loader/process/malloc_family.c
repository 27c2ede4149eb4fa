// SPDX-License-Identifier: MIT
// malloc() and its family for extensions. realloc() and free() get blocks of three kinds, and tell
// them apart by the address: libpython's (heap.c), large blocks of extensions, which are counted
// (large.c), and all others, which are the C library's alone.

#include "malloc_family.h"
#include "heap.h"
#include "large.h"
#include "ns/ns.h"

#include <malloc.h>
#include <stdlib.h>

static void *resize(void *p, size_t size)
{
	if (p && gorgon_heap_is_listed(p))
		return gorgon_heap_resize(p, size);
	if (p)
		gorgon_large_forget(p);
	return realloc(p, size);
}

// A block that cannot grow stays, uncounted for the moment in between.
void *gorgon_malloc_realloc(void *p, size_t size, const struct gorgon_large *large)
{
	size_t before = p && size >= GORGON_LARGE_MIN && !gorgon_heap_is_listed(p) ? malloc_usable_size(p) : 0;
	void *ret;

	// What is below the size that counts was not counted.
	if (size > before && !gorgon_large_allow(before < GORGON_LARGE_MIN ? size : size - before, large))
		return NULL;
	ret = resize(p, size);

	if (!ret && p && size && !gorgon_heap_is_listed(p))
		gorgon_large_note(p, large);
	return ret && !gorgon_heap_is_listed(ret) ? gorgon_large_note(ret, large) : ret;
}

void gorgon_malloc_free(void *p)
{
	if (!p)
		return;
	if (gorgon_heap_is_listed(p)) {
		gorgon_heap_free(p);
		return;
	}
	gorgon_large_forget(p);
	free(p);
}

static bool begin(void *state, struct gorgon_ns *ns)
{
	*(struct gorgon_large *)state = (struct gorgon_large){&ns->usage};
	return true;
}

static void end(void *state)
{
	gorgon_large_release(state);
}

static const struct gorgon_bound bound[] = {
	{"malloc", gorgon_large_malloc, 1, 0, GORGON_OWN, "large blocks of extensions are counted"},
	{"calloc", gorgon_large_calloc, 2, 0, GORGON_OWN, "as malloc"},
	{"realloc", gorgon_malloc_realloc, 2, 0, GORGON_OWN, "as malloc; knows the blocks of both"},
	{"aligned_alloc", gorgon_large_aligned_alloc, 2, 0, GORGON_OWN, "as malloc"},
	{"posix_memalign", gorgon_large_posix_memalign, 3, 0, GORGON_OWN, "as malloc"},
	{"free", gorgon_malloc_free, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "knows the blocks of both"},
};

const struct gorgon_part gorgon_malloc_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_large),
	.begin = begin,
	.end = end,
	.when = GORGON_WHEN_HEAP,
	.loader_only = true,
};
