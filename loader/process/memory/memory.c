// SPDX-License-Identifier: MIT
// Anonymous memory that private code has mapped, so that it goes with the namespace.
//
// CPython does not unmap the arenas of its object allocator when it is finalised, and
// libraries keep pools: without this list every destroyed interpreter would leave a part of
// its heap behind. mmap(), munmap() and mremap() of private code keep a list of ranges
// per namespace, sorted by address; the ranges that are left at the end are unmapped.
//
// mmap() and mremap() have no argument register left for a namespace (thunk.c): the namespace is
// that of the calling code, found by the return address.
//
// Only anonymous mappings are listed, private and shared ones: Python's module mmap makes shared
// ones, which nobody but forked children can get. Mappings of files may be meant to outlive the
// interpreter, and cost no heap. Memory from malloc() is the process's.
//
// Arenas of CPython's object allocator are 1 MiB each, and nearly all of their pages are written
// to. With the option `large_arenas` two of them share a large page, from the third one on, so that
// small interpreters keep to small pages: hundreds of faults less. The second half waits for the
// next arena.
//
// `lock` is a leaf and orders all lists.

#define _GNU_SOURCE
#include "memory.h"
#include "ns/ns.h"
#include "base/file.h"
#include "trampoline_file.h"
#include "jit_mirror.h"
#include "ns/unwind.h"
#include "file/grow.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_SIZE   ((size_t)1 << 20)
#define SMALL_ARENAS 2

struct range {
	uint64_t start, end; // exclusive
};

struct gorgon_memory {
	struct gorgon_ns *ns;
	struct range *ranges; // made by private code, sorted
	size_t count;
	uint64_t arena_count, spare_arena; // of its object allocator; address, or 0
	uint64_t next, end; // of the stretch in which it maps, or 0
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Index of the first range that ends after @addr.
static size_t find_range(const struct gorgon_memory *memory, uint64_t addr)
{
	size_t low = 0, high = memory->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memory->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Insert a range at @index. Without memory the range is not listed, and stays mapped at the end, as
// it would without the list.
static bool insert_range(struct gorgon_memory *memory, size_t index, uint64_t start, uint64_t end)
{
	if (!jitreg_grow(&memory->ranges, memory->count, sizeof(*memory->ranges)))
		return false;
	memmove(&memory->ranges[index + 1], &memory->ranges[index],
		(memory->count - index) * sizeof(*memory->ranges));
	memory->ranges[index] = (struct range){start, end};
	memory->count++;
	return true;
}

static void delete_range(struct gorgon_memory *memory, size_t index)
{
	memory->count--;
	memmove(&memory->ranges[index], &memory->ranges[index + 1],
		(memory->count - index) * sizeof(*memory->ranges));
}

static uint64_t page_up(uint64_t size)
{
	return (size + 4095) & ~UINT64_C(4095);
}

// Forget [start, end): whole ranges, or parts of the first and last.
static void memory_forget(struct gorgon_memory *memory, uint64_t start, uint64_t end)
{
	size_t i = find_range(memory, start);

	while (i < memory->count && memory->ranges[i].start < end) {
		struct range *range = &memory->ranges[i];

		if (range->start < start && range->end > end) {
			uint64_t tail = range->end;

			range->end = start;
			insert_range(memory, i + 1, end, tail);
			return;
		}
		if (range->start < start) {
			range->end = start;
			i++;
		} else if (range->end > end) {
			range->start = end;
			return;
		} else {
			delete_range(memory, i);
		}
	}
}

static void memory_remember(struct gorgon_memory *memory, uint64_t start, uint64_t end)
{
	memory_forget(memory, start, end); // MAP_FIXED may replace listed mappings
	insert_range(memory, find_range(memory, start), start, end);
}

// The lock is held.
static void count_bytes(struct gorgon_memory *memory)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < memory->count; i++)
		sum += memory->ranges[i].end - memory->ranges[i].start;
	__atomic_store_n(&memory->ns->usage.mapped_bytes, sum, __ATOMIC_RELAXED);
}

