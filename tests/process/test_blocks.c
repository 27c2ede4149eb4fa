// SPDX-License-Identifier: MIT
// loader/process/memory/blocks.c

#define _GNU_SOURCE
#include "process/memory/blocks.h"
#include "helpers.h"
#include "process/memory/heap.h"
#include "process/memory/malloc_family.h"
#include "ns/ns.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT	   300
#define STEPS	   20000
#define MAPPED	   (40u << 20) // more than glibc ever takes from its heap
#define NAMESPACES 3
#define THREADS	   4

static uint64_t counted(const struct gorgon_ns *ns)
{
	return gorgon_threads_extension_bytes(&ns->usage);
}

static void release(void *p, struct gorgon_ns *ns)
{
	ns->usage.free(p, &ns->usage);
}

// Each test, where malloc() is glibc's, where it is another, which is asked for each size, and under a memory checker.
static void in_each_way(void (*test)(void))
{
	bool known = gorgon_blocks_sizes_known, checker = gorgon_checker;

	assert_int_equal(known, !TEST_SANITIZED);
	for (int i = 0; i < 3; i++) {
		gorgon_blocks_sizes_known = known && !i;
		gorgon_checker = checker || i == 2;
		test();
	}
	gorgon_blocks_sizes_known = known;
	gorgon_checker = checker;
}

static size_t size_of(unsigned *seed)
{
	static const size_t limits[] = {100, 5000, 200000, 2000000};

	return (size_t)rand_r(seed) % limits[(size_t)rand_r(seed) % 4];
}

static void *allocate(struct gorgon_ns *ns, unsigned *seed)
{
	size_t size = size_of(seed);
	void *p = NULL;

	switch (rand_r(seed) % 4) {
	case 0:
		return gorgon_malloc_calloc(1, size, &ns->usage);
	case 1:
		assert_int_equal(gorgon_malloc_posix_memalign(&p, 64, size, &ns->usage), 0);
		return p;
	default:
		p = gorgon_malloc(size, &ns->usage);
		return p ? memset(p, 0xff, size) : NULL;
	}
}

// Blocks change hands: any of the namespaces may free a block, and what resizes a block has it.
static void check_model(void)
{
	struct gorgon_ns *namespaces[NAMESPACES];
	uint64_t sums[NAMESPACES] = {0};
	struct {
		void *p;
		size_t owner;
	} blocks[COUNT] = {0};
	unsigned seed = 1;

	for (size_t i = 0; i < NAMESPACES; i++)
		namespaces[i] = test_ns();
	for (int step = 0; step < STEPS; step++) {
		size_t i = (size_t)rand_r(&seed) % COUNT, who = (size_t)rand_r(&seed) % NAMESPACES;
		struct gorgon_ns *ns = namespaces[who];

		if (blocks[i].p)
			sums[blocks[i].owner] -= gorgon_blocks_usable(blocks[i].p);
		if (blocks[i].p && rand_r(&seed) % 2) {
			release(blocks[i].p, ns);
			blocks[i].p = NULL;
		} else {
			blocks[i].p = blocks[i].p ? gorgon_malloc_realloc(blocks[i].p, 1 + size_of(&seed), &ns->usage)
						  : allocate(ns, &seed);
			assert_non_null(blocks[i].p);
			blocks[i].owner = who;
			sums[who] += gorgon_blocks_usable(blocks[i].p);
		}
		for (size_t k = 0; k < NAMESPACES; k++)
			assert_int_equal(counted(namespaces[k]), sums[k]);
	}
	for (size_t i = 0; i < COUNT; i++)
		release(blocks[i].p, namespaces[0]);
	for (size_t i = 0; i < NAMESPACES; i++) {
		assert_int_equal(counted(namespaces[i]), 0);
		test_ns_destroy(namespaces[i]);
	}
}

static void blocks_are_counted_to_the_byte_whoever_frees_them(void **state)
{
	(void)state;
	in_each_way(check_model);
}

static void check_mapped(void)
{
	struct gorgon_ns *ns = test_ns();
	char *p = gorgon_malloc(MAPPED, &ns->usage);

	assert_int_equal(counted(ns), malloc_usable_size(p));
	assert_in_range(gorgon_malloc_usable_size(p, &ns->usage), MAPPED, malloc_usable_size(p));
	memset(p, 0xff, gorgon_malloc_usable_size(p, &ns->usage));
	p = gorgon_malloc_realloc(p, 2 * MAPPED, &ns->usage);
	assert_int_equal(counted(ns), malloc_usable_size(p));
	p = gorgon_malloc_realloc(p, MAPPED, &ns->usage);
	assert_int_equal(counted(ns), malloc_usable_size(p));
	for (size_t i = 0; i < MAPPED; i += 4096)
		assert_int_equal((unsigned char)p[i], 0xff);
	release(p, ns);
	p = gorgon_malloc_calloc(1, MAPPED, &ns->usage);
	for (size_t i = 0; i < MAPPED; i++)
		if (p[i])
			fail_msg("byte %zu is no zero", i);
	release(p, ns);
	assert_int_equal(counted(ns), 0);
	test_ns_destroy(ns);
}

static void blocks_that_are_mappings_are_counted(void **state)
{
	(void)state;
	in_each_way(check_mapped);
}

static void check_others(void)
{
	struct gorgon_ns *ns = test_ns();
	void *p;

	// Neither the C library's blocks nor libpython's are an extension's.
	release(strdup("a block of the C library's"), ns);
	release(malloc(MAPPED), ns);
	p = gorgon_heap_malloc(100, gorgon_parts_state(ns->parts, &gorgon_heap_part));
	assert_true(ns->usage.heap_bytes >= 100);
	release(p, ns);
	release(NULL, ns);
	assert_int_equal(ns->usage.heap_bytes, 0);
	assert_int_equal(counted(ns), 0);
	test_ns_destroy(ns);
}

