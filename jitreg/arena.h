/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Memory of symfiles: anonymous pages. The kernel joins neighbouring mappings with the same
 * protection, so most of them take none of the process's limited number of mappings.
 */
#ifndef JITREG_ARENA_H
#define JITREG_ARENA_H

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/** Whole pages of zeros, readable and writable; NULL: no memory. */
static inline void *jitreg_arena_alloc(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

/** Set the protection (PROT_...) of the pages that these bytes of a block are on. 0 or -ENOMEM. */
static inline int jitreg_arena_protect(void *bytes, size_t size, int protection)
{
	size_t into = (uintptr_t)bytes & ((uintptr_t)getpagesize() - 1);

	return mprotect((char *)bytes - into, into + size, protection) ? -ENOMEM : 0;
}

/** Give a block of @p size bytes, as allocated, back to the system. */
static inline void jitreg_arena_free(void *block, size_t size)
{
	// fails at the limit of mappings: a gap makes two mappings of one
	if (munmap(block, size))
		madvise(block, size, MADV_DONTNEED);
}

#endif
