// SPDX-License-Identifier: MIT
// Memory of private code inside its namespace's zone, for interpreters of which copies are made
// (../../python/template.c).
//
// Two namespaces whose code has asked for the same memory in the same order have the same blocks at
// the same offsets of their zones. So blocks have a size of a class, a freed block is the next one
// of its class, and what is mapped is never mapped a second time at the same address. What was
// freed is filled with zeros: it must not differ, and must not look like something.
//
//	|- libraries -|....|- header, block, header, block ... -|....|- maps -|..|
//	0                  GORGON_ZONE_BLOCKS                        GORGON_ZONE_MAPS
//
// This is for the time of the preparation. Then it is closed: what is allocated later is the C
// library's, and counted, as in every namespace (heap.c, blocks.c), and a block from here that is
// freed stays until the namespace ends. The memory counts as mapped by the namespace (memory.c),
// with which it goes.
//
// A namespace with such memory begins with random bytes that it is given: the first that Python
// asks for are those that the hashes of its strings depend on, and they must not differ either. The
// second in which it begins is given, too: libxml2 takes a seed from time().
//
// `lock` of each is taken around fork(); that of memory is taken under it.

#define _GNU_SOURCE
#include "zone_heap.h"
#include "memory.h"
#include "image/zones.h"
#include "base/lock.h"
#include "base/usage.h"
#include "ns/ns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define CLASSES    192
#define SMALL      1024 // up to here a class for each 16 bytes, then four for each power of two
#define STEP       ((uint64_t)16 << 20) // so much is mapped at once
#define THREADS    128 // so many that have ended are remembered
#define STILL	   30  // seconds for which time() says the same

struct header {
	uint64_t size;   // of the block
	uint32_t shift;  // of an aligned block, from the block that it is in
	uint32_t caller; // the offset in the zone of what has asked for it, or 0
};

struct gorgon_zone_heap {
	struct gorgon_ns *ns;
	pthread_mutex_t lock;
	bool open;
	uint64_t next, mapped;              // addresses: what is below is in use; is mapped
	struct header *free_lists[CLASSES]; // linked by the first word of the block
	struct gorgon_zone_seed seed;
	size_t random_size;    // of the seed's bytes so many are left
	struct timespec began; // when the seed has a time
	uint64_t threads[THREADS];
	size_t thread_count;
};

static uint64_t zone_of(const struct gorgon_zone_heap *heap)
{
	return heap->ns->zone;
}

static unsigned class_of(size_t *size)
{
	unsigned bits;
	size_t step;

	if (*size <= SMALL) {
		*size = *size ? (*size + 15) & ~(size_t)15 : 16;
		return (unsigned)(*size / 16);
	}
	bits = 63 - (unsigned)__builtin_clzl(*size - 1);
	step = (size_t)1 << (bits - 2);
	*size = (*size + step - 1) & ~(step - 1);
	bits = 63 - (unsigned)__builtin_clzl(*size);
	return SMALL / 16 + 1 + (bits - 10) * 4 + (unsigned)(*size >> (bits - 2) & 3);
}

static struct gorgon_memory *memory_of(const struct gorgon_zone_heap *heap)
{
	return gorgon_parts_state(heap->ns->parts, &gorgon_memory_part);
}

// Under the lock.
static struct header *take_new(struct gorgon_zone_heap *heap, size_t size)
{
	struct header *ret = (struct header *)(uintptr_t)heap->next;
	uint64_t end = heap->next + sizeof(*ret) + size;

	if (end > zone_of(heap) + GORGON_ZONE_MAPS)
		return NULL;
	while (heap->mapped < end) {
		if (!gorgon_memory_map_at(memory_of(heap), heap->mapped, STEP))
			return NULL;
		heap->mapped += STEP;
	}
	heap->next = end;
	ret->size = size;
	return ret;
}

static void *take_block(struct gorgon_zone_heap *heap, size_t size)
{
	struct header *header;
	unsigned class;

	if (size >= GORGON_ZONE_MAPS - GORGON_ZONE_BLOCKS)
		return NULL;
	class = class_of(&size);
	pthread_mutex_lock(&heap->lock);
	header = heap->free_lists[class];
	if (header) {
		heap->free_lists[class] = *(struct header **)(header + 1);
		*(struct header **)(header + 1) = NULL;
	} else {
		header = take_new(heap, size);
	}
	pthread_mutex_unlock(&heap->lock);
	return header ? header + 1 : NULL;
}