// Map code of a file. If a library maps its own file by a descriptor that it has kept, the file is
// that of trampoline_file.c, which knows what the descriptor was.
static void *map_code(uint64_t caller, void *addr, size_t size, int prot, int flags, int fd,
		      off_t off)
{
	struct gorgon_file file;
	int own = gorgon_trampoline_file_find(caller, fd, size, off, &file);
	void *ret = mmap(addr, size, prot, flags, own, off);

	if (ret == MAP_FAILED) {
		gorgon_file_close(&file);
	} else if (own == fd) {
		gorgon_trampoline_file_mapped(caller, fd, size, off);
	} else if (gorgon_file_is_ours(&file)) {
		gorgon_file_close(&file);
	} else {
		munmap(ret, size);
		errno = EBADF;
		ret = MAP_FAILED;
	}
	return ret;
}

static bool is_arena(const struct gorgon_ns *ns, const void *addr, size_t size, int prot, int flags)
{
	return ns->opts.large_arenas && !addr && size == ARENA_SIZE &&
	       prot == (PROT_READ | PROT_WRITE) && flags == (MAP_PRIVATE | MAP_ANONYMOUS);
}

// Map two arenas at an address that a large page can have. NULL: there is no room, or the system
// has no large pages.
static void *map_two_arenas(void)
{
	const size_t size = 2 * ARENA_SIZE;
	void *p = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uintptr_t)p, start = (base + size - 1) & -(uint64_t)size;

	if (p == MAP_FAILED)
		return NULL;
	if (start > base)
		munmap(p, start - base);
	munmap((void *)(uintptr_t)(start + size), base + size - start);
	p = (void *)(uintptr_t)start;
	if (!madvise(p, size, MADV_HUGEPAGE))
		return p;
	munmap(p, size);
	return NULL;
}

// Under the lock. NULL: the arena is to be mapped like other memory.
static void *map_arena(struct gorgon_memory *memory)
{
	void *ret = (void *)(uintptr_t)memory->spare_arena;

	memory->spare_arena = 0;
	if (ret || memory->arena_count++ < SMALL_ARENAS || !(ret = map_two_arenas()))
		return ret;
	memory->spare_arena = (uintptr_t)ret + ARENA_SIZE;
	return ret;
}

