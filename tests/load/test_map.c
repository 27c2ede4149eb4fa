// SPDX-License-Identifier: MIT
// loader/load/map.c: what the memory of a loaded object looks like.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "helpers.h"
#include "machine.h"
#include "base/error.h"
#include "base/lock.h"
#include "load/destroy.h"
#include "load/map.h"
#include "ns/ns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Protection and file of the mapping that contains @addr.
struct mapping {
	uint64_t start, end;
	char prot[5];
	char file[512];
};

static struct mapping mapping_at(uint64_t addr)
{
	FILE *in = fopen("/proc/self/maps", "re");
	struct mapping ret = {0};
	char line[1024];

	while (in && fgets(line, sizeof(line), in)) {
		struct mapping m = {0};

		sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %511[^\n]", &m.start, &m.end,
		       m.prot, m.file);
		if (addr >= m.start && addr < m.end)
			ret = m;
	}
	fclose(in);
	return ret;
}

static struct gorgon_object *open_built(struct gorgon_ns *ns, const struct elf_builder *builder)
{
	struct elf_file file = elf_build(builder);
	const char *path = test_temp("map.so");
	struct gorgon_object *object = NULL;

	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	assert_ok(gorgon_object_open(ns, path, NULL, &object));
	return object;
}

static struct gorgon_object_info info_of(const struct gorgon_object *object)
{
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	return info;
}

static void map_segments_have_their_protection_and_file(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = open_built(ns, &(struct elf_builder){0});
	uint64_t bias = info_of(object).bias;
	const char *file = test_temp("map.so");

	(void)state;
	assert_string_equal(mapping_at(bias).prot, "r--p");
	assert_string_equal(mapping_at(bias).file, file);
	assert_string_equal(mapping_at(bias + ELF_BUILDER_TEXT).prot, "r-xp");
	assert_string_equal(mapping_at(bias + ELF_BUILDER_TEXT).file, file);
	assert_string_equal(mapping_at(bias + ELF_BUILDER_RW).prot, "rw-p");
	assert_string_equal(mapping_at(bias + ELF_BUILDER_RW).file, "");
	assert_true(mapping_at(bias + ELF_BUILDER_BSS).start == mapping_at(bias + ELF_BUILDER_RW).start);
	test_ns_destroy(ns);
}

static void map_zero_filled_part_is_zero_and_writable(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	int *zero = SYMBOL(object, int *, "basic_zero");

	(void)state;
	for (int i = 0; i < 5000; i++)
		assert_int_equal(zero[i], 0);
	zero[4999] = 1;
	test_ns_destroy(ns);
}

static void map_range_has_no_other_mapping_in_it(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object_info info = info_of(test_open(ns, "libbasic_align.so"));

	(void)state;
	for (uint64_t at = info.start; at < info.end;) {
		struct mapping m = mapping_at(at);

		assert_int_not_equal(m.end, 0); // holes are reserved
		assert_true(!*m.file || !strcmp(m.file, info.path));
		at = m.end;
	}
	test_ns_destroy(ns);
}

// The size from the first page of a library's segments to the end of the last page.
static uint64_t size_in_file(const char *module)
{
	uint64_t page = (uint64_t)getpagesize(), ret = 0;
	size_t size;
	uint8_t *file = test_read(test_module(module), &size);
	const Elf64_Ehdr *ehdr = (const void *)file;
	const Elf64_Phdr *phdr = (const void *)(file + ehdr->e_phoff);

	for (unsigned i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			ret = (phdr[i].p_vaddr + phdr[i].p_memsz + page - 1) & -page;
	free(file);
	return ret;
}

static void map_alignment_above_page_is_kept_and_trimmed(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object_info info = info_of(test_open(ns, "libbasic_align.so"));

	(void)state;
	assert_int_equal(info.bias % 0x200000, 0);
	assert_int_equal(info.end - info.start, size_in_file("libbasic_align.so"));
	test_ns_destroy(ns);
	assert_unchanged(&before);
}

static void map_protect_relro_is_read_only(void **state)
{
	struct gorgon_ns *ns = test_ns();
	// A PT_GNU_RELRO that is shorter than a page protects nothing. The compiler ends it at the end of a page.
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	uint64_t table = (uintptr_t)SYMBOL(object, void *, "basic_table");
	uint64_t value = (uintptr_t)SYMBOL(object, void *, "basic_value");

	(void)state;
	assert_string_equal(mapping_at(table).prot, "r--p");
	assert_string_equal(mapping_at(value).prot, "rw-p");
	test_ns_destroy(ns);
}

static void map_no_mapping_is_writable_and_executable(void **state)
{
	struct gorgon_ns *ns = test_ns();
	FILE *in;
	char line[1024];

	(void)state;
	test_open(ns, "libbasic.so");
	test_open(ns, "libcatch.so");
	in = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), in))
		assert_null(strstr(line, " rwx"));
	fclose(in);
	test_ns_destroy(ns);
}

static unsigned mappings_of(const struct gorgon_object_info *info)
{
	unsigned count = 0;

	for (uint64_t at = info->start; at < info->end; count++)
		at = mapping_at(at).end;
	return count;
}

