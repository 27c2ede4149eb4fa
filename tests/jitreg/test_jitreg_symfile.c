// SPDX-License-Identifier: MIT
/*
 * The in-memory object files: what is in them, and where it says things are.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../jitreg/jitreg.h"
#include "../jitreg/symfile.h"
#include "../jitreg/models.h"
#include "jitreg_util.h"

#define BIAS UINT64_C(0x7f0000000000)

/* A registered library, its symfile opened with libelf, and its file likewise. */
struct subject {
	struct jitreg_entry *entry;
	struct jitreg_info info;
	uint8_t *file;
	size_t file_size;
	Elf *sym, *orig;
};

static void subject_open(struct subject *s, const char *path, uint64_t bias)
{
	assert_int_equal(util_register(path, bias, &s->entry), 0);
	jitreg_entry_get_info(s->entry, &s->info);
	s->file = util_read(path, &s->file_size);
	elf_version(EV_CURRENT);
	s->sym = elf_memory((char *)s->info.symfile, s->info.symfile_size);
	s->orig = elf_memory((char *)s->file, s->file_size);
	assert_non_null(s->sym);
	assert_non_null(s->orig);
}

static void subject_close(struct subject *s)
{
	elf_end(s->sym);
	elf_end(s->orig);
	free(s->file);
	jitreg_unregister(s->entry);
}

static const char *name_of(Elf *elf, const GElf_Shdr *shdr)
{
	size_t index;

	assert_int_equal(elf_getshdrstrndx(elf, &index), 0);
	return elf_strptr(elf, index, shdr->sh_name);
}

static Elf_Scn *find_scn(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, shdr));
		if (!strcmp(name_of(elf, shdr), name))
			return scn;
	}
	return NULL;
}

/* Contents of a section of the symfile, straight from its bytes. */
static const uint8_t *contents(const struct subject *s, const char *name, GElf_Shdr *shdr)
{
	assert_non_null(find_scn(s->sym, name, shdr));
	assert_int_not_equal(shdr->sh_type, SHT_NOBITS);
	assert_true(shdr->sh_offset + shdr->sh_size <= s->info.symfile_size);
	return (const uint8_t *)s->info.symfile + shdr->sh_offset;
}

/* In a relocatable file, as a symfile is one, values count from the section. */
static void make_absolute(Elf *elf, GElf_Sym *sym)
{
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;

	assert_non_null(gelf_getehdr(elf, &ehdr));
	if (ehdr.e_type != ET_REL)
		return;
	assert_non_null(gelf_getshdr(elf_getscn(elf, sym->st_shndx), &shdr));
	sym->st_value += shdr.sh_addr;
}

static bool find_sym(Elf *elf, const char *table, const char *name, GElf_Sym *ret)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = find_scn(elf, table, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	for (int i = 0; data && gelf_getsym(data, i, ret); i++) {
		if (!strcmp(elf_strptr(elf, shdr.sh_link, ret->st_name), name)) {
			make_absolute(elf, ret);
			return true;
		}
	}
	return false;
}

static uint64_t orig_address(const struct subject *s, const char *name, GElf_Shdr *shdr)
{
	assert_non_null(find_scn(s->orig, name, shdr));
	return shdr->sh_addr;
}

static const char *const libraries[] = {"self.so", "names.so", "link.so", "live.so", "tls.so"};

#define LIBRARY_COUNT (sizeof(libraries) / sizeof(*libraries))

/* live.so is read from memory, so its bytes must be in memory: the mapped file serves for them. */
static void open_library(struct subject *s, const char *name)
{
	struct jitreg_image image = {.size = sizeof(image), .path = util_path(name), .fd = -1};
	void *mapped;
	int fd;

	if (strcmp(name, "live.so") != 0) {
		subject_open(s, util_path(name), BIAS);
		return;
	}
	fd = open(image.path, O_RDONLY | O_CLOEXEC);
	mapped = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	image.bias = image.start = (uintptr_t)mapped;
	image.end = image.start + (1 << 20);
	assert_int_equal(jitreg_register(&image, &s->entry), 0);
	munmap(mapped, 1 << 20);
	close(fd);
	jitreg_entry_get_info(s->entry, &s->info);
	s->file = util_read(image.path, &s->file_size);
	s->sym = elf_memory((char *)s->info.symfile, s->info.symfile_size);
	s->orig = elf_memory((char *)s->file, s->file_size);
}