void *gorgon_zone_heap_alloc(struct gorgon_zone_heap *heap, size_t alignment, size_t size,
			     const void *caller)
{
	size_t room = alignment > 16 ? alignment + sizeof(struct header) : 0;
	char *block = size <= PTRDIFF_MAX ? take_block(heap, size + room) : NULL, *aligned;
	uint64_t offset = (uintptr_t)caller - zone_of(heap);

	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	((struct header *)block)[-1].caller = offset < GORGON_ZONE_SIZE ? (uint32_t)offset : 0;
	if (!room)
		return block;
	aligned = (char *)(((uintptr_t)block + room - 1) & -(uintptr_t)alignment);
	if (aligned - block < (ptrdiff_t)sizeof(struct header))
		aligned += alignment;
	((struct header *)aligned)[-1] =
		(struct header){((struct header *)block)[-1].size - (size_t)(aligned - block),
				(uint32_t)(aligned - block), 0};
	return aligned;
}

void *gorgon_zone_heap_zeros(struct gorgon_zone_heap *heap, size_t size)
{
	return heap ? gorgon_zone_heap_alloc(heap, 16, size, NULL) : calloc(1, size);
}

void gorgon_zone_heap_free(struct gorgon_zone_heap *heap, void *p)
{
	struct header *header = (struct header *)p - 1;
	size_t size;
	unsigned class;

	if (!__atomic_load_n(&heap->open, __ATOMIC_ACQUIRE))
		return;
	if (header->shift)
		header = (struct header *)((char *)p - header->shift) - 1;
	size = header->size;
	class = class_of(&size);
	memset(header + 1, 0, header->size);
	pthread_mutex_lock(&heap->lock);
	*(struct header **)(header + 1) = heap->free_lists[class];
	heap->free_lists[class] = header;
	pthread_mutex_unlock(&heap->lock);
}

size_t gorgon_zone_heap_usable(const void *p)
{
	return ((const struct header *)p)[-1].size;
}

bool gorgon_zone_heap_fits(const void *p, size_t size)
{
	size_t usable = gorgon_zone_heap_usable(p);

	return size && size <= usable && (size > usable / 2 || usable <= 64);
}

void *gorgon_zone_heap_move(struct gorgon_zone_heap *heap, void *p, size_t size, void *to)
{
	size_t usable = gorgon_zone_heap_usable(p);

	if (to)
		memcpy(to, p, usable < size ? usable : size);
	if (to || !size)
		gorgon_zone_heap_free(heap, p);
	return to;
}

bool gorgon_zone_heap_is_open(const struct gorgon_zone_heap *heap)
{
	return heap && __atomic_load_n(&heap->open, __ATOMIC_ACQUIRE);
}

bool gorgon_zone_heap_owns(const struct gorgon_zone_heap *heap, const void *p)
{
	return heap && (uintptr_t)p - zone_of(heap) - GORGON_ZONE_BLOCKS <
			       GORGON_ZONE_MAPS - GORGON_ZONE_BLOCKS;
}

uint64_t gorgon_zone_heap_end(const struct gorgon_zone_heap *heap)
{
	return heap->next - zone_of(heap);
}

uint64_t gorgon_zone_heap_block_at(const struct gorgon_zone_heap *heap, uint64_t addr, size_t *size,
				   uint64_t *caller)
{
	uint64_t at = zone_of(heap) + GORGON_ZONE_BLOCKS;

	while (at < heap->next) {
		const struct header *header = (const struct header *)(uintptr_t)at;
		uint64_t start = at + sizeof(*header);

		if (addr < start)
			return 0;
		if (addr < start + header->size) {
			*size = header->size;
			*caller = header->caller ? zone_of(heap) + header->caller : 0;
			return start;
		}
		at = start + header->size;
	}
	return 0;
}

uint64_t gorgon_zone_heap_difference(const struct gorgon_zone_heap *heap,
				     const struct gorgon_zone_heap *other, bool *in_other)
{
	uint64_t move = zone_of(other) - zone_of(heap), at = zone_of(heap) + GORGON_ZONE_BLOCKS;

	while (at < heap->next && at + move < other->next) {
		const struct header *header = (const struct header *)(uintptr_t)at;

		if (memcmp(header, (const void *)(uintptr_t)(at + move), sizeof(*header)))
			break;
		at += sizeof(*header) + header->size;
	}
	*in_other = at >= heap->next;
	return at < heap->next || at + move < other->next
		       ? at - zone_of(heap) + sizeof(struct header)
		       : 0;
}

static void start_over(struct gorgon_zone_heap *heap)
{
	heap->next = heap->mapped = zone_of(heap) + GORGON_ZONE_BLOCKS;
	memset(heap->free_lists, 0, sizeof(heap->free_lists));
}