// What a process does when it nears the limit of mappings: an object has two mappings and perhaps a hole instead of four or five.
static void map_relax_spares_mappings(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	struct gorgon_object_info info = info_of(object);
	uint64_t table = (uintptr_t)SYMBOL(object, void *, "basic_table");
	int (*sum)(int, int) = SYMBOL(object, int (*)(int, int), "basic_sum");

	(void)state;
	assert_int_equal(mappings_of(&info), TEST_BASIC_MAPPINGS);
	gorgon_map_relax(object);
	gorgon_map_relax(object);
	assert_true(mappings_of(&info) <= 3); // data may be one mapping with a neighbour's
	assert_string_equal(mapping_at(info.start).prot, "r-xp");
	assert_string_equal(mapping_at(table).prot, "rw-p");
	assert_int_equal(sum(2, 3), 5);
	test_ns_destroy(ns);
}

// How many bytes of the mapping at @start belong to this copy alone.
static size_t own_bytes(uint64_t start)
{
	FILE *in = fopen("/proc/self/smaps", "re");
	size_t clean = 0, dirty = 0;
	uint64_t at = 0, found;
	char line[1024];

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%" SCNx64 "-%*x %*s", &found) == 1 && strchr(line, '-'))
			at = found;
		if (at != start)
			continue;
		sscanf(line, "Private_Dirty: %zu", &dirty);
		sscanf(line, "Anonymous: %zu", &clean);
	}
	fclose(in);
	return 1024 * (dirty > clean ? dirty : clean);
}

// In tests/modules/constants.c.
#define TABLE_HALF 32768
#define ZEROS	   (3 * 65536)

static void map_data_without_relocations_stays_the_files(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	long *table[2], **first[2];
	char *zeros[2], *last[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_object *object = test_open(ns[i], "libconstants.so");
		struct mapping m;

		table[i] = test_symbol(object, "constants_table");
		first[i] = test_symbol(object, "constants_pointer");
		last[i] = test_symbol(object, "constants_last");
		zeros[i] = test_symbol(object, "constants_zeros");
		m = mapping_at((uintptr_t)table[i]);
		assert_string_equal(m.prot, "rw-p");
		assert_string_equal(m.file, test_module("libconstants.so"));
		assert_true(m.end - m.start >= 2 * TABLE_HALF * sizeof(long));
		assert_true(own_bytes(m.start) <= 4 * (size_t)getpagesize());
		assert_ptr_equal(*first[i], table[i]);
		assert_string_equal(last[i], "last");
		for (size_t j = 0; j < ZEROS; j++)
			assert_int_equal(zeros[i][j], 0);
	}
	for (size_t i = 0; i < 2 * TABLE_HALF; i++) {
		assert_int_equal(table[0][i], i < TABLE_HALF ? 1 : 2);
		table[0][i] = 3;
		assert_int_equal(table[1][i], i < TABLE_HALF ? 1 : 2);
	}
	zeros[0][0] = zeros[0][ZEROS - 1] = 1;
	assert_int_equal(zeros[1][0], 0);
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

// The file becomes shorter after the loader has read it and before it is mapped.
static void map_data_of_a_file_cut_short_is_an_error(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;
	struct gorgon_image *image;
	struct gorgon_file file;
	struct gorgon_error *err;
	const char *path = test_temp("cut.so");
	size_t size;
	uint8_t *bytes = test_read(test_module("libconstants.so"), &size);

	(void)state;
	test_write(path, bytes, size);
	free(bytes);
	gorgon_lock();
	assert_ok(gorgon_image_open_file(path, &image, &file));
	object = gorgon_object_create(ns, path, image);
	assert_non_null(object);
	object->file = file;
	assert_int_equal(truncate(path, 0x1000), 0);
	err = gorgon_map(object);
	gorgon_object_destroy(object);
	gorgon_unlock();
	assert_error(err, GORGON_ERROR_FORMAT, "it was cut short while in use");
	test_ns_destroy(ns);
}

static void map_text_of_copies_is_one_set_of_pages(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct mapping m[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_object *object = test_open(ns[i], "libbasic.so");

		m[i] = mapping_at((uintptr_t)SYMBOL(object, void *, "basic_sum"));
	}
	assert_string_equal(m[0].prot, "r-xp");
	assert_string_equal(m[0].file, m[1].file);
	assert_int_not_equal(m[0].start, m[1].start);
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_segments_have_their_protection_and_file),
		cmocka_unit_test(map_zero_filled_part_is_zero_and_writable),
		cmocka_unit_test(map_range_has_no_other_mapping_in_it),
		cmocka_unit_test(map_alignment_above_page_is_kept_and_trimmed),
		cmocka_unit_test(map_protect_relro_is_read_only),
		cmocka_unit_test(map_no_mapping_is_writable_and_executable),
		cmocka_unit_test(map_relax_spares_mappings),
		cmocka_unit_test(map_data_without_relocations_stays_the_files),
		cmocka_unit_test(map_data_of_a_file_cut_short_is_an_error),
		cmocka_unit_test(map_text_of_copies_is_one_set_of_pages),
	};

	return cmocka_run_group_tests_name("map", tests, test_warm_up, NULL);
}
