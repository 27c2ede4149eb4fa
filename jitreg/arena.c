// SPDX-License-Identifier: MIT
/*
 * Memory of symfiles: anonymous, side by side.
 *
 * A process has a limited number of mappings (65,530 by default), which a mapping for
 * each of tens of thousands of symfiles would use up. The kernel joins neighbouring mappings with
 * the same protection. So symfiles stand beside each other in regions of
 * address space that are reserved without access; a block that is freed becomes
 * inaccessible again, which gives its memory back. A region without blocks is unmapped.
 *
 * A block gets the lowest room that fits. The search is short: there are few regions, and
 * neighbouring blocks count as one run in the list of a region.
 */
#define _GNU_SOURCE 1
#include "arena.h"

#include "file/grow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION_SIZE ((size_t)64 << 20)

/* Bytes in use, from the start of the region, end exclusive. */
struct run {
	size_t start, end;
};

struct region {
	struct region *next;
	char *base;
	size_t size;
	struct run *runs; // sorted, never adjacent
	size_t run_count;
	size_t block_count;
};

static struct region *regions; // under jitreg_lock()

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)getpagesize();

	return (size + page - 1) & -page;
}

static void *map_reserved(void *at, size_t size)
{
	void *p = mmap(at, size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Make room for as many runs as there can be with one more block: each block may become a run of
 * its own. Freeing from the middle of a run makes two runs of it and must not fail.
 */
static int reserve_runs(struct region *region)
{
	return jitreg_grow(&region->runs, region->block_count, sizeof(*region->runs)) ? 0 : -ENOMEM;
}

static void delete_run(struct region *region, size_t i)
{
	memmove(&region->runs[i], &region->runs[i + 1],
		(--region->run_count - i) * sizeof(*region->runs));
}

static void insert_run(struct region *region, size_t i, size_t start, size_t end)
{
	memmove(&region->runs[i + 1], &region->runs[i],
		(region->run_count++ - i) * sizeof(*region->runs));
	region->runs[i] = (struct run){start, end};
}

/* Take the lowest room of a region, or NULL. */
static void *arena_take(struct region *region, size_t size)
{
	size_t at = 0, i = 0;

	while (i < region->run_count && region->runs[i].start - at < size)
		at = region->runs[i++].end;
	if (region->size - at < size || reserve_runs(region))
		return NULL;
	region->block_count++;
	// The new block touches the run before it whenever there is one.
	if (i)
		region->runs[--i].end = at + size;
	else
		insert_run(region, i, at, at + size);
	if (i + 1 < region->run_count && region->runs[i + 1].start == region->runs[i].end) {
		region->runs[i].end = region->runs[i + 1].end;
		delete_run(region, i + 1);
	}
	return region->base + at;
}

static struct region *create_region(size_t size)
{
	struct region *region = calloc(1, sizeof(*region));

	if (!region)
		return NULL;
	region->size = size > REGION_SIZE ? size : REGION_SIZE;
	region->base = map_reserved(NULL, region->size);
	if (!region->base && region->size > size) { // RLIMIT_AS: as much as is needed
		region->size = size;
		region->base = map_reserved(NULL, size);
	}
	if (!region->base) {
		free(region);
		return NULL;
	}
	region->next = regions;
	regions = region;
	return region;
}

static void destroy_region(struct region *region)
{
	struct region **link = &regions;

	while (*link != region)
		link = &(*link)->next;
	*link = region->next;
	munmap(region->base, region->size);
	free(region->runs);
	free(region);
}

static void give_back(char *block, size_t size)
{
	struct region *region = regions;
	size_t start, end, i = 0;

	while (block < region->base || block >= region->base + region->size)
		region = region->next;
	start = (size_t)(block - region->base);
	end = start + size;
	while (region->runs[i].end <= start)
		i++;
	if (region->runs[i].start < start && region->runs[i].end > end) {
		insert_run(region, i + 1, end, region->runs[i].end);
		region->runs[i].end = start;
	} else if (region->runs[i].start < start) {
		region->runs[i].end = start;
	} else if (region->runs[i].end > end) {
		region->runs[i].start = end;
	} else {
		delete_run(region, i);
	}
	if (!--region->block_count)
		destroy_region(region);
	// fails at the limit of mappings: a gap makes two mappings of one
	else if (!map_reserved(block, size))
		madvise(block, size, MADV_DONTNEED);
}

void *jitreg_arena_alloc(size_t size)
{
	struct region *region;
	void *block = NULL;

	size = whole_pages(size);
	for (region = regions; region && !block; region = region->next)
		block = arena_take(region, size);
	if (!block && (region = create_region(size))) {
		block = arena_take(region, size);
		if (!block)
			destroy_region(region);
	}
	if (block && mprotect(block, size, PROT_READ | PROT_WRITE)) {
		give_back(block, size);
		block = NULL;
	}
	return block;
}

int jitreg_arena_protect(void *bytes, size_t size, int protection)
{
	size_t into = (uintptr_t)bytes & ((uintptr_t)getpagesize() - 1);

	return mprotect((char *)bytes - into, whole_pages(into + size), protection) ? -ENOMEM : 0;
}

void jitreg_arena_free(void *block, size_t size)
{
	give_back(block, whole_pages(size));
}
