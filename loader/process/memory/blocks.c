// SPDX-License-Identifier: MIT
// Blocks that extensions have from malloc(), counted.
//
// An extension's block stays the C library's, see heap.c: any code that gets the block may free it.
// So a block has no header, but eight bytes more at its end, where a mark says for which namespace
// the block counts. The mark depends on the address, on a secret of the process, so that no other
// bytes are taken for a mark, and on a number of the namespace. Blocks that the C library has made
// (getline(), asprintf()) have no mark, and are not counted.
//
// Private code of any namespace may free the block. If other code frees it, it is counted until
// malloc() gives its address again: the mark is still there then. It may be counted for good when
// the C library has made something else of its memory, or has given it back.
//
// Programs allocate so often that asking the C library for each block's size would be half of what
// counting costs, and two atomic additions more than malloc() and free() together. glibc has the
// size in front of the block, in a form that has not changed since 1996. Whether the process has
// glibc's malloc() is found out by trying: replacements of malloc(), sanitizers and checkers give
// blocks other sizes. And each thread has a sum of its own, which it tells a namespace when it has
// become large, or when the thread begins to count for another namespace.
//
// Under a memory checker (base/checker.c) all blocks are in a table until private code frees them:
// with a mark behind it, a block would be larger for the checker than it is for its user.
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "blocks.h"
#include "base/usage.h"
#include "ns/ns.h"
#include "process/part.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS	  4096
#define USERS	  65536

struct block {
	struct block *next;
	const void *addr;
	size_t size;
	struct gorgon_usage *usage;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *buckets[BUCKETS];
static struct gorgon_usage *users[USERS]; // by the 16 highest bits of their secrets
static uint16_t newest_user;
static uint64_t secret; // the lower 48 bits of all secrets

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
			gorgon_blocks_is_plain(p) && gorgon_blocks_plain_size(p) == size;
		free(p);
	}
	gorgon_blocks_sizes_known = known;
}

void gorgon_blocks_begin(struct gorgon_usage *usage)
{
	pthread_mutex_lock(&lock);
	// Without random numbers marks are still none that a program writes by chance.
	if (!secret && getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
		secret = (uintptr_t)usage * UINT64_C(0x9e3779b97f4a7c15);
	do {
		newest_user++;
	} while (users[newest_user]);
	users[newest_user] = usage;
	usage->secret = secret >> 16 | (uint64_t)newest_user << 48;
	pthread_mutex_unlock(&lock);
}

// --- counting ----------------------------------------------------------------------------------

// Under the lock, or on the thread while it counts for the namespace, which lives as long.
static void tell(struct gorgon_untold *untold)
{
	struct gorgon_usage *usage = __atomic_load_n(&untold->usage, __ATOMIC_RELAXED);

	if (usage)
		__atomic_add_fetch(&usage->extension_bytes, gorgon_untold_bytes(untold),
				   __ATOMIC_RELAXED);
	__atomic_store_n(&untold->bytes, GORGON_UNTOLD_MAX, __ATOMIC_RELAXED);
}

// A thread without a record tells each block.
void gorgon_blocks_add_slowly(struct gorgon_usage *usage, uint64_t size)
{
	struct gorgon_thread *thread = gorgon_thread_current;

	__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
	if (thread && gorgon_thread_counts_for(thread) == usage) {
		tell(&thread->untold);
	} else if (thread) {
		pthread_mutex_lock(&lock);
		tell(&thread->untold);
		__atomic_store_n(&thread->untold.usage, usage, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
	}
}

void gorgon_blocks_take_marked(uint64_t mark, size_t size)
{
	struct gorgon_usage *usage;

	pthread_mutex_lock(&lock);
	usage = users[mark >> 48];
	if (usage)
		__atomic_sub_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

// --- under a checker ---------------------------------------------------------------------------

static struct block **bucket_of(const void *addr)
{
	return &buckets[((uintptr_t)addr >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

// Take a block out of the table; NULL: it is not there.
static struct block *take_checked(const void *addr)
{
	struct block **p = bucket_of(addr), *block;

	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	block = *p;
	if (block) {
		*p = block->next;
		__atomic_sub_fetch(&block->usage->extension_bytes, block->size, __ATOMIC_RELAXED);
	}
	return block;
}

// Without memory for its entry a block is not counted.
void gorgon_blocks_note_checked(void *p, size_t size, struct gorgon_usage *usage)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take_checked(p) ?: malloc(sizeof(*block));
	if (block) {
		struct block **bucket = bucket_of(p);

		*block = (struct block){*bucket, p, size, usage};
		*bucket = block;
		__atomic_add_fetch(&usage->extension_bytes, size, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

void gorgon_blocks_forget_checked(void *p)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	block = take_checked(p);
	pthread_mutex_unlock(&lock);
	free(block);
}

void gorgon_blocks_release(const struct gorgon_usage *usage)
{
	gorgon_threads_lock();
	pthread_mutex_lock(&lock);
	users[usage->secret >> 48] = NULL;
	for (struct gorgon_thread *thread = NULL; (thread = gorgon_thread_next(thread));)
		if (gorgon_thread_counts_for(thread) == usage)
			__atomic_store_n(&thread->untold.usage, NULL, __ATOMIC_RELAXED);
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
	gorgon_threads_unlock();
}