static uint64_t bias_of(const struct subject *s)
{
	GElf_Shdr sym, orig;

	find_scn(s->sym, ".text", &sym);
	find_scn(s->orig, ".text", &orig);
	return sym.sh_addr - orig.sh_addr;
}

static void register_any_library_lists_its_allocated_sections(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		struct subject s;
		Elf_Scn *scn = NULL;
		GElf_Shdr orig, sym;
		uint64_t bias;

		open_library(&s, libraries[i]);
		bias = bias_of(&s);
		while ((scn = elf_nextscn(s.orig, scn))) {
			assert_non_null(gelf_getshdr(scn, &orig));
			if (!(orig.sh_flags & SHF_ALLOC))
				continue;
			assert_non_null(find_scn(s.sym, name_of(s.orig, &orig), &sym));
			assert_int_equal(sym.sh_addr, orig.sh_addr + bias);
			assert_int_equal(sym.sh_size, orig.sh_size);
			assert_int_equal(sym.sh_flags, orig.sh_flags & ~(uint64_t)SHF_INFO_LINK);
			assert_int_equal(sym.sh_link, 0);
			assert_int_equal(sym.sh_info, 0);
			if (strcmp(name_of(s.sym, &sym), ".eh_frame") != 0)
				assert_int_equal(sym.sh_type, SHT_NOBITS);
		}
		subject_close(&s);
	}
}

static void register_any_library_has_plain_header(void **state)
{
	struct subject s;
	GElf_Ehdr ehdr;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	assert_non_null(gelf_getehdr(s.sym, &ehdr));
	assert_int_equal(ehdr.e_type, ET_REL);
	assert_int_equal(ehdr.e_phnum, 0);
	assert_int_equal(ehdr.e_entry, 0); // a library without an entry point gets none
	subject_close(&s);
}

static void register_executable_moves_entry_point(void **state)
{
	struct subject s;
	GElf_Ehdr sym, orig;

	(void)state;
	subject_open(&s, "/proc/self/exe", BIAS);
	assert_non_null(gelf_getehdr(s.sym, &sym));
	assert_non_null(gelf_getehdr(s.orig, &orig));
	assert_int_not_equal(orig.e_entry, 0);
	assert_int_equal(sym.e_entry, orig.e_entry + BIAS);
	subject_close(&s);
}

static void register_symtab_present_gives_static_names_too(void **state)
{
	static const char *const names[] = {"snake_leaf", "snake_enter", "snake_global",
					    "snake_static", "snake_pointer"};
	struct subject s;
	GElf_Sym sym, orig;
	GElf_Shdr shdr;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(find_sym(s.sym, ".symtab", names[i], &sym));
		assert_true(find_sym(s.orig, ".symtab", names[i], &orig));
		assert_int_equal(sym.st_value, orig.st_value + BIAS);
		assert_int_equal(sym.st_size, orig.st_size);
		assert_int_equal(sym.st_info, orig.st_info);
		// the index names a section that contains the address
		assert_non_null(gelf_getshdr(elf_getscn(s.sym, sym.st_shndx), &shdr));
		assert_in_range(sym.st_value, shdr.sh_addr, shdr.sh_addr + shdr.sh_size - 1);
	}
	subject_close(&s);
}

static void register_stripped_library_gives_dynamic_names(void **state)
{
	struct subject s;
	GElf_Sym sym, orig;

	(void)state;
	subject_open(&s, util_path("names.so"), BIAS);
	assert_true(find_sym(s.sym, ".symtab", "snake_leaf", &sym));
	assert_true(find_sym(s.orig, ".dynsym", "snake_leaf", &orig));
	assert_int_equal(sym.st_value, orig.st_value + BIAS);
	assert_false(find_sym(s.sym, ".symtab", "snake_static", &sym));
	subject_close(&s);
}

