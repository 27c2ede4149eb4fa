// SPDX-License-Identifier: MIT
// Blocks that extensions have from malloc(), counted.
//
// An extension's block stays the C library's, see heap.c: any code that gets the block may free it.
// So a block has no header. A small block has eight bytes more at its end, where a mark says that it is counted; the mark depends on
// the address and on a secret of the namespace, so that no other bytes are taken for one. Blocks that the C library has made
// (strdup(), getline()) have no mark, and are not counted. Large blocks are in a table until private code frees them: the page at the
// end of a large block may be one that nobody has written, and of large blocks there are few. Arrays of numpy are such blocks.
//
// A block that other code has freed is counted until malloc() gives its address again: the mark is still there then, or the
// address in the table. It may be counted for good when the C library has made something else of its memory.
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "blocks.h"
#include "part.h"
#include "base/usage.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LARGE_MIN 65536
#define BUCKETS	  4096

typedef uint64_t mark_type;

struct block {
	struct block *next;
	const void *addr;
	size_t size;
	struct gorgon_usage *usage;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *buckets[BUCKETS];

const struct gorgon_part gorgon_blocks_part = {.lock = &lock};

static void count_more(struct gorgon_usage *usage, size_t size)
{
	__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

static void count_less(struct gorgon_usage *usage, size_t size)
{
	__atomic_sub_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
}

// --- small blocks ------------------------------------------------------------------------------

void gorgon_blocks_begin(struct gorgon_usage *usage)
{
	// Without random numbers marks are still none that a program writes by chance.
	if (getrandom(&usage->secret, sizeof(usage->secret), GRND_NONBLOCK) != sizeof(usage->secret))
		usage->secret = (uintptr_t)usage * UINT64_C(0x9e3779b97f4a7c15);
}

static mark_type mark_of(const void *p, const struct gorgon_usage *usage)
{
	return (uintptr_t)p ^ usage->secret;
}

static char *place_of_mark(void *p, size_t size)
{
	return (char *)p + size - sizeof(mark_type);
}

// Bytes that were never written, or belong to the user of a block without a mark.
__attribute__((no_sanitize("address", "thread"))) static bool has_mark(void *p, size_t size, const struct gorgon_usage *usage)
{
	mark_type mark;

	if (size < sizeof(mark))
		return false; // a sanitizer's block
	memcpy(&mark, place_of_mark(p, size), sizeof(mark));
	return mark == mark_of(p, usage);
}

static void set_mark(void *p, size_t size, mark_type mark)
{
	memcpy(place_of_mark(p, size), &mark, sizeof(mark));
}

static void note_small(void *p, size_t size, struct gorgon_usage *usage)
{
	if (has_mark(p, size, usage))
		return;
	set_mark(p, size, mark_of(p, usage));
	count_more(usage, size);
}

static void forget_small(void *p, size_t size, struct gorgon_usage *usage)
{
	if (!has_mark(p, size, usage))
		return;
	set_mark(p, size, 0);
	count_less(usage, size);
}

// --- large blocks ------------------------------------------------------------------------------

static struct block **bucket_of(const void *addr)
{
	return &buckets[((uintptr_t)addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

// Take a block out of the table; NULL: it is not there.
static struct block *take_large(const void *addr)
{
	struct block **p = bucket_of(addr), *block;

	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	block = *p;
	if (block) {
		*p = block->next;
		count_less(block->usage, block->size);
	}
	return block;
}

// Without memory for its entry a block is not counted.
static void note_large(void *p, size_t size, struct gorgon_usage *usage)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take_large(p) ?: malloc(sizeof(*block));
	if (block) {
		struct block **bucket = bucket_of(p);

		*block = (struct block){*bucket, p, size, usage};
		*bucket = block;
		count_more(usage, size);
	}
	pthread_mutex_unlock(&lock);
}

static void forget_large(void *p)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take_large(p);
	pthread_mutex_unlock(&lock);
	free(block);
}

void gorgon_blocks_release(const struct gorgon_usage *usage)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct block **p = &buckets[i], *block; (block = *p);) {
			if (block->usage != usage) {
				p = &block->next;
				continue;
			}
			*p = block->next;
			free(block);
		}
	pthread_mutex_unlock(&lock);
}

// --- both --------------------------------------------------------------------------------------

size_t gorgon_blocks_size(size_t size)
{
	return size < LARGE_MIN ? size + sizeof(mark_type) : size;
}

bool gorgon_blocks_allow(size_t size, struct gorgon_usage *usage)
{
	if (size > PTRDIFF_MAX || gorgon_usage_allow(usage, size))
		return true; // of what is too large the C library says so
	errno = ENOMEM;
	return false;
}

void *gorgon_blocks_note(void *p, struct gorgon_usage *usage)
{
	size_t size = p ? malloc_usable_size(p) : 0;

	if (size >= LARGE_MIN)
		note_large(p, size, usage);
	else if (p)
		note_small(p, size, usage);
	return p;
}

void gorgon_blocks_forget(void *p, struct gorgon_usage *usage)
{
	size_t size = malloc_usable_size(p);

	if (size >= LARGE_MIN)
		forget_large(p);
	else
		forget_small(p, size, usage);
}

size_t gorgon_blocks_usable_size(void *p, const struct gorgon_usage *usage)
{
	size_t size = malloc_usable_size(p);

	return size < LARGE_MIN && has_mark(p, size, usage) ? size - sizeof(mark_type) : size;
}
