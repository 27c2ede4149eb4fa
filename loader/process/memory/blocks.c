// SPDX-License-Identifier: MIT
// Blocks that extensions have from malloc(), counted.
//
// An extension's block stays the C library's, see heap.c: any code that gets the block may free it.
// So a block has no header. A small block has eight bytes more at its end, where a mark says that
// it is counted; the mark depends on the address and on a secret of the namespace, so that no other
// bytes are taken for one. Blocks that the C library has made (getline(), asprintf()) have no mark,
// and are not counted. Large blocks are in a table until private code frees them: the page at the
// end of a large block may be one that nobody has written, and of large blocks there are few.
// Arrays of numpy are such blocks.
//
// A block that other code has freed is counted until malloc() gives its address again: the mark is
// still there then, or the address in the table. It may be counted for good when the C library has
// made something else of its memory.
//
// Programs allocate so often that asking the C library for each block's size would be half of what
// counting costs. glibc has the size in front of the block, in a form that has not changed since
// 1996. Whether the process has glibc's malloc() is found out by trying: replacements of malloc(),
// sanitizers and checkers give blocks other sizes.
//
// Under a memory checker (base/checker.c) all blocks are in the table: with a mark behind it, a
// block would be larger for the checker than it is for its user.
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "blocks.h"
#include "base/usage.h"
#include "process/part.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS	  4096

struct block {
	struct block *next;
	const void *addr;
	size_t size;
	struct gorgon_usage *usage;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *buckets[BUCKETS];

const struct gorgon_part gorgon_blocks_part = {.lock = &lock};

bool gorgon_blocks_sizes_known;

// The sizes are compared with glibc's before anything is read that may not be there. A chunk may be
// larger than it need be by what is too small for another.
static __attribute__((constructor)) void look_at_sizes(void)
{
	static const size_t sizes[][2] = {{1, 24},      {25, 40},     {100, 104},
					  {1000, 1000}, {5000, 5000}, {60001, 60008}};
	bool known = true;

	for (size_t i = 0; known && i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *p = gorgon_blocks_malloc(sizes[i][0]);
		size_t size = malloc_usable_size(p);

		known = p && (size == sizes[i][1] || size == sizes[i][1] + 16) &&
			gorgon_blocks_is_small(p) && gorgon_blocks_small_size(p) == size;
		free(p);
	}
	gorgon_blocks_sizes_known = known;
}

void gorgon_blocks_begin(struct gorgon_usage *usage)
{
	// Without random numbers marks are still none that a program writes by chance.
	if (getrandom(&usage->secret, sizeof(usage->secret), GRND_NONBLOCK) !=
	    sizeof(usage->secret))
		usage->secret = (uintptr_t)usage * UINT64_C(0x9e3779b97f4a7c15);
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
		gorgon_blocks_take(block->usage, block->size);
	}
	return block;
}

// Without memory for its entry a block is not counted.
void gorgon_blocks_note_large(void *p, size_t size, struct gorgon_usage *usage)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take_large(p) ?: malloc(sizeof(*block));
	if (block) {
		struct block **bucket = bucket_of(p);

		*block = (struct block){*bucket, p, size, usage};
		*bucket = block;
		gorgon_blocks_add(usage, size);
	}
	pthread_mutex_unlock(&lock);
}

void gorgon_blocks_forget_large(void *p)
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