static void register_local_names_come_first(void **state)
{
	struct subject s;
	GElf_Shdr shdr;
	GElf_Sym sym;
	Elf_Data *data;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	data = elf_getdata(find_scn(s.sym, ".symtab", &shdr), NULL);
	assert_in_range(shdr.sh_info, 2, shdr.sh_size / sizeof(Elf64_Sym) - 1);
	for (int i = 0; gelf_getsym(data, i, &sym); i++)
		assert_int_equal(GELF_ST_BIND(sym.st_info) == STB_LOCAL, i < (int)shdr.sh_info);
	subject_close(&s);
}

static void register_versioned_name_loses_default_version(void **state)
{
	struct subject s;
	GElf_Sym sym;

	(void)state;
	subject_open(&s, util_path("tls.so"), BIAS);
	assert_true(find_sym(s.sym, ".symtab", "snake_versioned", &sym));
	subject_close(&s);
}

static void register_thread_local_variables_are_left_out(void **state)
{
	struct subject s;
	GElf_Shdr shdr;
	GElf_Sym sym;

	(void)state;
	subject_open(&s, util_path("tls.so"), BIAS);
	assert_true(find_sym(s.orig, ".symtab", "snake_tls", &sym));
	assert_false(find_sym(s.sym, ".symtab", "snake_tls", &sym));
	assert_false(find_sym(s.sym, ".symtab", "snake_tbss", &sym));
	assert_non_null(find_scn(s.sym, ".tbss", &shdr));
	assert_true(shdr.sh_flags & SHF_TLS);
	subject_close(&s);
}

/* GDB would follow these names to a list of the symfile's own. */
static void register_registrar_names_are_left_out(void **state)
{
	static const char source[] = "struct { int words[6]; } __jit_debug_descriptor;\n"
				     "void __jit_debug_register_code(void) {}\n"
				     "void snake_other(void) {}\n";
	struct subject s;
	GElf_Sym sym;

	(void)state;
	util_write(util_path("jit_mirror.c"), source, sizeof(source) - 1);
	assert_int_equal(util_run("gcc -fPIC -shared jit_mirror.c -o registrar.so"), 0);
	subject_open(&s, util_path("registrar.so"), BIAS);
	assert_true(find_sym(s.orig, ".symtab", "__jit_debug_descriptor", &sym));
	assert_true(find_sym(s.sym, ".symtab", "snake_other", &sym));
	assert_false(find_sym(s.sym, ".symtab", "__jit_debug_descriptor", &sym));
	assert_false(find_sym(s.sym, ".symtab", "__jit_debug_register_code", &sym));
	subject_close(&s);
}

/*
 * The symfile must not refer to the library's debug file, but has the static functions of it, of which the library
 * was stripped.
 */
/* There is no folder for a copy of the debug file. */
static void register_registrar_static_functions_are_those_of_its_debug_file(void **state)
{
	static const char source[] = "struct { int words[6]; } __jit_debug_descriptor;\n"
				     "void __jit_debug_register_code(void) {}\n"
				     "static int snake_count;\n"
				     "__attribute__((noipa)) static int snake_static(void) { return ++snake_count; }\n"
				     "int snake_other(void) { return snake_static(); }\n";
	static const char *const wanted[] = {"snake_static", "snake_other"};
	static const char *const unwanted[] = {"__jit_debug_descriptor", "__jit_debug_register_code", "snake_count"};
	struct subject s;
	GElf_Sym sym;

	(void)state;
	util_write(util_path("detached.c"), source, sizeof(source) - 1);
	assert_int_equal(util_run("gcc -g -fPIC -shared -Wl,--build-id detached.c -o whole.so && "
				  "objcopy --only-keep-debug whole.so whole.debug && "
				  "objcopy --strip-all --add-gnu-debuglink=whole.debug whole.so detached.so"),
			 0);
	setenv("XDG_CACHE_HOME", "/proc/none", 1);
	subject_open(&s, util_path("detached.so"), BIAS);
	setenv("XDG_CACHE_HOME", util_path("."), 1);
	assert_int_equal(s.info.debug_kind, JITREG_DEBUG_NAMES);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_true(find_sym(s.sym, ".symtab", wanted[i], &sym));
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(*unwanted); i++)
		assert_false(find_sym(s.sym, ".symtab", unwanted[i], &sym));
	subject_close(&s);
}

