// SPDX-License-Identifier: MIT
/*
 * Merged unwind entries give the same rules for every address as the entries that they were made of. libdw
 * interprets both.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../jitreg/frames.h"
#include "../jitreg/file/object.h"
#include "jitreg_util.h"

#define VADDR     0x10000000u // of the section: beyond all of the libraries
#define REGISTERS 33	      // x86-64: 16, and the return address; aarch64: 32

/* A section of unwind data in a file, for libdw. */
struct table {
	struct jitreg_writer file;
	uint8_t *bytes;
	Elf *elf;
	Dwarf_CFI *cfi;
};

static void table_open(struct table *t, const struct jitreg_bytes *frames, const GElf_Ehdr *like)
{
	GElf_Shdr shdr = {
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = VADDR,
		.sh_size = frames->size,
		.sh_addralign = 8,
	};
	size_t private_size, size;

	*t = (struct table){0};
	assert_int_equal(jitreg_writer_begin(&t->file, ET_DYN, like), 0);
	assert_non_null(jitreg_writer_add(&t->file, ".eh_frame", &shdr, frames->data, ELF_T_BYTE));
	assert_int_equal(jitreg_writer_finish(&t->file, NULL, &private_size, &t->bytes, &size), 0);
	t->elf = elf_memory((char *)t->bytes, size);
	t->cfi = dwarf_getcfi_elf(t->elf);
	assert_non_null(t->cfi);
}

static void table_close(struct table *t)
{
	dwarf_cfi_end(t->cfi);
	elf_end(t->elf);
	free(t->bytes);
	jitreg_writer_deinit(&t->file);
}

static uint64_t u64_at(const struct jitreg_bytes *frames, size_t off)
{
	uint64_t value;

	assert_true(off + sizeof(value) <= frames->size);
	memcpy(&value, frames->data + off, sizeof(value));
	return value;
}

static uint32_t u32_at(const struct jitreg_bytes *frames, size_t off)
{
	uint32_t value;

	memcpy(&value, frames->data + off, sizeof(value));
	return value;
}

/* The next function from *off on; false at the end. */
static bool next_function(const struct jitreg_bytes *frames, size_t *off, uint64_t *start, uint64_t *end)
{
	while (*off < frames->size) {
		size_t at = *off;

		*off += u32_at(frames, at) + 4;
		if (!u32_at(frames, at + 4))
			continue;
		*start = VADDR + at + 8 + u64_at(frames, at + 8);
		*end = *start + u64_at(frames, at + 16);
		return true;
	}
	return false;
}

static size_t count_functions(const struct jitreg_bytes *frames)
{
	uint64_t start, end;
	size_t off = 0, count = 0;

	while (next_function(frames, &off, &start, &end))
		count++;
	return count;
}

static void assert_same_ops(const Dwarf_Op *a, size_t a_count, const Dwarf_Op *b, size_t b_count)
{
	assert_int_equal(a_count, b_count);
	for (size_t i = 0; i < a_count; i++) {
		assert_int_equal(a[i].atom, b[i].atom);
		assert_int_equal(a[i].number, b[i].number);
		assert_int_equal(a[i].number2, b[i].number2);
	}
}

/* One row; returns where the next one begins. */
static uint64_t assert_same_row(const struct table *a, const struct table *b, uint64_t addr)
{
	Dwarf_Frame *x, *y;
	Dwarf_Addr start, x_end, y_end;
	Dwarf_Op *x_ops, *y_ops;
	size_t x_count, y_count;
	bool x_signal, y_signal;

	assert_int_equal(dwarf_cfi_addrframe(a->cfi, addr, &x), 0);
	assert_int_equal(dwarf_cfi_addrframe(b->cfi, addr, &y), 0);
	assert_int_equal(dwarf_frame_info(x, &start, &x_end, &x_signal),
			 dwarf_frame_info(y, &start, &y_end, &y_signal));
	assert_int_equal(x_signal, y_signal);
	assert_int_equal(dwarf_frame_cfa(x, &x_ops, &x_count), 0);
	assert_int_equal(dwarf_frame_cfa(y, &y_ops, &y_count), 0);
	assert_same_ops(x_ops, x_count, y_ops, y_count);
	for (int i = 0; i < REGISTERS; i++) {
		Dwarf_Op x_mem[3], y_mem[3];

		assert_int_equal(dwarf_frame_register(x, i, x_mem, &x_ops, &x_count), 0);
		assert_int_equal(dwarf_frame_register(y, i, y_mem, &y_ops, &y_count), 0);
		assert_int_equal(!x_ops, !y_ops); // NULL: the same value, or undefined
		assert_same_ops(x_ops, x_count, y_ops, y_count);
	}
	free(x);
	free(y);
	return x_end < y_end ? x_end : y_end;
}