static void blocks_of_others_are_not_counted(void **state)
{
	(void)state;
	in_each_way(check_others);
}

#if !TEST_SANITIZED // whose malloc() does not give the same address at once
// Others free a block, and an extension gets it again.
static void check_reuse(void)
{
	struct gorgon_ns *first = test_ns(), *second = test_ns();
	void *p = gorgon_malloc(100, &first->usage);
	uintptr_t addr = (uintptr_t)p;

	free(p);
	p = gorgon_malloc(100, &first->usage);
	assert_int_equal((uintptr_t)p, addr);
	assert_int_equal(counted(first), malloc_usable_size(p));
	free(p);
	p = gorgon_malloc(100, &second->usage);
	assert_int_equal((uintptr_t)p, addr);
	assert_int_equal(counted(first), 0);
	assert_int_equal(counted(second), malloc_usable_size(p));
	release(p, second);
	assert_int_equal(counted(second), 0);
	test_ns_destroy(first);
	test_ns_destroy(second);
}

static void blocks_freed_elsewhere_are_counted_once(void **state)
{
	(void)state;
	in_each_way(check_reuse);
}
#endif

static void check_ended(void)
{
	struct gorgon_ns *first = test_ns(), *second = test_ns();
	void *small = gorgon_malloc(100, &first->usage), *large = gorgon_malloc(MAPPED, &first->usage);

	test_ns_destroy(first);
	first = test_ns();
	release(small, second);
	release(large, second);
	assert_int_equal(counted(first), 0);
	assert_int_equal(counted(second), 0);
	small = gorgon_malloc(100, &first->usage);
	assert_int_equal(counted(first), malloc_usable_size(small));
	release(small, first);
	test_ns_destroy(first);
	test_ns_destroy(second);
}

static void blocks_of_a_namespace_that_has_ended_count_for_nobody(void **state)
{
	(void)state;
	in_each_way(check_ended);
}

struct worker {
	struct gorgon_ns *ns;
	struct worker *next;
	unsigned seed;
	void *blocks[COUNT];
	pthread_t thread;
};

static void *fill(void *arg)
{
	struct worker *worker = arg;

	if (worker->seed % 2)
		gorgon_thread_get(); // the others have no record
	for (size_t i = 0; i < COUNT; i++)
		worker->blocks[i] = allocate(worker->ns, &worker->seed);
	return NULL;
}

static void *drain(void *arg)
{
	struct worker *worker = arg;

	if (worker->seed % 2)
		gorgon_thread_get();
	for (size_t i = 0; i < COUNT; i++)
		release(worker->next->blocks[i], worker->ns);
	return NULL;
}

static void run_all(struct worker *workers, void *(*fn)(void *))
{
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

// Threads come and go, of which each second one has a record, and others free what they have left.
static void check_threads(void)
{
	struct gorgon_ns *namespaces[2] = {test_ns(), test_ns()};
	struct worker workers[THREADS] = {0};

	for (size_t i = 0; i < THREADS; i++) {
		workers[i].ns = namespaces[i % 2];
		workers[i].next = &workers[(i + 1) % THREADS];
		workers[i].seed = (unsigned)i;
	}
	run_all(workers, fill);
	for (size_t i = 0; i < 2; i++) {
		uint64_t sum = 0;

		for (size_t k = i; k < THREADS; k += 2)
			for (size_t n = 0; n < COUNT; n++)
				sum += gorgon_blocks_usable(workers[k].blocks[n]);
		assert_int_equal(counted(namespaces[i]), sum);
	}
	run_all(workers, drain);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(counted(namespaces[i]), 0);
		test_ns_destroy(namespaces[i]);
	}
}

static void blocks_are_counted_on_all_threads(void **state)
{
	(void)state;
	in_each_way(check_threads);
}

#if !TEST_SANITIZED
// What the threads of the parent have counted and not told counts in the child, too.
static void *fork_here(void *arg)
{
	struct worker *worker = arg;
	uint64_t before;
	int status;
	pid_t pid;

	gorgon_thread_get();
	before = counted(worker->ns);
	pid = fork();
	if (!pid) {
		void *p;

		alarm(120);
		if (counted(worker->ns) != before)
			_exit(1);
		p = gorgon_malloc(100, &worker->ns->usage);
		if (counted(worker->ns) != before + malloc_usable_size(p))
			_exit(2);
		release(p, worker->ns);
		_exit(counted(worker->ns) != before ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return NULL;
}

static void blocks_are_counted_in_forked_children(void **state)
{
	struct worker worker = {.ns = test_ns()};
	void *p;

	(void)state;
	gorgon_thread_get();
	p = gorgon_malloc(1000, &worker.ns->usage);
	assert_int_equal(pthread_create(&worker.thread, NULL, fork_here, &worker), 0);
	assert_int_equal(pthread_join(worker.thread, NULL), 0);
	release(p, worker.ns);
	test_ns_destroy(worker.ns);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_counted_to_the_byte_whoever_frees_them),
		cmocka_unit_test(blocks_that_are_mappings_are_counted),
		cmocka_unit_test(blocks_of_others_are_not_counted),
		cmocka_unit_test(blocks_of_a_namespace_that_has_ended_count_for_nobody),
		cmocka_unit_test(blocks_are_counted_on_all_threads),
#if !TEST_SANITIZED
		cmocka_unit_test(blocks_freed_elsewhere_are_counted_once),
		cmocka_unit_test(blocks_are_counted_in_forked_children),
#endif
	};

	return cmocka_run_group_tests_name("blocks", tests, test_warm_up, NULL);
}