/* Registers one copy after the other, so that both symfiles are at the same place. */
static void register_two_biases_differ_by_bias_only(void **state)
{
	const uint64_t delta = UINT64_C(0x123456000);
	const void *place;
	uint64_t *a;
	const uint64_t *b;
	struct subject s;
	size_t moved = 0, size;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	place = s.info.symfile;
	size = s.info.symfile_size;
	a = malloc(size);
	memcpy(a, place, size);
	subject_close(&s);
	subject_open(&s, util_path("self.so"), BIAS + delta);
	assert_ptr_equal(s.info.symfile, place);
	assert_int_equal(s.info.symfile_size, size);
	b = s.info.symfile;
	for (size_t i = 0; i < size / 8; i++) {
		if (a[i] == b[i])
			continue;
		assert_int_equal(b[i] - a[i], delta);
		moved++;
	}
	assert_in_range(moved, 9, 16); // 11 sections or so
	subject_close(&s);
	free(a);
}

#define COPIES 20
#define SLOTS  8 // slots of a row whose symfiles have little in common, jitreg/slabs.c

static size_t count_distinct(const void *const pointers[COPIES])
{
	size_t count = 0;

	for (size_t i = 0; i < COPIES; i++) {
		size_t j = 0;

		while (pointers[j] != pointers[i])
			j++;
		count += j == i;
	}
	return count;
}

static void open_copies(struct subject copies[COPIES], size_t first, size_t step)
{
	for (size_t i = first; i < COPIES; i += step)
		subject_open(&copies[i], util_path("self.so"), BIAS + i * 0x10000000);
}

static void register_copies_share_what_is_the_same(void **state)
{
	struct subject copies[COPIES];
	const void *symfiles[COPIES], *frames[COPIES];
	size_t before, rows = (COPIES + SLOTS - 1) / SLOTS, bytes, least = SIZE_MAX;
	GElf_Shdr shdr, orig;
	GElf_Sym from, to;

	(void)state;
	before = util_symfile_bytes();
	open_copies(copies, 0, 1);
	bytes = util_symfile_bytes();
	// Every second copy goes and comes again.
	for (size_t i = 0; i < COPIES; i += 2)
		subject_close(&copies[i]);
	open_copies(copies, 0, 2);
	assert_int_equal(util_symfile_bytes(), bytes);
	for (size_t i = 0; i < COPIES; i++) {
		const struct subject *s = &copies[i];

		symfiles[i] = s->info.symfile;
		frames[i] = contents(s, ".eh_frame", &shdr);
		assert_int_equal(shdr.sh_addr,
				 orig_address(s, ".eh_frame", &orig) + BIAS + i * 0x10000000);
		assert_memory_equal(frames[i], s->file + orig.sh_offset, orig.sh_size);
		assert_true(find_sym(s->orig, ".symtab", "snake_leaf", &from));
		assert_true(find_sym(s->sym, ".symtab", "snake_leaf", &to));
		assert_int_equal(to.st_value, from.st_value + BIAS + i * 0x10000000);
		least = s->info.symfile_size < least ? s->info.symfile_size : least;
	}
	assert_int_equal(count_distinct(symfiles), COPIES);
	assert_int_equal(count_distinct(frames), rows);
	for (size_t i = 0; i < COPIES; i++) // the whole of a row's slots at most, in front
		assert_in_range(copies[i].info.symfile_size, least, SLOTS * least);
	for (size_t i = COPIES; i-- > 0;)
		subject_close(&copies[i]);
	assert_int_equal(util_symfile_bytes(), before);
}

static void register_wrapping_bias_wraps_addresses(void **state)
{
	const uint64_t bias = UINT64_C(0) - 0x1000;
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path("self.so"),
		.fd = -1,
		.bias = bias,
		.start = 0x1000,
		.end = 0x10000,
	};
	struct jitreg_entry *entry;
	struct jitreg_info info;

	(void)state;
	assert_int_equal(jitreg_register(&image, &entry), 0);
	jitreg_entry_get_info(entry, &info);
	assert_non_null(info.symfile);
	jitreg_unregister(entry);
}

static void register_unwind_data_is_copied_from_file(void **state)
{
	struct subject s;
	GElf_Shdr sym, orig;
	const uint8_t *bytes;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	bytes = contents(&s, ".eh_frame", &sym);
	assert_non_null(find_scn(s.orig, ".eh_frame", &orig));
	assert_int_equal(sym.sh_size, orig.sh_size);
	assert_memory_equal(bytes, s.file + orig.sh_offset, orig.sh_size);
	subject_close(&s);
}

