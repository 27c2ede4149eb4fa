// SPDX-License-Identifier: MIT
// loader/process/memory/heap.c

#define _GNU_SOURCE
#include "process/memory/heap.h"
#include "helpers.h"
#include "process/memory/malloc_family.h"
#include "ns/ns.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 3000

static size_t size_of(size_t i)
{
	return i * 37 % 9000;
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static struct gorgon_heap *heap_of(const struct gorgon_ns *ns)
{
	return gorgon_parts_state(ns->parts, &gorgon_heap_part);
}

static void free_of_private_code(void *p, struct gorgon_usage *usage)
{
	usage->free(p, usage);
}

static void check_bytes(const unsigned char *p, size_t size, unsigned char value)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(p[i], value);
}

// Makes malloc() return memory that has been in use.
static void make_dirty(void)
{
	void *blocks[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = memset(malloc(size_of(i) + 1), 0xff, size_of(i) + 1);
	for (size_t i = 0; i < COUNT; i++)
		free(blocks[i]);
}

static void heap_blocks_keep_their_content(void **state)
{
	struct gorgon_ns *ns = test_ns();
	unsigned char *blocks[COUNT];

	(void)state;
	make_dirty();
	for (size_t i = 0; i < COUNT; i++) {
		if (i % 2) {
			blocks[i] = gorgon_heap_malloc(size_of(i), heap_of(ns));
		} else {
			blocks[i] = gorgon_heap_calloc(size_of(i), 1, heap_of(ns));
			check_bytes(blocks[i], size_of(i), 0);
		}
		assert_int_equal((uintptr_t)blocks[i] % 16, 0);
		assert_int_not_equal((uintptr_t)blocks[i] % 4096, 0);
		memset(blocks[i], (int)i, size_of(i));
	}
	// Larger, smaller, and so large that it gets a mapping.
	for (size_t i = 0; i < COUNT; i += 3)
		blocks[i] = gorgon_heap_realloc(blocks[i], size_of(i) + 1 + i * 100, heap_of(ns));
	for (size_t i = 0; i < COUNT; i++) {
		check_bytes(blocks[i], size_of(i), (unsigned char)i);
		blocks[i] = gorgon_heap_realloc(blocks[i], 1 + size_of(i) / 2, heap_of(ns));
		check_bytes(blocks[i], size_of(i) / 2, (unsigned char)i);
	}
	for (size_t i = 0; i < COUNT; i++)
		free_of_private_code(blocks[i], &ns->usage);
	assert_int_equal(ns->usage.heap_bytes, 0);
	test_ns_destroy(ns);
}

#if !TEST_SANITIZED
// A header has the next and the previous block, the heap and a mark. The C library also rounds sizes up, and leaves to a block what is
// too little for another one.
static void heap_block_costs_a_header(void **state)
{
	struct gorgon_ns *ns = test_ns();
	char *blocks[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		blocks[i] = gorgon_heap_malloc(1000, heap_of(ns));
	assert_true(ns->usage.heap_bytes <= COUNT * (1000 + 32 + 16));
	for (size_t i = 0; i < COUNT; i++)
		free_of_private_code(blocks[i], &ns->usage);
	test_ns_destroy(ns);
}
#endif

// Blocks of the C library are recognised, wherever they begin in a page and whatever lies in front of them.
static void heap_free_takes_blocks_of_the_c_library(void **state)
{
	struct gorgon_ns *ns = test_ns();

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		char *p = malloc(i);

		free_of_private_code(p, &ns->usage);
		p = gorgon_malloc_realloc(NULL, 10, &ns->usage);
		p = gorgon_malloc_realloc(p, 200000, &ns->usage);
		// A block that is not listed stays the C library's.
		p = gorgon_heap_realloc(p, 20, heap_of(ns));
		free(p);
		assert_int_equal(posix_memalign((void **)&p, 4096, 100), 0);
		free_of_private_code(p, &ns->usage);
	}
	free_of_private_code(NULL, &ns->usage);
	test_ns_destroy(ns);
}

static void heap_impossible_sizes_are_refused(void **state)
{
	// The compiler would refuse these calls with constants.
	volatile size_t huge = SIZE_MAX;
	struct gorgon_ns *ns = test_ns();
	char *p = gorgon_heap_malloc(10, heap_of(ns));

	(void)state;
	strcpy(p, "kept");
	assert_null(gorgon_heap_malloc(huge, heap_of(ns)));
	assert_null(gorgon_heap_calloc(huge / 2, 3, heap_of(ns)));
	assert_null(gorgon_heap_realloc(p, huge - 100, heap_of(ns)));
#if !TEST_SANITIZED // a sanitizer's malloc() aborts
	assert_null(gorgon_heap_malloc(huge / 2 - 100, heap_of(ns)));
	assert_null(gorgon_heap_realloc(p, huge / 2 - 100, heap_of(ns)));
#endif
	assert_string_equal(p, "kept");
	free_of_private_code(p, &ns->usage);
	assert_int_equal(ns->usage.heap_bytes, 0);
	test_ns_destroy(ns);
}

static void leave_blocks_behind(void)
{
	struct gorgon_ns *ns = test_ns();

	for (size_t i = 0; i < COUNT; i++)
		*(char *)gorgon_heap_malloc(size_of(i) + 1, heap_of(ns)) = 1;
	test_ns_destroy(ns);
}

static void heap_release_frees_what_is_left(void **state)
{
	size_t before;

	(void)state;
	leave_blocks_behind();
	before = bytes_in_use();
	for (int i = 0; i < 10; i++)
		leave_blocks_behind();
	if (!TEST_SANITIZED)
		assert_true(bytes_in_use() < before + 100000);
}

struct worker {
	struct gorgon_ns *ns;
	unsigned seed;
};

static void *allocate_at_random(void *arg)
{
	struct worker *worker = arg;
	void *blocks[100] = {0};

	for (int step = 0; step < 20000; step++) {
		size_t i = (size_t)rand_r(&worker->seed) % 100;

		blocks[i] = gorgon_heap_realloc(blocks[i], 1 + (size_t)rand_r(&worker->seed) % 2000,
						heap_of(worker->ns));
		if (step % 3 == 0) {
			free_of_private_code(blocks[i], &worker->ns->usage);
			blocks[i] = NULL;
		}
	}
	return NULL; // the other blocks are left behind
}

static void heap_threads_and_forks(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct worker workers[4];
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		workers[i] = (struct worker){ns, i};
		assert_int_equal(pthread_create(&threads[i], NULL, allocate_at_random, &workers[i]), 0);
	}
	for (int i = 0; !TEST_SANITIZED && i < 50; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			alarm(120);
			free_of_private_code(gorgon_heap_malloc(100, heap_of(ns)), &ns->usage);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heap_blocks_keep_their_content),
#if !TEST_SANITIZED
		cmocka_unit_test(heap_block_costs_a_header),
#endif
		cmocka_unit_test(heap_free_takes_blocks_of_the_c_library),
		cmocka_unit_test(heap_impossible_sizes_are_refused),
		cmocka_unit_test(heap_release_frees_what_is_left),
		cmocka_unit_test(heap_threads_and_forks),
	};

	return cmocka_run_group_tests_name("heap", tests, test_warm_up, NULL);
}
