// SPDX-License-Identifier: MIT
// jitreg/arena.c: blocks side by side, in few mappings.

#define _GNU_SOURCE
#include "arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT 200

/* Mappings that begin at one of the blocks or between them. */
static size_t count_mappings(char *const blocks[COUNT])
{
	FILE *in = fopen("/proc/self/maps", "re");
	uintptr_t low = UINTPTR_MAX, high = 0;
	unsigned long start;
	size_t count = 0;

	for (size_t i = 0; i < COUNT; i++) {
		low = (uintptr_t)blocks[i] < low ? (uintptr_t)blocks[i] : low;
		high = (uintptr_t)blocks[i] > high ? (uintptr_t)blocks[i] : high;
	}
	while (fscanf(in, "%lx-%*[^\n]\n", &start) == 1)
		count += start >= low && start <= high;
	fclose(in);
	return count;
}

static size_t size_of(size_t i)
{
	return 100 + i * 1234 % 20000;
}

static void alloc_many(char *blocks[COUNT])
{
	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = jitreg_arena_alloc(size_of(i));
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % (uintptr_t)getpagesize(), 0);
		memset(blocks[i], (int)i, size_of(i));
		assert_int_equal(jitreg_arena_protect(blocks[i], size_of(i), PROT_READ), 0);
	}
}

static void check_content(char *const blocks[COUNT], size_t first, size_t step)
{
	for (size_t i = first; i < COUNT; i += step)
		for (size_t at = 0; at < size_of(i); at++)
			assert_int_equal((unsigned char)blocks[i][at], i);
}

static void arena_sealed_neighbours_are_one_mapping(void **state)
{
	char *blocks[COUNT];

	(void)state;
	alloc_many(blocks);
	check_content(blocks, 0, 1);
	assert_int_equal(count_mappings(blocks), 1);
	for (size_t i = 0; i < COUNT; i++)
		jitreg_arena_free(blocks[i], size_of(i));
}

static void arena_freed_room_is_used_again_and_empty(void **state)
{
	char *blocks[COUNT], *end = NULL;

	(void)state;
	alloc_many(blocks);
	for (size_t i = 0; i < COUNT; i++)
		end = blocks[i] > end ? blocks[i] : end;
	for (size_t i = 0; i < COUNT; i += 2)
		jitreg_arena_free(blocks[i], size_of(i));
	check_content(blocks, 1, 2);
	for (size_t i = 0; i < COUNT; i += 2) {
		blocks[i] = jitreg_arena_alloc(size_of(i));
		assert_true(blocks[i] <= end);
		for (size_t at = 0; at < size_of(i); at++)
			assert_int_equal(blocks[i][at], 0);
		memset(blocks[i], (int)i, size_of(i));
	}
	check_content(blocks, 0, 1);
	for (size_t i = COUNT; i-- > 0;)
		jitreg_arena_free(blocks[i], size_of(i));
}

// Freed in any order, from within runs and at their ends.
static void arena_blocks_come_and_go_in_any_order(void **state)
{
	char *blocks[COUNT] = {0};
	unsigned seed = 1;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		size_t i = (size_t)rand_r(&seed) % COUNT;

		if (blocks[i]) {
			assert_int_equal((unsigned char)blocks[i][size_of(i) - 1], i);
			jitreg_arena_free(blocks[i], size_of(i));
			blocks[i] = NULL;
		} else {
			blocks[i] = jitreg_arena_alloc(size_of(i));
			assert_int_equal(blocks[i][size_of(i) - 1], 0);
			memset(blocks[i], (int)i, size_of(i));
		}
	}
	for (size_t i = 0; i < COUNT; i++)
		if (blocks[i])
			jitreg_arena_free(blocks[i], size_of(i));
}

static void arena_block_larger_than_a_region(void **state)
{
	size_t size = (size_t)100 << 20;
	char *block = jitreg_arena_alloc(size);

	(void)state;
	assert_non_null(block);
	block[0] = block[size - 1] = 1;
	jitreg_arena_free(block, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_sealed_neighbours_are_one_mapping),
		cmocka_unit_test(arena_freed_room_is_used_again_and_empty),
		cmocka_unit_test(arena_blocks_come_and_go_in_any_order),
		cmocka_unit_test(arena_block_larger_than_a_region),
	};

	return cmocka_run_group_tests_name("jitreg arena", tests, NULL, NULL);
}