static void register_writable_unwind_data_is_copied_from_memory(void **state)
{
	struct jitreg_image image = {.size = sizeof(image), .path = util_path("live.so"), .fd = -1};
	struct subject s;
	GElf_Shdr sym, orig;
	uint8_t *memory;

	(void)state;
	s.file = util_read(image.path, &s.file_size);
	elf_version(EV_CURRENT);
	s.orig = elf_memory((char *)s.file, s.file_size);
	assert_non_null(find_scn(s.orig, ".eh_frame", &orig));
	assert_true(orig.sh_flags & SHF_WRITE);

	memory = calloc(1, 1 << 16);
	memset(memory + orig.sh_addr, 0x5a, orig.sh_size); // no file has these bytes
	image.bias = image.start = (uintptr_t)memory;
	image.end = image.start + (1 << 16);
	assert_int_equal(jitreg_register(&image, &s.entry), 0);
	jitreg_entry_get_info(s.entry, &s.info);
	s.sym = elf_memory((char *)s.info.symfile, s.info.symfile_size);
	assert_memory_equal(contents(&s, ".eh_frame", &sym), memory + orig.sh_addr, orig.sh_size);
	subject_close(&s);
	free(memory);
}

static void register_writable_unwind_data_outside_image_is_refused(void **state)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path("live.so"),
		.fd = -1,
		.bias = BIAS,
		.start = BIAS,
		.end = BIAS + 64,
	};
	struct jitreg_entry *entry = NULL;

	(void)state;
	assert_int_equal(jitreg_register(&image, &entry), -EINVAL);
	assert_null(entry);
	assert_int_equal(jitreg_model_count(), 0);
}

static void register_dwarf_inside_links_to_itself(void **state)
{
	struct subject s;
	GElf_Shdr shdr;
	const uint8_t *link;
	uint32_t crc;

	(void)state;
	subject_open(&s, util_path("self.so"), BIAS);
	assert_int_equal(s.info.debug_kind, JITREG_DEBUG_SELF);
	assert_string_equal(s.info.debug_path, util_path("self.so"));
	link = contents(&s, ".gnu_debuglink", &shdr);
	assert_string_equal((const char *)link, util_path("self.so"));
	assert_int_equal(shdr.sh_size % 4, 0);
	memcpy(&crc, link + shdr.sh_size - 4, 4);
	assert_int_equal(crc, util_crc32(s.file, s.file_size));
	subject_close(&s);
}

static void register_dwarf_detached_links_to_debug_file(void **state)
{
	struct subject s;
	GElf_Shdr shdr;
	const uint8_t *link;
	uint32_t crc;
	size_t size;
	uint8_t *debug = util_read(util_path("self.debug"), &size);

	(void)state;
	subject_open(&s, util_path("link.so"), BIAS);
	assert_int_equal(s.info.debug_kind, JITREG_DEBUG_LINK);
	link = contents(&s, ".gnu_debuglink", &shdr);
	assert_string_equal((const char *)link, util_path("self.debug"));
	memcpy(&crc, link + shdr.sh_size - 4, 4);
	assert_int_equal(crc, util_crc32(debug, size));
	subject_close(&s);
	free(debug);
}

/* LLDB must not follow the reference to the debug file: a .debug_info without .debug_abbrev keeps it from that. */
static void register_reference_comes_with_dummy_debug_info(void **state)
{
	static const char *const with[] = {"self.so", "link.so"};
	static const uint8_t zeros[16];
	struct subject s;
	GElf_Shdr shdr;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		subject_open(&s, util_path(with[i]), BIAS);
		assert_memory_equal(contents(&s, ".debug_info", &shdr), zeros, 16);
		assert_int_equal(shdr.sh_size, 16);
		assert_int_equal(shdr.sh_flags, 0);
		assert_null(find_scn(s.sym, ".debug_abbrev", &shdr));
		subject_close(&s);
	}
	subject_open(&s, util_path("names.so"), BIAS);
	assert_int_equal(s.info.debug_kind, JITREG_DEBUG_NAMES);
	assert_null(s.info.debug_path);
	assert_null(find_scn(s.sym, ".debug_info", &shdr));
	assert_null(find_scn(s.sym, ".gnu_debuglink", &shdr));
	subject_close(&s);
}