static void assert_same_rules(const struct jitreg_bytes *before, const struct jitreg_bytes *after,
			      const GElf_Ehdr *like)
{
	struct table a, b;
	uint64_t start, end;
	size_t off = 0;

	table_open(&a, before, like);
	table_open(&b, after, like);
	while (next_function(before, &off, &start, &end))
		for (uint64_t addr = start; addr < end;)
			addr = assert_same_row(&a, &b, addr);
	table_close(&a);
	table_close(&b);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct library {
	struct jitreg_object *object;
	struct jitreg_bytes frames; // before
	struct jitreg_addresses names;
};

/* False: there is no such file. */
static bool library_open(struct library *l, const char *path)
{
	struct jitreg_names names = {0};
	GElf_Shdr shdr;
	uint8_t *from;

	*l = (struct library){0};
	if (access(path, R_OK))
		return false;
	elf_version(EV_CURRENT);
	assert_int_equal(jitreg_object_open(path, -1, &l->object), 0);
	assert_int_equal(jitreg_object_read_layout(l->object), 0);
	assert_int_equal(jitreg_object_find_section(l->object, ".eh_frame", &shdr), 1);
	from = malloc(shdr.sh_size);
	assert_int_equal(jitreg_object_read(l->object, shdr.sh_offset, from, shdr.sh_size), 0);
	assert_int_equal(jitreg_frames_append(&l->frames, VADDR, JITREG_FRAMES_EH,
					      &(struct jitreg_frames){
						      .data = from,
						      .size = shdr.sh_size,
						      .vaddr = shdr.sh_addr,
						      .end = VADDR,
					      }),
			 0);
	free(from);
	assert_int_equal(jitreg_names_read(l->object, &names), 0);
	l->names.items = calloc(names.count + 1, sizeof(*l->names.items));
	for (size_t i = 0; i < names.count; i++)
		l->names.items[l->names.count++] = names.items[i].vaddr;
	jitreg_names_deinit(&names);
	qsort(l->names.items, l->names.count, sizeof(*l->names.items), by_value);
	return true;
}

static void library_close(struct library *l)
{
	jitreg_bytes_deinit(&l->frames);
	free(l->names.items);
	jitreg_object_close(l->object);
}

static void copy(const struct jitreg_bytes *from, struct jitreg_bytes *to)
{
	*to = (struct jitreg_bytes){0};
	assert_int_equal(jitreg_bytes_append(to, from->data, from->size), 0);
}

/* C with static functions; C++ with exceptions; assembly with rules by hand, a signal frame. */
static const char *const LIBRARIES[] = {
	SYSTEM_LIBPYTHON,
	SYSTEM_LIB "libstdc++.so.6",
	SYSTEM_LIB "libc.so.6",
	SYSTEM_LIB "libcrypto.so.3",
};

static void merge_real_libraries_keeps_every_row(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(LIBRARIES) / sizeof(*LIBRARIES); i++) {
		struct jitreg_bytes merged;
		struct library l;

		if (!library_open(&l, LIBRARIES[i]))
			continue;
		found++;
		copy(&l.frames, &merged);
		assert_int_equal(jitreg_frames_merge(&merged, VADDR, &l.names), 0);
		assert_true(count_functions(&merged) < count_functions(&l.frames));
		assert_same_rules(&l.frames, &merged, &l.object->ehdr);
		jitreg_bytes_deinit(&merged);
		library_close(&l);
	}
	if (!found)
		skip_because("none of the libraries is installed");
}