// Map at an address. MAP_FAILED: something is there, or there is no memory.
static void *map_at(uint64_t addr, size_t size, int prot)
{
	void *ret = mmap((void *)(uintptr_t)addr, size, prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (ret == MAP_FAILED)
		return ret;
	// What is copied is what was touched, and not what a large page has around it.
	madvise(ret, size, MADV_NOHUGEPAGE);
	return ret;
}

// Whether the kernel chooses the address; a wish is none of the caller's business.
static bool is_anywhere(int flags)
{
	return (flags & (MAP_TYPE | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN |
			 MAP_HUGETLB)) == MAP_PRIVATE;
}

// Map behind what was mapped before. No address is used twice.
static void *map_next(struct gorgon_memory *memory, size_t size, int prot)
{
	uint64_t align = size < ARENA_SIZE ? 4096 : ARENA_SIZE; // CPython aligns its arenas so
	uint64_t addr = (memory->next + align - 1) & -align;

	if (!size || size > memory->end - addr) {
		errno = size ? ENOMEM : EINVAL;
		return MAP_FAILED;
	}
	memory->next = addr + page_up(size);
	return map_at(addr, size, prot);
}

static struct gorgon_memory *memory_of(const struct gorgon_ns *ns)
{
	return gorgon_parts_state(ns->parts, &gorgon_memory_part);
}

static void *map(void *addr, size_t size, int prot, int flags, int fd, off_t off)
{
	uint64_t caller = (uintptr_t)__builtin_return_address(0);
	struct gorgon_ns *ns = gorgon_unwind_ns_at(caller);
	struct gorgon_memory *memory;
	void *ret = NULL;

	if (!ns || !(flags & MAP_ANONYMOUS)) {
		if (ns && prot & PROT_EXEC)
			return map_code(caller, addr, size, prot, flags, fd, off);
		return mmap(addr, size, prot, flags, fd, off);
	}
	if (size <= PTRDIFF_MAX && !gorgon_usage_allow(&ns->usage, size)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	memory = memory_of(ns);
	// The list changes with the mapping: another thread may get the address next.
	pthread_mutex_lock(&lock);
	if (memory->next && is_anywhere(flags))
		ret = map_next(memory, size, prot);
	else if (is_arena(ns, addr, size, prot, flags))
		ret = map_arena(memory);
	if (!ret)
		ret = mmap(addr, size, prot, flags, fd, off);
	if (ret != MAP_FAILED)
		memory_remember(memory, (uintptr_t)ret, (uintptr_t)ret + page_up(size));
	count_bytes(memory);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int unmap(void *addr, size_t size, struct gorgon_memory *memory)
{
	int ret;

	gorgon_jit_mirror_before_unmap(memory->ns, (uintptr_t)addr, (uintptr_t)addr + size);
	pthread_mutex_lock(&lock);
	ret = munmap(addr, size);
	if (!ret)
		memory_forget(memory, (uintptr_t)addr, (uintptr_t)addr + page_up(size));
	count_bytes(memory);
	pthread_mutex_unlock(&lock);
	return ret;
}

// The fifth argument counts only with MREMAP_FIXED; callers that leave it out pass whatever is in
// the register, and so does this function.
static void *remap(void *addr, size_t size, size_t new_size, int flags, void *new_addr)
{
	struct gorgon_ns *ns = gorgon_unwind_ns_at((uintptr_t)__builtin_return_address(0));
	struct gorgon_memory *memory;
	uint64_t start = (uintptr_t)addr;
	bool listed;
	size_t i;
	void *ret;

	if (!ns)
		return mremap(addr, size, new_size, flags, new_addr);
	memory = memory_of(ns);
	if (memory->next) { // it would leave its stretch
		errno = ENOMEM;
		return MAP_FAILED;
	}
	pthread_mutex_lock(&lock);
	i = find_range(memory, start);
	listed = i < memory->count && memory->ranges[i].start <= start;
	pthread_mutex_unlock(&lock);
	if (listed && new_size > size && new_size <= PTRDIFF_MAX &&
	    !gorgon_usage_allow(&ns->usage, new_size - size)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	pthread_mutex_lock(&lock);
	ret = mremap(addr, size, new_size, flags, new_addr);
	if (ret != MAP_FAILED && listed) {
		memory_forget(memory, start, start + page_up(size));
		memory_remember(memory, (uintptr_t)ret, (uintptr_t)ret + page_up(new_size));
	}
	count_bytes(memory);
	pthread_mutex_unlock(&lock);
	return ret;
}

void gorgon_memory_each(struct gorgon_memory *memory,
			void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < memory->count; i++)
		fn(ctx, memory->ranges[i].start, memory->ranges[i].end);
	pthread_mutex_unlock(&lock);
}

void gorgon_memory_map_within(struct gorgon_memory *memory, uint64_t start, uint64_t end)
{
	pthread_mutex_lock(&lock);
	memory->next = start;
	memory->end = end;
	pthread_mutex_unlock(&lock);
}

bool gorgon_memory_map_at(struct gorgon_memory *memory, uint64_t addr, uint64_t size)
{
	bool ret;

	pthread_mutex_lock(&lock);
	ret = map_at(addr, size, PROT_READ | PROT_WRITE) != MAP_FAILED;
	if (ret)
		memory_remember(memory, addr, addr + size);
	count_bytes(memory);
	pthread_mutex_unlock(&lock);
	return ret;
}

void gorgon_memory_drop(struct gorgon_memory *memory, uint64_t start, uint64_t end)
{
	size_t i;

	pthread_mutex_lock(&lock);
	while ((i = find_range(memory, start)) < memory->count && memory->ranges[i].start < end) {
		struct range *range = &memory->ranges[i];

		munmap((void *)(uintptr_t)range->start, range->end - range->start);
		delete_range(memory, i);
	}
	count_bytes(memory);
	pthread_mutex_unlock(&lock);
}

void gorgon_memory_release(struct gorgon_memory *memory)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < memory->count; i++)
		munmap((void *)(uintptr_t)memory->ranges[i].start,
		       memory->ranges[i].end - memory->ranges[i].start);
	if (memory->spare_arena)
		munmap((void *)(uintptr_t)memory->spare_arena, ARENA_SIZE);
	memory->spare_arena = 0;
	free(memory->ranges);
	memory->ranges = NULL;
	memory->count = 0;
	pthread_mutex_unlock(&lock);
}

static bool memory_begin(void *state, struct gorgon_ns *ns)
{
	((struct gorgon_memory *)state)->ns = ns;
	return true;
}

static const struct gorgon_bound bound[] = {
	{"mmap", map, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "memory goes with the namespace that has mapped it"},
	{"mmap64", map, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "as mmap"},
	{"munmap", unmap, 2, 0, GORGON_OWN, "as mmap"},
	{"mremap", remap, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "as mmap"},
};

const struct gorgon_part gorgon_memory_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_memory),
	.begin = memory_begin,
	.lock = &lock,
	.loader_only = true,
};