static void register_build_id_is_told_in_every_case(void **state)
{
	struct subject s;
	GElf_Shdr shdr;

	(void)state;
	subject_open(&s, util_path("names.so"), BIAS);
	assert_int_equal(s.info.build_id_size, 20);
	assert_non_null(find_scn(s.orig, ".note.gnu.build-id", &shdr));
	assert_memory_equal(s.info.build_id, s.file + shdr.sh_offset + 16, 20);
	subject_close(&s);
}

static void register_dwarf_by_build_id_copies_note(void **state)
{
	struct subject s;
	GElf_Shdr sym, orig;
	GElf_Sym symbol;

	(void)state;
	if (access(SYSTEM_LIBPYTHON, R_OK)) {
		skip_because("no %s here", SYSTEM_LIBPYTHON);
	}
	subject_open(&s, SYSTEM_LIBPYTHON, BIAS);
	if (s.info.debug_kind != JITREG_DEBUG_BUILD_ID) {
		subject_close(&s);
		skip_because("the debug file of libpython is not installed");
	}
	assert_non_null(find_scn(s.orig, ".note.gnu.build-id", &orig));
	assert_memory_equal(contents(&s, ".note.gnu.build-id", &sym), s.file + orig.sh_offset,
			    orig.sh_size);
	assert_null(find_scn(s.sym, ".gnu_debuglink", &sym));
	assert_non_null(find_scn(s.sym, ".debug_info", &sym));
	assert_true(find_sym(s.sym, ".symtab", "PyList_Append", &symbol));
	assert_in_range(s.info.symfile_size, 1, 600000);
	subject_close(&s);
}

static void register_no_section_headers_makes_sections_up(void **state)
{
	struct subject s, full;
	const uint8_t *bytes;
	GElf_Shdr shdr, orig;
	GElf_Sym sym, want;

	(void)state;
	subject_open(&full, util_path("self.so"), BIAS);
	subject_open(&s, util_path("nosec.so"), BIAS);
	assert_int_equal(s.info.debug_kind, JITREG_DEBUG_NAMES);
	assert_non_null(find_scn(s.sym, ".text", &shdr));
	assert_int_equal(shdr.sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_true(find_sym(s.sym, ".symtab", "snake_leaf", &sym));
	assert_true(find_sym(full.sym, ".symtab", "snake_leaf", &want));
	assert_int_equal(sym.st_value, want.st_value);
	assert_in_range(sym.st_value, shdr.sh_addr, shdr.sh_addr + shdr.sh_size - 1);
	assert_true(find_sym(s.sym, ".symtab", "snake_global", &sym));

	assert_non_null(find_scn(full.orig, ".eh_frame", &orig));
	bytes = contents(&s, ".eh_frame", &shdr);
	assert_memory_equal(bytes, full.file + orig.sh_offset, shdr.sh_size);
	assert_int_equal(shdr.sh_addr, BIAS + orig.sh_addr);
	assert_in_range(orig.sh_size - shdr.sh_size, 0, 4); // with or without the closing zero
	subject_close(&s);
	subject_close(&full);
}

static void register_no_section_headers_finds_names_by_either_hash(void **state)
{
	static const char *const styles[] = {"sysv", "gnu"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct subject s;
		size_t size;
		uint8_t *data;
		GElf_Sym sym;

		assert_int_equal(util_run("gcc -fPIC -shared -nostdlib -Wl,--hash-style=%s "
					  "tls.c -o hash.so",
					  styles[i]),
				 0);
		data = util_read(util_path("hash.so"), &size);
		memset(data + 0x28, 0, 8);
		memset(data + 0x3c, 0, 4);
		util_write(util_path("hash.so"), data, size);
		free(data);
		subject_open(&s, util_path("hash.so"), BIAS);
		assert_true(find_sym(s.sym, ".symtab", "snake_versioned", &sym));
		subject_close(&s);
	}
}

static void register_done_leaves_symfile_anonymous(void **state)
{
	struct jitreg_entry *entry;
	struct jitreg_info info;
	bool found = false;
	char line[512];
	FILE *f;

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	jitreg_entry_get_info(entry, &info);
	f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f)) {
		uintptr_t start, end;
		unsigned long inode;
		char perms[8];

		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, perms, &inode) != 4 ||
		    (uintptr_t)info.symfile < start || (uintptr_t)info.symfile >= end)
			continue;
		found = true;
		assert_string_equal(perms, "rw-p");
		assert_int_equal(inode, 0);
	}
	fclose(f);
	assert_true(found);
	jitreg_unregister(entry);
}

