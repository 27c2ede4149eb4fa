// SPDX-License-Identifier: MIT
// Large blocks that extensions have from malloc(), counted: numpy's arrays above all.
//
// An extension's block stays the C library's, see heap.c: any code that gets the block may free it.
// So the block has no header; its address is in a table until private code frees it. Only large blocks
// are in the table: they fill memory, and there are so few that the table costs no time that can be
// measured. A block that other code has freed is forgotten when malloc() gives its address again, or
// at the end of the namespace.
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "large.h"
#include "part.h"
#include "base/usage.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 4096

struct block {
	struct block *next;
	const void *addr;
	size_t size;
	struct gorgon_usage *usage;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *buckets[BUCKETS];

const struct gorgon_part gorgon_large_part = {.lock = &lock};

static struct block **bucket_of(const void *addr)
{
	return &buckets[((uintptr_t)addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static void large_count(struct gorgon_usage *usage, size_t size)
{
	__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

static void large_uncount(struct gorgon_usage *usage, size_t size)
{
	__atomic_sub_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

// Take a block out of the table; NULL: it is not there.
static struct block *large_take(const void *addr)
{
	struct block **p = bucket_of(addr), *block;

	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	block = *p;
	if (block) {
		*p = block->next;
		large_uncount(block->usage, block->size);
	}
	return block;
}

// Without memory for its entry a block is not counted, like small blocks.
void *gorgon_large_note(void *p, const struct gorgon_large *large)
{
	size_t size = p ? malloc_usable_size(p) : 0;
	struct block *block;

	if (size < GORGON_LARGE_MIN)
		return p;
	pthread_mutex_lock(&lock);
	block = large_take(p) ?: malloc(sizeof(*block));
	if (block) {
		struct block **bucket = bucket_of(p);

		*block = (struct block){*bucket, p, size, large->usage};
		*bucket = block;
		large_count(large->usage, size);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void gorgon_large_forget(void *p)
{
	struct block *block;

	if (malloc_usable_size(p) < GORGON_LARGE_MIN)
		return;
	pthread_mutex_lock(&lock);
	block = large_take(p);
	pthread_mutex_unlock(&lock);
	free(block);
}

void gorgon_large_release(const struct gorgon_large *large)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct block **p = &buckets[i], *block; (block = *p);) {
			if (block->usage != large->usage) {
				p = &block->next;
				continue;
			}
			*p = block->next;
			free(block);
		}
	pthread_mutex_unlock(&lock);
}

bool gorgon_large_allow(size_t size, const struct gorgon_large *large)
{
	if (size < GORGON_LARGE_MIN || size > PTRDIFF_MAX || gorgon_usage_allow(large->usage, size))
		return true;
	errno = ENOMEM;
	return false;
}

void *gorgon_large_malloc(size_t size, const struct gorgon_large *large)
{
	return gorgon_large_allow(size, large) ? gorgon_large_note(malloc(size), large) : NULL;
}

void *gorgon_large_calloc(size_t items, size_t size, const struct gorgon_large *large)
{
	size_t bytes;

	if (!__builtin_mul_overflow(items, size, &bytes) && !gorgon_large_allow(bytes, large))
		return NULL;
	return gorgon_large_note(calloc(items, size), large);
}

void *gorgon_large_aligned_alloc(size_t alignment, size_t size, const struct gorgon_large *large)
{
	return gorgon_large_allow(size, large) ? gorgon_large_note(aligned_alloc(alignment, size), large) : NULL;
}

int gorgon_large_posix_memalign(void **ret, size_t alignment, size_t size, const struct gorgon_large *large)
{
	int number = gorgon_large_allow(size, large) ? posix_memalign(ret, alignment, size) : ENOMEM;

	if (!number)
		gorgon_large_note(*ret, large);
	return number;
}
