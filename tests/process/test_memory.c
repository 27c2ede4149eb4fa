// SPDX-License-Identifier: MIT
// loader/process/memory/memory.c

#define _GNU_SOURCE
#include "helpers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  ((size_t)getpagesize())
#define ARENA ((size_t)1 << 20)

struct memory {
	struct gorgon_ns *ns;
	void *(*map)(size_t size, int flags);
	int (*unmap)(void *addr, size_t size);
	void *(*remap)(void *addr, size_t size, size_t new_size);
};

static struct memory open_memory_in(struct gorgon_ns *ns)
{
	struct memory ret = {.ns = ns};
	struct gorgon_object *object = test_open(ret.ns, "libmemory.so");

	ret.map = SYMBOL(object, void *(*)(size_t, int), "memory_map");
	ret.unmap = SYMBOL(object, int (*)(void *, size_t), "memory_unmap");
	ret.remap = SYMBOL(object, void *(*)(void *, size_t, size_t), "memory_remap");
	return ret;
}

static struct memory open_memory(void)
{
	return open_memory_in(test_ns());
}

static bool is_mapped(const char *addr)
{
	return !msync((void *)addr, PAGE, MS_ASYNC) || errno != ENOMEM;
}

static void destroy_mappings_left_are_unmapped(void **state)
{
	struct memory memory = open_memory();
	char *a = memory.map(3 * PAGE, MAP_PRIVATE);
	char *b = memory.map(100, MAP_PRIVATE);

	(void)state;
	a[0] = b[99] = 1;
	test_ns_destroy(memory.ns);
	for (int i = 0; i < 3; i++)
		assert_false(is_mapped(a + i * PAGE));
	assert_false(is_mapped(b));
}

// Without a file only forked children can have it, and theirs stay.
static void destroy_shared_anonymous_mapping_is_unmapped(void **state)
{
	struct memory memory = open_memory();
	char *a = memory.map(PAGE, MAP_SHARED);

	(void)state;
	a[0] = 1;
	test_ns_destroy(memory.ns);
	assert_false(is_mapped(a));
}

static void unmap_middle_only_the_rest_is_unmapped_at_the_end(void **state)
{
	struct memory memory = open_memory();
	char *a = memory.map(5 * PAGE, MAP_PRIVATE);
	char *other;

	(void)state;
	assert_int_equal(memory.unmap(a + 2 * PAGE, PAGE), 0);
	// The host's mapping is in the hole now, and must survive.
	other = mmap(a + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(other, a + 2 * PAGE);
	other[0] = 7;
	test_ns_destroy(memory.ns);
	for (int i = 0; i < 5; i++)
		assert_int_equal(is_mapped(a + i * PAGE), i == 2);
	assert_int_equal(other[0], 7);
	munmap(other, PAGE);
}

static void remap_moved_range_is_unmapped_where_it_went(void **state)
{
	struct memory memory = open_memory();
	char *a = memory.map(2 * PAGE, MAP_PRIVATE);
	char *b;

	(void)state;
	b = memory.remap(a, 2 * PAGE, 600 * PAGE);
	assert_ptr_not_equal(b, MAP_FAILED);
	b[599 * PAGE] = 1;
	test_ns_destroy(memory.ns);
	assert_false(is_mapped(b));
	assert_false(is_mapped(b + 599 * PAGE));
}

static void destroy_other_namespaces_memory_stays(void **state)
{
	struct memory one = open_memory(), two = open_memory();
	char *a = one.map(PAGE, MAP_PRIVATE), *b = two.map(PAGE, MAP_PRIVATE);

	(void)state;
	b[0] = 5;
	test_ns_destroy(one.ns);
	assert_false(is_mapped(a));
	assert_int_equal(b[0], 5);
	test_ns_destroy(two.ns);
	assert_false(is_mapped(b));
}

// Whether a large page may be there, by VmFlags of /proc/PID/smaps. The kernel takes the advice only where there
// are such pages.
static bool is_large(const char *addr)
{
	FILE *in = fopen("/proc/self/smaps", "re");
	char line[4096];
	uint64_t start, end;
	bool here = false, large = false;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
			here = start <= (uintptr_t)addr && (uintptr_t)addr < end;
		large |= here && !strncmp(line, "VmFlags:", 8) && strstr(line, " hg");
	}
	fclose(in);
	return large;
}

static bool has_large_pages(void)
{
	char *p = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ret = !madvise(p, 2 * ARENA, MADV_HUGEPAGE);

	munmap(p, 2 * ARENA);
	return ret;
}

static void map_arenas_from_the_third_on_share_large_pages(void **state)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .large_arenas = true};
	struct gorgon_ns *ns = NULL;
	struct memory memory;
	char *arenas[5];

	(void)state;
	if (!has_large_pages())
		skip();
	assert_ok(gorgon_ns_create(&opts, &ns));
	memory = open_memory_in(ns);
	for (size_t i = 0; i < 5; i++) {
		arenas[i] = memory.map(ARENA, MAP_PRIVATE);
		arenas[i][0] = arenas[i][ARENA - 1] = 1;
		assert_int_equal(is_large(arenas[i]), i >= 2);
	}
	assert_int_equal((uintptr_t)arenas[2] % (2 * ARENA), 0);
	assert_ptr_equal(arenas[3], arenas[2] + ARENA);
	// The other half of the large page belongs to another arena.
	assert_int_equal(memory.unmap(arenas[2], ARENA), 0);
	assert_false(is_mapped(arenas[2]));
	assert_int_equal(arenas[3][0], 1);
	assert_false(is_large(memory.map(ARENA / 2, MAP_PRIVATE)));
	test_ns_destroy(ns);
	for (size_t i = 0; i < 5; i++)
		assert_false(is_mapped(arenas[i]));
	assert_false(is_mapped(arenas[4] + ARENA)); // the half that was kept for the next arena
}

static void map_arenas_are_small_without_the_option(void **state)
{
	struct memory memory = open_memory();

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_false(is_large(memory.map(ARENA, MAP_PRIVATE)));
	test_ns_destroy(memory.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy_mappings_left_are_unmapped),
		cmocka_unit_test(destroy_shared_anonymous_mapping_is_unmapped),
		cmocka_unit_test(unmap_middle_only_the_rest_is_unmapped_at_the_end),
		cmocka_unit_test(remap_moved_range_is_unmapped_where_it_went),
		cmocka_unit_test(destroy_other_namespaces_memory_stays),
		cmocka_unit_test(map_arenas_from_the_third_on_share_large_pages),
		cmocka_unit_test(map_arenas_are_small_without_the_option),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