static void acquire_same_file_shares_model_until_last_release(void **state)
{
	struct jitreg_model *a, *b, *c;
	const char *path = util_path("self.so");

	(void)state;
	assert_int_equal(jitreg_model_acquire(path, -1, JITREG_SYMFILE_FULL, &a), 0);
	assert_int_equal(jitreg_model_acquire(path, -1, JITREG_SYMFILE_FULL, &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(jitreg_model_acquire(util_path("link.so"), -1, JITREG_SYMFILE_FULL, &c), 0);
	assert_int_equal(jitreg_model_count(), 2);
	jitreg_model_release(a);
	assert_int_equal(jitreg_model_count(), 2);
	jitreg_model_release(b);
	assert_int_equal(jitreg_model_count(), 1);
	jitreg_model_release(c);
	assert_int_equal(jitreg_model_count(), 0);
	jitreg_model_release(NULL);
}

static void acquire_file_touched_builds_anew(void **state)
{
	const struct timespec times[2] = {{1000, 1}, {1000, 2}};
	struct jitreg_model *a, *b;

	(void)state;
	assert_int_equal(util_run("cp self.so touched.so"), 0);
	assert_int_equal(jitreg_model_acquire(util_path("touched.so"), -1, JITREG_SYMFILE_FULL, &a), 0);
	assert_int_equal(utimensat(AT_FDCWD, util_path("touched.so"), times, 0), 0);
	assert_int_equal(jitreg_model_acquire(util_path("touched.so"), -1, JITREG_SYMFILE_FULL, &b), 0);
	assert_ptr_not_equal(a, b);
	jitreg_model_release(a);
	jitreg_model_release(b);
}

static void register_descriptor_given_keeps_its_offset(void **state)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path("self.so"),
		.bias = BIAS,
		.start = BIAS,
		.end = BIAS + 0x10000,
	};
	struct jitreg_entry *entry;

	(void)state;
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(image.fd, 77, SEEK_SET), 77);
	assert_int_equal(jitreg_register(&image, &entry), 0);
	assert_int_equal(lseek(image.fd, 0, SEEK_CUR), 77);
	close(image.fd); // borrowed for the call only
	jitreg_unregister(entry);
}

static void register_bad_image_is_refused(void **state)
{
	const struct jitreg_image good = {
		.size = sizeof(good),
		.path = util_path("self.so"),
		.fd = -1,
		.bias = BIAS,
		.start = BIAS,
		.end = BIAS + 0x10000,
	};
	struct jitreg_image bad[6];
	struct jitreg_entry *entry = NULL;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].size = 8;
	bad[1].path = NULL;
	bad[2].path = "self.so";
	bad[3].flags = 4; // no such flag
	bad[4].end = bad[4].start;
	bad[5].end = bad[5].start - 1;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(jitreg_register(&bad[i], &entry), -EINVAL);
	assert_null(entry);
	assert_int_equal(jitreg_count(), 0);
}

static void register_bad_file_is_refused(void **state)
{
	struct jitreg_entry *entry = NULL;

	(void)state;
	assert_int_equal(util_run("mkfifo fifo; : > empty; echo text > text.so"), 0);
	assert_int_equal(util_register(util_path("missing.so"), BIAS, &entry), -ENOENT);
	assert_int_equal(util_register("/", BIAS, &entry), -ENOEXEC);
	assert_int_equal(util_register("/dev/null", BIAS, &entry), -ENOEXEC);
	assert_int_equal(util_register(util_path("fifo"), BIAS, &entry), -ENOEXEC);
	assert_int_equal(util_register(util_path("empty"), BIAS, &entry), -ENOEXEC);
	assert_int_equal(util_register(util_path("text.so"), BIAS, &entry), -ENOEXEC);
	assert_null(entry);
}