/* Rules of aarch64 advance by instructions of four bytes, and say which return addresses are signed. */
static void merge_library_of_another_machine_keeps_every_row(void **state)
{
	static const char *const options[] = {"-O2", "-O2 -mbranch-protection=standard",
					      "-O2 -mbranch-protection=pac-ret+leaf+b-key"};
	char *source = realpath("tests/jitreg/jitreg_aarch64.c", NULL);

	(void)state;
	assert_non_null(source);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct jitreg_bytes merged;
		struct library l;

		assert_int_equal(util_run("aarch64-linux-gnu-gcc -shared -fPIC -nostdlib %s %s -o merged.so",
					  options[i], source), 0);
		assert_true(library_open(&l, util_path("merged.so")));
		for (size_t n = 0; n < l.names.count; n++)
			l.names.items[n] = UINT64_MAX; // as if it were stripped
		copy(&l.frames, &merged);
		assert_int_equal(jitreg_frames_merge(&merged, VADDR, &l.names), 0);
		assert_int_equal(count_functions(&merged), 1);
		assert_same_rules(&l.frames, &merged, &l.object->ehdr);
		jitreg_bytes_deinit(&merged);
		library_close(&l);
	}
	free(source);
}

/* No name may lie inside of a merged entry: LLDB would take the rules of another place in it. */
static void merge_names_begin_entries(void **state)
{
	struct library l;
	uint64_t start, end;
	size_t off = 0;

	(void)state;
	if (!library_open(&l, SYSTEM_LIB "libc.so.6"))
		skip_because("the C library is not where it is in Debian");
	for (size_t i = 0, original = 0; i < l.names.count; i++, original = 0, off = 0) {
		uint64_t name = l.names.items[i];

		while (next_function(&l.frames, &original, &start, &end) && start != name)
			;
		if (start == name)
			continue; // such a row is checked below
		l.names.items[i] =
			UINT64_MAX; // a variable, a function without rules, a second entry
	}
	qsort(l.names.items, l.names.count, sizeof(*l.names.items), by_value);
	assert_int_equal(jitreg_frames_merge(&l.frames, VADDR, &l.names), 0);
	while (next_function(&l.frames, &off, &start, &end))
		for (size_t i = 0; i < l.names.count && l.names.items[i] < end; i++)
			assert_true(l.names.items[i] <= start);
	library_close(&l);
}

static void merge_all_named_changes_no_entry(void **state)
{
	struct jitreg_bytes merged;
	struct library l;
	uint64_t start, end;
	size_t off = 0, count;

	(void)state;
	if (!library_open(&l, SYSTEM_LIB "libc.so.6"))
		skip_because("the C library is not where it is in Debian");
	count = count_functions(&l.frames);
	l.names.items = reallocarray(l.names.items, count, sizeof(*l.names.items));
	for (l.names.count = 0; next_function(&l.frames, &off, &start, &end);)
		l.names.items[l.names.count++] = start;
	qsort(l.names.items, l.names.count, sizeof(*l.names.items), by_value);
	copy(&l.frames, &merged);
	assert_int_equal(jitreg_frames_merge(&merged, VADDR, &l.names), 0);
	assert_int_equal(count_functions(&merged), count);
	assert_same_rules(&l.frames, &merged, &l.object->ehdr);
	jitreg_bytes_deinit(&merged);
	library_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merge_real_libraries_keeps_every_row),
		cmocka_unit_test(merge_library_of_another_machine_keeps_every_row),
		cmocka_unit_test(merge_names_begin_entries),
		cmocka_unit_test(merge_all_named_changes_no_entry),
	};

	return cmocka_run_group_tests(tests, util_setup, NULL);
}
