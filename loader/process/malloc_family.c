// SPDX-License-Identifier: MIT
// realloc() and free() of private code. They get blocks of three kinds, and tell them apart by
// the address: libpython's (heap.c), large blocks of extensions, which are counted (large.c),
// and all others, which are the C library's alone.

#include "malloc_family.h"
#include "heap.h"
#include "large.h"

#include <stdlib.h>

static void *resize(void *p, size_t size)
{
	if (p && gorgon_heap_is_listed(p))
		return gorgon_heap_resize(p, size);
	if (p)
		gorgon_large_forget(p);
	return realloc(p, size);
}

void *gorgon_malloc_python_realloc(void *p, size_t size, struct gorgon_ns *ns)
{
	return p ? resize(p, size) : gorgon_heap_malloc(size, ns);
}

// A block that cannot grow stays, uncounted for the moment in between.
void *gorgon_malloc_realloc(void *p, size_t size, struct gorgon_ns *ns)
{
	void *ret = resize(p, size);

	if (!ret && p && size && !gorgon_heap_is_listed(p))
		gorgon_large_note(p, ns);
	return ret && !gorgon_heap_is_listed(ret) ? gorgon_large_note(ret, ns) : ret;
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
