/* SPDX-License-Identifier: MIT */
/* How much memory a namespace's code holds, and its limit. See usage.c. */
#ifndef GORGON_BASE_USAGE_H
#define GORGON_BASE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_zone_heap;

/* All members are accessed atomically, but for @zone_heap. */
struct gorgon_usage {
	/* of private code, which jumps to it; see malloc_family.c */
	void (*free)(void *p, struct gorgon_usage *usage);
	/* allocations below this size are looked at by nobody: @quick, or with a limit 0 */
	size_t quick_below;
	size_t quick; /* see blocks.h. Does not change */
	/* struct gorgon_debug_usage (../ns/debug_root.h): */
	uint64_t heap_bytes;   /* see heap.c */
	uint64_t mapped_bytes; /* see memory.c */
	uint64_t extension_bytes; /* see blocks.c; threads have more to tell */
	uint64_t block_bytes;  /* of the host, that numpy has; see data_handler.c */
	uint64_t limit;	       /* 0: none */
	/* its end */
	uint64_t hard_limit;   /* what is beyond it fails */
	uint64_t alarm;	       /* where @exceeded is called next */
	/* Called when more than the limit is held, from inside malloc() or mmap(), on any thread,
	 * and not again before gorgon_usage_is_exceeded(). */
	void (*exceeded)(void *ctx);
	void *ctx;
	uint64_t secret; /* of its blocks; see blocks.c. Does not change */
	/* some of its blocks are there, or NULL; see ../process/memory/zone_heap.c. Does not change
	 * when code has been loaded */
	struct gorgon_zone_heap *zone_heap;
};

/* Set the limit and the hard limit, which is not less, or take them back with 0. */
void gorgon_usage_set_limit(struct gorgon_usage *usage, uint64_t limit, uint64_t hard_limit);
/* Bytes that count. */
uint64_t gorgon_usage_held(const struct gorgon_usage *usage);
/* Whether more than the limit is held. @exceeded may be called again. */
bool gorgon_usage_is_exceeded(struct gorgon_usage *usage);
/* Whether @size bytes more may be had, where there is a limit. */
bool gorgon_usage_allow_within(struct gorgon_usage *usage, size_t size);
/* Whether @size bytes more may be had. Most allocations come here, and most interpreters have no
 * limit. */
static inline bool gorgon_usage_allow(struct gorgon_usage *usage, size_t size)
{
	return !__atomic_load_n(&usage->limit, __ATOMIC_ACQUIRE) ||
	       gorgon_usage_allow_within(usage, size);
}
/* Whether the calling thread may have memory beyond the limit from now on. Returns what held
 * before, for the call that puts it back. */
bool gorgon_usage_exempt(bool exempt);

#endif