/* Writes the symfile of a library beside it, and runs a checker on it. */
static int check_symfile(const char *library, const char *command, const char *output)
{
	struct jitreg_entry *entry;
	struct jitreg_info info;

	assert_int_equal(util_register(library, BIAS, &entry), 0);
	jitreg_entry_get_info(entry, &info);
	util_write(util_path("symfile"), info.symfile, info.symfile_size);
	jitreg_unregister(entry);
	return util_run("%s symfile > %s 2>&1", command, output);
}

static const char *const checked[] = {"self.so", "names.so", "link.so", "tls.so", "nosec.so"};

static void read_symfile_with_readelf_is_silent(void **state)
{
	(void)state;
	if (util_run("command -v readelf > /dev/null")) {
		skip_because("readelf is not installed");
	}
	for (size_t i = 0; i < sizeof(checked) / sizeof(*checked); i++) {
		assert_int_equal(check_symfile(util_path(checked[i]), "readelf -aW", "out"), 0);
		assert_int_not_equal(
			util_run("grep -iE 'warning|error|corrupt|invalid|bad' out"), 0);
		assert_int_equal(util_run("grep -q 'snake_[ev]' out"), 0);
	}
}

static void check_symfile_with_elflint_finds_no_errors(void **state)
{
	(void)state;
	if (util_run("command -v eu-elflint > /dev/null")) {
		skip_because("eu-elflint is not installed");
	}
	for (size_t i = 0; i < sizeof(checked) / sizeof(*checked); i++)
		assert_int_equal(check_symfile(util_path(checked[i]), "eu-elflint --gnu-ld --debuginfo", "out"), 0);
	if (!access(SYSTEM_LIBPYTHON, R_OK))
		assert_int_equal(check_symfile(SYSTEM_LIBPYTHON, "eu-elflint --gnu-ld --debuginfo", "out"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_any_library_lists_its_allocated_sections),
		cmocka_unit_test(register_any_library_has_plain_header),
		cmocka_unit_test(register_executable_moves_entry_point),
		cmocka_unit_test(register_symtab_present_gives_static_names_too),
		cmocka_unit_test(register_stripped_library_gives_dynamic_names),
		cmocka_unit_test(register_local_names_come_first),
		cmocka_unit_test(register_versioned_name_loses_default_version),
		cmocka_unit_test(register_thread_local_variables_are_left_out),
		cmocka_unit_test(register_registrar_names_are_left_out),
		cmocka_unit_test(register_registrar_static_functions_are_those_of_its_debug_file),
		cmocka_unit_test(register_two_biases_differ_by_bias_only),
		cmocka_unit_test(register_copies_share_what_is_the_same),
		cmocka_unit_test(register_wrapping_bias_wraps_addresses),
		cmocka_unit_test(register_unwind_data_is_copied_from_file),
		cmocka_unit_test(register_writable_unwind_data_is_copied_from_memory),
		cmocka_unit_test(register_writable_unwind_data_outside_image_is_refused),
		cmocka_unit_test(register_dwarf_inside_links_to_itself),
		cmocka_unit_test(register_dwarf_detached_links_to_debug_file),
		cmocka_unit_test(register_reference_comes_with_dummy_debug_info),
		cmocka_unit_test(register_build_id_is_told_in_every_case),
		cmocka_unit_test(register_dwarf_by_build_id_copies_note),
		cmocka_unit_test(register_no_section_headers_makes_sections_up),
		cmocka_unit_test(register_no_section_headers_finds_names_by_either_hash),
		cmocka_unit_test(register_done_leaves_symfile_anonymous),
		cmocka_unit_test(acquire_same_file_shares_model_until_last_release),
		cmocka_unit_test(acquire_file_touched_builds_anew),
		cmocka_unit_test(register_descriptor_given_keeps_its_offset),
		cmocka_unit_test(register_bad_image_is_refused),
		cmocka_unit_test(register_bad_file_is_refused),
		cmocka_unit_test(read_symfile_with_readelf_is_silent),
		cmocka_unit_test(check_symfile_with_elflint_finds_no_errors),
	};

	return cmocka_run_group_tests_name("jitreg/symfile", tests, util_setup, NULL);
}
