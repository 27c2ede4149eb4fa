// SPDX-License-Identifier: MIT
// Where the memory of an array is: aligned, on huge pages, on NUMA nodes, locked.
//
// NUMA nodes, huge pages and locks are properties of pages. Pages of malloc() would keep them when
// the array is gone, so an array with such properties has a mapping of its own:
//
//	|-- room for the block --|-- data --|
//				 ^ aligned
//
// See mbind(2), madvise(2), mlock(2).

#define _GNU_SOURCE
#include "placement.h"
#include "base/error.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_PAGE (2u << 20)

bool gorgon_placement_can_align(size_t alignment)
{
	return !(alignment & (alignment - 1)) && alignment <= GORGON_PLACEMENT_ALIGN_MAX;
}

bool gorgon_placement_is_same(const struct gorgon_placement *a, const struct gorgon_placement *b)
{
	return a->alignment == b->alignment && a->numa_nodes == b->numa_nodes &&
	       a->huge_pages == b->huge_pages && a->locked == b->locked;
}

bool gorgon_placement_needs_pages(const struct gorgon_placement *placement, size_t size)
{
	return placement->numa_nodes || placement->locked ||
	       (placement->huge_pages && size >= HUGE_PAGE);
}

// The system call itself, since libnuma would be a dependency for nothing else.
static struct gorgon_error *bind_to_nodes(void *data, size_t size, uint64_t nodes)
{
	// It takes the number of bits plus one.
	if (!syscall(SYS_mbind, data, size, MPOL_BIND, &nodes, 8 * sizeof(nodes) + 1, 0))
		return NULL;
	if (errno == ENOSYS)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"array: NUMA nodes %#lx: this kernel has no memory policies (mbind)",
			nodes);
	if (errno == EINVAL)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: NUMA nodes %#lx: none of them is a node that this process "
			"may use",
			nodes);
	return gorgon_error_create_os(errno, "array: NUMA nodes %#lx: mbind", nodes);
}

static struct gorgon_error *lock_placed(const struct gorgon_pages *pages)
{
	struct rlimit limit;
	int errnum;

	if (!mlock(pages->base, pages->size))
		return NULL;
	errnum = errno;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return gorgon_error_create_os(errnum, "array: locked: mlock of %zu bytes",
					      pages->size);
	return gorgon_error_create_os(
		errnum, "array: locked: mlock of %zu bytes, where RLIMIT_MEMLOCK allows %lu",
		pages->size, (unsigned long)limit.rlim_cur);
}

// Before anything is written: a page is placed when it is written to for the first time.
static struct gorgon_error *apply_placement(const struct gorgon_placement *placement,
					    const struct gorgon_pages *pages)
{
	struct gorgon_error *err = NULL;

	if (placement->numa_nodes)
		err = bind_to_nodes(pages->base, pages->size, placement->numa_nodes);
	if (!err && placement->huge_pages)
		(void)madvise(pages->base, pages->size, MADV_HUGEPAGE);
	return err || !placement->locked ? err : lock_placed(pages);
}

static size_t alignment_of(const struct gorgon_placement *placement, size_t size)
{
	size_t ret = placement->alignment;

	if (ret < GORGON_PLACEMENT_ALIGN)
		ret = GORGON_PLACEMENT_ALIGN;
	return placement->huge_pages && size >= HUGE_PAGE && ret < HUGE_PAGE ? HUGE_PAGE : ret;
}

static char *round_up(char *address, size_t to)
{
	return (char *)(((uintptr_t)address + to - 1) & -(uintptr_t)to);
}

struct gorgon_error *gorgon_placement_map(const struct gorgon_placement *placement, size_t size,
					  size_t room, struct gorgon_pages *ret)
{
	size_t page = (size_t)getpagesize(), align = alignment_of(placement, size), mapped;
	struct gorgon_pages pages;
	struct gorgon_error *err;
	char *base, *end;

	if (__builtin_add_overflow(size, room + align + 2 * page, &mapped))
		return &gorgon_error_nomem;
	base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return &gorgon_error_nomem;
	pages.data = round_up(base + room, align);
	pages.base = round_up(pages.data - room - page + 1, page);
	end = round_up(pages.data + size, page);
	pages.size = (size_t)(end - pages.base);
	if (pages.base > base)
		munmap(base, (size_t)(pages.base - base));
	if (end < base + mapped)
		munmap(end, (size_t)(base + mapped - end));
	err = apply_placement(placement, &pages);
	if (err)
		munmap(pages.base, pages.size);
	else
		*ret = pages;
	return err;
}
