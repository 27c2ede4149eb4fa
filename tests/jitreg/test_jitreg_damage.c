// SPDX-License-Identifier: MIT
/*
 * Files that lie, and calls that fail: registering answers with an error or with a
 * sound symfile, and leaves no memory, mapping, descriptor or entry behind.
 *
 * Linked with the calls below wrapped, so that the n-th of them can be made to fail.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../jitreg/jitreg.h"
#include "../jitreg/symfile.h"
#include "../jitreg/models.h"
#include "cases.h"
#include "jitreg_inject.h"
#include "jitreg_util.h"

#define BIAS UINT64_C(0x7f0000000000)

WRAP(int, open, (const char *a, int b, ...), (a, b), -1, EMFILE)

/* A changed field of the ELF header of self.so: offset, size, value. */
static void register_contradicting_header_is_refused(void **state)
{
	static const struct {
		size_t off, size;
		uint64_t value;
	} changes[] = {
		{0, 1, 0},                     // magic
		{4, 1, ELFCLASS32},            // EI_CLASS
		{5, 1, ELFDATA2MSB},           // EI_DATA
		{16, 2, ET_REL},               // e_type
		{16, 2, ET_CORE},              //
		{18, 2, EM_386},               // e_machine
		{32, 8, UINT64_MAX},           // e_phoff
		{32, 8, UINT64_C(1) << 40},    //
		{40, 8, UINT64_MAX - 63},      // e_shoff
		{40, 8, UINT64_C(1) << 40},    //
		{54, 2, 32},                   // e_phentsize
		{56, 2, 0},                    // e_phnum
		{56, 2, 0xfffe},               //
		{58, 2, 40},                   // e_shentsize
		{60, 2, 0xfe00},               // e_shnum
		{64 + 32, 8, UINT64_MAX},      // p_filesz of the first segment
		{64 + 40, 8, 0},               // p_memsz
		{64 + 8, 8, UINT64_MAX - 1},   // p_offset
		{64 + 16, 8, UINT64_MAX - 1},  // p_vaddr
	};
	size_t size;
	uint8_t *good = util_read(util_path("self.so"), &size);
	struct jitreg_entry *entry = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		uint8_t *bad = malloc(size);

		memcpy(bad, good, size);
		memcpy(bad + changes[i].off, &changes[i].value, changes[i].size);
		util_write(util_path("bad.so"), bad, size);
		if (util_register(util_path("bad.so"), BIAS, &entry) != -ENOEXEC)
			fail_msg("offset %zu, value %#lx", changes[i].off, changes[i].value);
		free(bad);
	}
	free(good);
}

/* Try a damaged file; whatever the answer, nothing may stay behind. */
static int try_damaged(const uint8_t *data, size_t size)
{
	struct jitreg_entry *entry = NULL;
	struct jitreg_info info;
	Elf *elf;
	int r;

	util_write(util_path("damaged.so"), data, size);
	r = util_register(util_path("damaged.so"), BIAS, &entry);
	if (r) {
		assert_null(entry);
		return r;
	}
	jitreg_entry_get_info(entry, &info);
	elf = elf_memory((char *)info.symfile, info.symfile_size);
	assert_non_null(elf); // whatever was in it, what came out is an ELF file
	elf_end(elf);
	jitreg_unregister(entry);
	return 0;
}

static void register_truncated_file_leaves_nothing_behind(void **state)
{
	static const char *const names[] = {"self.so", "nosec.so", "link.so"};

	(void)state;
	for (size_t n = 0; n < 3; n++) {
		size_t size, fds, bytes;
		uint8_t *data = util_read(util_path(names[n]), &size);

		try_damaged(data, size);
		fds = util_fd_count();
		bytes = util_symfile_bytes();
		for (size_t cut = 0; cut < size; cut += 64 * test_every()) {
			int r = try_damaged(data, cut);

			// the section headers are at the end
			if (n != 1)
				assert_int_equal(r, -ENOEXEC);
		}
		assert_int_equal(util_fd_count(), fds);
		assert_int_equal(util_symfile_bytes(), bytes);
		assert_int_equal(jitreg_model_count(), 0);
		free(data);
	}
}

static void flip_bytes(const char *name, unsigned seed, size_t rounds)
{
	size_t size, fds, bytes;
	uint8_t *good = util_read(util_path(name), &size);
	uint8_t *bad = malloc(size);

	try_damaged(good, size);
	fds = util_fd_count();
	bytes = util_symfile_bytes();
	srand(seed);
	for (size_t round = 0; round < rounds / test_every(); round++) {
		int flips = 1 + rand() % 16;

		memcpy(bad, good, size);
		while (flips--) {
			// half of them in the headers, where they hurt
			size_t at = (size_t)rand() % (rand() % 2 ? size : 0x240);

			if (rand() % 4 == 0)
				at = size - 1 - (size_t)rand() % 0x800;
			bad[at] = (uint8_t)(rand() % 3 ? rand() : (rand() % 2 ? 0xff : 0));
		}
		try_damaged(bad, size);
	}
	assert_int_equal(util_fd_count(), fds);
	assert_int_equal(util_symfile_bytes(), bytes);
	assert_int_equal(jitreg_count(), 0);
	assert_int_equal(jitreg_model_count(), 0);
	free(bad);
	free(good);
}

static void register_random_damage_leaves_nothing_behind(void **state)
{
	(void)state;
	flip_bytes("self.so", 1, 3000);
	flip_bytes("nosec.so", 2, 3000);
	flip_bytes("tls.so", 3, 1000);
	flip_bytes("link.so", 4, 1000);
}

static void register_any_call_failing_leaves_nothing_behind(void **state)
{
	static const char *const names[] = {"self.so", "link.so", "nosec.so"};

	(void)state;
	for (size_t n = 0; n < 3; n++) {
		struct jitreg_entry *entry = NULL;
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		char path[256];
		int r = -1;

		strcpy(path, util_path(names[n]));
		for (long at = 1; at < 500; at++) {
			call_count = 0;
			fail_at = at;
			r = util_register(path, BIAS, &entry);
			fail_at = 0;
			if (!r) {
				// There are fewer calls than that, or the library does without the one that has
				// failed.
				jitreg_unregister(entry);
				entry = NULL;
			} else {
				assert_in_range(-r, 1, 133);
				assert_null(entry);
			}
			assert_int_equal(util_fd_count(), fds);
			assert_int_equal(jitreg_count(), 0);
			assert_int_equal(jitreg_model_count(), 0);
			if (call_count < at)
				break;
		}
		assert_int_equal(r, 0);
		assert_int_equal(util_symfile_bytes(), bytes);
	}
}

static void register_repeatedly_under_low_descriptor_limit_succeeds(void **state)
{
	struct jitreg_entry *entry;
	struct rlimit limit, low;
	size_t bytes;

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	jitreg_unregister(entry);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	bytes = util_symfile_bytes();
	for (size_t i = 0; i < 3000 / test_every(); i++) {
		assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
		jitreg_unregister(entry);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(util_symfile_bytes(), bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_contradicting_header_is_refused),
		cmocka_unit_test(register_truncated_file_leaves_nothing_behind),
		cmocka_unit_test(register_random_damage_leaves_nothing_behind),
		cmocka_unit_test(register_any_call_failing_leaves_nothing_behind),
		cmocka_unit_test(register_repeatedly_under_low_descriptor_limit_succeeds),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests_name("jitreg/damage", tests, util_setup, NULL);
}