bool gorgon_zone_heap_begin(struct gorgon_ns *ns, const struct gorgon_zone_seed *seed)
{
	struct gorgon_zone_heap *heap = gorgon_parts_state(ns->parts, &gorgon_zone_heap_part);

	gorgon_lock();
	gorgon_zone_take(ns);
	gorgon_unlock();
	if (!ns->zone)
		return false;
	start_over(heap);
	if (seed) {
		heap->seed = *seed;
		heap->random_size = sizeof(seed->random);
		clock_gettime(CLOCK_MONOTONIC, &heap->began);
	}
	heap->open = true;
	gorgon_memory_map_within(memory_of(heap), zone_of(heap) + GORGON_ZONE_MAPS,
				 zone_of(heap) + GORGON_ZONE_END);
	gorgon_lock(); // a fork takes the locks of all heaps that it finds
	ns->usage.zone_heap = heap;
	gorgon_unlock();
	__atomic_store_n(&ns->usage.quick_below, 0, __ATOMIC_RELEASE);
	return true;
}

void gorgon_zone_heap_close(struct gorgon_ns *ns)
{
	__atomic_store_n(&ns->usage.zone_heap->open, false, __ATOMIC_RELEASE);
	gorgon_memory_map_within(memory_of(ns->usage.zone_heap), 0, 0);
	if (!__atomic_load_n(&ns->usage.limit, __ATOMIC_ACQUIRE))
		__atomic_store_n(&ns->usage.quick_below, ns->usage.quick, __ATOMIC_RELEASE);
}

bool gorgon_zone_heap_reset(struct gorgon_ns *ns, uint64_t size)
{
	struct gorgon_zone_heap *heap = ns->usage.zone_heap;
	uint64_t start = zone_of(heap) + GORGON_ZONE_BLOCKS;

	gorgon_memory_drop(memory_of(heap), start, zone_of(heap) + GORGON_ZONE_END);
	start_over(heap);
	size = (size + 4095) & ~UINT64_C(4095);
	if (size && !gorgon_memory_map_at(memory_of(heap), start, size))
		return false;
	heap->next = heap->mapped = start + size;
	return true;
}

bool gorgon_zone_heap_place(struct gorgon_ns *ns, uint64_t offset, uint64_t size)
{
	return gorgon_memory_map_at(memory_of(ns->usage.zone_heap), ns->zone + offset, size);
}

void gorgon_zone_heap_note_thread(struct gorgon_zone_heap *heap, uint64_t thread)
{
	if (!gorgon_zone_heap_is_open(heap))
		return;
	pthread_mutex_lock(&heap->lock);
	if (heap->thread_count < THREADS)
		heap->threads[heap->thread_count++] = thread;
	pthread_mutex_unlock(&heap->lock);
}

bool gorgon_zone_heap_knew_thread(const struct gorgon_zone_heap *heap, uint64_t thread)
{
	size_t i = 0;

	while (i < heap->thread_count && heap->threads[i] != thread)
		i++;
	return i < heap->thread_count;
}

static ssize_t zone_heap_getrandom(void *buffer, size_t size, unsigned flags,
				   struct gorgon_zone_heap *heap)
{
	size_t given = 0;

	pthread_mutex_lock(&heap->lock);
	if (heap->open && size && size <= heap->random_size) {
		memcpy(buffer, heap->seed.random + heap->random_size - size, size);
		heap->random_size -= given = size;
	}
	pthread_mutex_unlock(&heap->lock);
	return given ? (ssize_t)given : getrandom(buffer, size, flags);
}

// It stands still until most programs have been imported, and goes on, for those that wait.
static time_t zone_heap_time(time_t *to, struct gorgon_zone_heap *heap)
{
	struct timespec now;
	time_t elapsed;

	if (!gorgon_zone_heap_is_open(heap) || !heap->seed.time)
		return time(to);
	clock_gettime(CLOCK_MONOTONIC, &now);
	elapsed = now.tv_sec - heap->began.tv_sec;
	if (elapsed < STILL)
		elapsed = 0;
	if (to)
		*to = heap->seed.time + elapsed;
	return heap->seed.time + elapsed;
}

static bool zone_heap_begin(void *state, struct gorgon_ns *ns)
{
	struct gorgon_zone_heap *heap = state;

	heap->ns = ns;
	pthread_mutex_init(&heap->lock, NULL);
	return true;
}

void gorgon_zone_heap_before_fork(struct gorgon_zone_heap *heap)
{
	if (heap)
		pthread_mutex_lock(&heap->lock);
}

void gorgon_zone_heap_after_fork(struct gorgon_zone_heap *heap)
{
	if (heap)
		pthread_mutex_unlock(&heap->lock);
}

static const struct gorgon_bound bound[] = {
	{"getrandom", zone_heap_getrandom, 3, 0, GORGON_OWN,
	 "interpreters of one template have the same hashes of strings"},
	{"time", zone_heap_time, 1, 0, GORGON_OWN,
	 "what a library of a template takes for a seed is the same in each of its runs"},
};

const struct gorgon_part gorgon_zone_heap_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_zone_heap),
	.begin = zone_heap_begin,
	.loader_only = true,
};
