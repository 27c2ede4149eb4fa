// SPDX-License-Identifier: MIT
// loader/image/image.c and image_dynamic.c: what is accepted, and a table of damages,
// each of which must be refused with its own message and leave nothing behind.

#define _GNU_SOURCE
#include "cases.h"
#include "elf_builder.h"
#include "helpers.h"
#include "machine.h"

#include "image/image.h"
#include "base/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GLOBAL_OBJECT ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)
#define GLOBAL_TLS    ELF64_ST_INFO(STB_GLOBAL, STT_TLS)

// An object with every kind of table.
static const struct elf_builder_symbol rich_symbols[] = {
	{.name = "imported", .undefined = true, .version = 3},
	{.name = "one", .value = ELF_BUILDER_TEXT, .size = 16, .version = 2},
	{.name = "data", .info = GLOBAL_OBJECT, .value = ELF_BUILDER_DATA, .size = 8},
	{.name = "local_tls", .info = GLOBAL_TLS, .size = 4},
	{0},
};

static const Elf64_Rela rich_rela[] = {
	{ELF_BUILDER_DATA, ELF64_R_INFO(0, TEST_R_RELATIVE), ELF_BUILDER_DATA},
	{ELF_BUILDER_DATA + 8, ELF64_R_INFO(2, TEST_R_64), 4},
};

static const Elf64_Rela rich_jmprel[] = {
	{ELF_BUILDER_DATA + 16, ELF64_R_INFO(2, TEST_R_JUMP_SLOT), 0},
};

static const uint64_t rich_relr[] = {ELF_BUILDER_DATA + 0x100, 0x7};

static const struct elf_builder rich = {
	.soname = "librich.so.1",
	.needed = (const char *const[]){"libfirst.so", "libsecond.so", NULL},
	.runpath = "$ORIGIN/here",
	.symbols = rich_symbols,
	.rela = rich_rela,
	.rela_count = 2,
	.jmprel = rich_jmprel,
	.jmprel_count = 1,
	.relr = rich_relr,
	.relr_count = 2,
	.sysv_hash = true,
	.verdef = "RICH_1",
	.verneed_file = "libfirst.so",
	.verneed_name = "FIRST_1",
	.init_count = 2,
	.fini_count = 1,
	.tls_file_size = 8,
	.tls_mem_size = 16,
	.tls_align = 8,
	.relro = true,
	// Placeholders that rows of the table turn into something else.
	.extra = (const Elf64_Dyn[]){{DT_FLAGS, {0}},
				     {DT_FLAGS_1, {0}},
				     {DT_INIT, {ELF_BUILDER_TEXT}},
				     {DT_FINI, {ELF_BUILDER_TEXT + 16}},
				     {DT_DEBUG, {0}}},
	.extra_count = 5,
};

// The loader's functions must be called with its lock held.
static struct gorgon_error *open_image(const char *path, struct gorgon_image **ret)
{
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(path, ret);
	gorgon_unlock();
	return err;
}

static void close_image(struct gorgon_image *image)
{
	gorgon_lock();
	gorgon_image_close(image);
	gorgon_unlock();
}

static struct gorgon_error *open_bytes(const void *data, size_t size, struct gorgon_image **ret)
{
	const char *path = test_temp("image.so");

	test_write(path, data, size);
	return open_image(path, ret);
}

static struct gorgon_image *open_built(const struct elf_builder *builder)
{
	struct elf_file file = elf_build(builder);
	struct gorgon_image *image = NULL;

	assert_ok(open_bytes(file.data, file.size, &image));
	elf_file_deinit(&file);
	return image;
}

// --- good path -------------------------------------------------------------------

static void image_open_rich_object_reads_every_table(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_image *image = open_built(&rich);
	uint64_t page = (uint64_t)getpagesize();

	(void)state;
	assert_int_equal(image->segment_count, 3);
	assert_int_equal(image->vaddr_start, 0);
	assert_int_equal(image->vaddr_end, (ELF_BUILDER_BSS + 0x1000 + page - 1) & -page);
	assert_string_equal(image->soname, "librich.so.1");
	assert_string_equal(image->runpath, "$ORIGIN/here");
	assert_null(image->rpath);
	assert_int_equal(image->needed_count, 2);
	assert_string_equal(image->needed[1], "libsecond.so");
	assert_int_equal(image->symbol_count, 5);
	assert_int_equal(image->rela_count, 2);
	assert_int_equal(image->jmprel_count, 1);
	assert_int_equal(image->relr_count, 2);
	assert_true(image->has_verdef);
	assert_string_equal(image->versions[2].name, "RICH_1");
	assert_null(image->versions[2].file);
	assert_string_equal(image->versions[3].name, "FIRST_1");
	assert_string_equal(image->versions[3].file, "libfirst.so");
	assert_int_equal(image->init_array_count, 2);
	assert_int_equal(image->fini_array_count, 1);
	assert_int_equal(image->tls.mem_size, 16);
	assert_int_equal(image->tls.file_size, 8);
	assert_int_equal(image->tls.align, 8);
	assert_int_equal(image->relro_vaddr, ELF_BUILDER_RW);
	close_image(image);
	assert_unchanged(&before);
}

static void image_open_smallest_object_is_accepted(void **state)
{
	struct gorgon_image *image = open_built(&(struct elf_builder){0});

	(void)state;
	assert_int_equal(image->symbol_count, 1);
	assert_null(image->soname);
	close_image(image);
}

static void image_open_sysv_hash_alone_counts_symbols(void **state)
{
	struct elf_builder builder = rich;
	struct gorgon_image *image;

	(void)state;
	builder.no_gnu_hash = true;
	image = open_built(&builder);
	assert_int_equal(image->symbol_count, 5);
	assert_int_equal(image->gnu.bucket_count, 0);
	close_image(image);
}

static void image_open_twice_shares_one_image(void **state)
{
	struct gorgon_image *first = open_built(&rich), *second = NULL;
	size_t count = gorgon_image_count();

	(void)state;
	assert_ok(open_image(test_temp("image.so"), &second));
	assert_ptr_equal(first, second);
	assert_int_equal(gorgon_image_count(), count);
	close_image(first);
	assert_int_equal(gorgon_image_count(), count);
	close_image(second);
	assert_int_equal(gorgon_image_count(), count - 1);
}

// The system's linker, too, takes a size without an array for no array.
static void image_open_array_without_place_is_none(void **state)
{
	static const struct elf_change changes[] = {DYN_TAG(DT_INIT_ARRAY, 0x64c), DYN_TAG(DT_FINI_ARRAY, 0x64d)};
	struct elf_file file = elf_build(&rich);
	struct gorgon_image *image = NULL;

	(void)state;
	elf_apply(&file, &changes[0]);
	elf_apply(&file, &changes[1]);
	assert_ok(open_bytes(file.data, file.size, &image));
	assert_int_equal(image->init_array_count, 0);
	assert_int_equal(image->fini_array_count, 0);
	close_image(image);
	elf_file_deinit(&file);
}

static void image_open_file_replaced_gives_another_image(void **state)
{
	struct gorgon_image *first = open_built(&rich), *second = open_built(&rich);

	(void)state;
	assert_ptr_not_equal(first, second);
	close_image(first);
	close_image(second);
}

// Modules that the compiler at hand has made, and libraries of the system.
static void image_open_real_libraries_are_accepted(void **state)
{
	static const char *const names[] = {
		"libbasic.so",	    "libbasic_relr.so", "libbasic_sysv.so", "libbasic_align.so",
		"libtls.so",	    "libthrow.so",	"libversion.so",    "libifunc.so",
		"libversion_user.so",
	};
	static const char *const system[] = {
		"/lib/" TEST_MULTIARCH "/libc.so.6",
		"/lib/" TEST_MULTIARCH "/libm.so.6",
		"/usr/lib/" TEST_MULTIARCH "/libstdc++.so.6",
		"/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1.0",
		"/usr/lib/" TEST_MULTIARCH "/libcrypto.so.3",
	};
	struct gorgon_image *image;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_ok(open_image(test_module(names[i]), &image));
		assert_string_equal(image->soname, names[i]);
		close_image(image);
	}
	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++) {
		assert_ok(open_image(system[i], &image));
		assert_true(image->symbol_count > 100);
		close_image(image);
	}
}

// A library without exports has an empty DT_GNU_HASH, so only relocations say how many symbols there are.
static void image_open_library_without_exports_counts_references(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_ok(open_image(test_module("libfini_open.so"), &image));
	assert_true(image->symbol_count > 2);
	close_image(image);
}

static void image_open_eh_frame_of_compiler_is_found(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_ok(open_image(test_module("libbasic.so"), &image));
	assert_int_not_equal(image->eh_frame_vaddr, 0);
	close_image(image);
}

static void image_open_align_2mb_is_kept(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_ok(open_image(test_module("libbasic_align.so"), &image));
	assert_int_equal(image->align, 0x200000);
	close_image(image);
}

// --- files that are no objects ---------------------------------------------------------

static void image_open_absent_file_is_an_os_error(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_error(open_image("/nonexistent/x.so", &image), GORGON_ERROR_OS,
		     "/nonexistent/x.so: No such file");
}

static void image_open_directory_is_refused(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_error(open_image("/tmp", &image), GORGON_ERROR_FORMAT, "/tmp: not a regular file");
}

// A pipe without a writer must not block the open.
static int open_fifo(void *path)
{
	struct gorgon_image *image;
	struct gorgon_error *err;

	alarm(120);
	err = open_image(path, &image);
	return err && gorgon_error_code(err) == GORGON_ERROR_FORMAT ? 0 : 1;
}

static void image_open_fifo_is_refused_without_blocking(void **state)
{
	const char *path = test_temp("fifo");

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(test_in_child(open_fifo, (void *)path), 0);
}

static void image_open_empty_file_is_refused(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_error(open_bytes("", 0, &image), GORGON_ERROR_FORMAT, "not an ELF file (0 bytes)");
}

static void image_open_text_file_is_refused(void **state)
{
	static const char text[] = "#!/bin/sh\necho a script that is longer than a header\n";
	struct gorgon_image *image;

	(void)state;
	assert_error(open_bytes(text, sizeof(text), &image), GORGON_ERROR_FORMAT,
		     "not an ELF file");
}

static void image_open_archive_is_refused(void **state)
{
	static const char text[] = "!<arch>\n";
	uint8_t data[256] = {0};
	struct gorgon_image *image;

	(void)state;
	memcpy(data, text, sizeof(text));
	assert_error(open_bytes(data, sizeof(data), &image), GORGON_ERROR_FORMAT,
		     "not an ELF file");
}

static void image_open_executable_is_refused(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_error(open_image("/proc/self/exe", &image), GORGON_ERROR_FORMAT,
		     "is a position-independent executable");
}

static void image_open_text_relocations_of_compiler_are_refused(void **state)
{
	struct gorgon_image *image;

	(void)state;
	assert_error(open_image(test_module("libbasic_textrel.so"), &image),
		     GORGON_ERROR_UNSUPPORTED, "DT_TEXTREL); build it with -fPIC");
}

// --- one damage each ------------------------------------------------------------------------

struct damage {
	const char *name;
	struct elf_change change;
	enum gorgon_error_code code;
	const char *text;
};

#define F GORGON_ERROR_FORMAT
#define M GORGON_ERROR_MACHINE
#define U GORGON_ERROR_UNSUPPORTED

static const struct damage damages[] = {
	// ELF header
	{"magic", IDENT(1, 'F'), F, "not an ELF file"},
	{"class_32", IDENT(EI_CLASS, ELFCLASS32), M, "class 1 and data encoding 1, expected"},
	{"class_0", IDENT(EI_CLASS, 0), M, "class 0"},
	{"big_endian", IDENT(EI_DATA, ELFDATA2MSB), M, "data encoding 2"},
	{"machine", EHDR(e_machine, TEST_OTHER_MACHINE), M,
	 TEST_REFUSES_OTHER},
	{"version", EHDR(e_version, 2), F, "e_version is 2, expected 1"},
	{"type_exec", EHDR(e_type, ET_EXEC), F, "e_type is 2, expected a shared object"},
	{"type_rel", EHDR(e_type, ET_REL), F, "e_type is 1"},
	{"type_core", EHDR(e_type, ET_CORE), F, "e_type is 4"},
	{"phentsize", EHDR(e_phentsize, 32), F, "e_phentsize is 32, expected 56"},
	{"phnum_0", EHDR(e_phnum, 0), F, "no usable program headers"},
	{"phnum_beyond_file", EHDR(e_phnum, 65000), F, "program header"},
	{"phoff_beyond_file", EHDR(e_phoff, 0x10000), F, "program header"},
	{"phoff_huge", EHDR(e_phoff, UINT64_MAX - 8), F, "program header"},
	// program headers
	{"load_filesz_above_memsz", LOAD(0, p_filesz, 0xfff), F,
	 "p_filesz 0xfff is larger than p_memsz"},
	{"load_beyond_file", LOAD(2, p_offset, 0x3000), F,
	 "segment 2: ends at 0x4000, the file at 0x3000"},
	{"load_offset_huge", LOAD(1, p_offset, UINT64_MAX), F, "segment 1: ends at"},
	{"load_vaddr_huge", LOAD(2, p_vaddr, UINT64_MAX - 0xfff), F, "segment 2: address"},
	{"load_memsz_huge", LOAD(2, p_memsz, UINT64_MAX), F, "segment 2: address"},
	{"load_align_odd", LOAD(1, p_align, 3), F, "segment 1: p_align 0x3 is no power of two"},
	{"load_align_huge", LOAD(1, p_align, UINT64_C(1) << 62), F, "p_align 0x4000000000000000"},
	{"load_offset_not_congruent", LOAD(1, p_vaddr, ELF_BUILDER_TEXT + 16), F, "differ within a page"},
	{"load_write_exec", LOAD(2, p_flags, PF_R | PF_W | PF_X), F,
	 "segment 2: writable and executable"},
	{"load_exec_write", LOAD(1, p_flags, PF_W | PF_X), F, "segment 1: writable and executable"},
	{"load_zeros_in_text", LOAD(1, p_memsz, 0x800), F,
	 "zero-filled memory in a segment that is not"},
	{"load_out_of_order", LOAD(0, p_vaddr, 0x40000), F, "segment 1: shares a page"},
	{"load_none_first", LOAD(0, p_type, PT_NULL), F, "in no segment"},
	{"stack_executable", PHDR(PT_GNU_STACK, p_flags, PF_R | PF_W | PF_X), U,
	 "executable stack"},
	{"dynamic_missing", PHDR(PT_DYNAMIC, p_type, PT_NOTE), F,
	 "no PT_DYNAMIC: not a shared object"},
	{"dynamic_size_0", PHDR(PT_DYNAMIC, p_filesz, 0), F, "no PT_DYNAMIC"},
	{"dynamic_outside", PHDR(PT_DYNAMIC, p_vaddr, 0x9000), F, "PT_DYNAMIC: 0x9000"},
	{"dynamic_in_bss", PHDR(PT_DYNAMIC, p_vaddr, ELF_BUILDER_BSS), F, "PT_DYNAMIC: 0x23000"},
	{"dynamic_misaligned", PHDR(PT_DYNAMIC, p_vaddr, ELF_BUILDER_RW + 4), F, "PT_DYNAMIC: 0x22004"},
	{"dynamic_size_huge", PHDR(PT_DYNAMIC, p_filesz, UINT64_MAX), F, "PT_DYNAMIC"},
	{"dynamic_not_terminated", PHDR(PT_DYNAMIC, p_filesz, 32), F,
	 "no DT_NULL within 2 entries"},
	{"tls_filesz_above_memsz", PHDR(PT_TLS, p_filesz, 64), F, "PT_TLS: p_filesz 0x40"},
	{"tls_memsz_huge", PHDR(PT_TLS, p_memsz, UINT64_MAX), F, "PT_TLS: p_filesz"},
	{"tls_align_odd", PHDR(PT_TLS, p_align, 24), F, "PT_TLS: p_align 0x18 is no power of two"},
	{"tls_outside", PHDR(PT_TLS, p_vaddr, 0x9000), F, "PT_TLS: initialisation image at 0x9000"},
	{"tls_in_bss", PHDR(PT_TLS, p_vaddr, ELF_BUILDER_BSS), F, "PT_TLS: initialisation image"},
	{"relro_outside", PHDR(PT_GNU_RELRO, p_vaddr, 0x9000), F, "PT_GNU_RELRO: 0x9000"},
	{"relro_too_long", PHDR(PT_GNU_RELRO, p_memsz, 0x9000), F, "PT_GNU_RELRO"},
	{"relro_size_huge", PHDR(PT_GNU_RELRO, p_memsz, UINT64_MAX), F, "PT_GNU_RELRO"},
	// dynamic entries
	{"textrel", DYN_TAG(DT_DEBUG, DT_TEXTREL), U, "text relocations (DT_TEXTREL)"},
	{"textrel_flag", DYN(DT_FLAGS, DF_TEXTREL), U, "text relocations"},
	{"pie", DYN(DT_FLAGS_1, DF_1_PIE), F, "is a position-independent executable"},
	{"strtab_outside", DYN(DT_STRTAB, 0x9000), F, "DT_STRTAB: 0x9000"},
	{"strtab_missing", DYN_TAG(DT_STRTAB, DT_DEBUG), F, "DT_STRTAB"},
	{"strsz_0", DYN(DT_STRSZ, 0), F, "DT_STRTAB"},
	{"strsz_huge", DYN(DT_STRSZ, UINT64_MAX), F, "DT_STRTAB"},
	{"strtab_not_terminated", {ELF_STR, false, 511, 0, 1, 'x'}, F, "not terminated"},
	{"needed_out_of_range", DYN(DT_NEEDED, 512), F,
	 "dynamic entry 0: name at 0x200 is outside"},
	{"soname_out_of_range", DYN(DT_SONAME, UINT64_MAX), F, "is outside of DT_STRTAB"},
	{"runpath_out_of_range", DYN(DT_RUNPATH, 0x100000), F, "is outside of DT_STRTAB"},
	{"rpath_out_of_range", DYN_TAG(DT_FINI, DT_RPATH), F, "is outside of DT_STRTAB"},
	{"syment", DYN(DT_SYMENT, 16), F, "DT_SYMENT is 16, expected 24"},
	{"symtab_outside", DYN(DT_SYMTAB, 0x9000), F, "DT_SYMTAB: 0x9000, 5 symbols"},
	{"symtab_misaligned", DYN(DT_SYMTAB, 0x404), F, "DT_SYMTAB: 0x404"},
	{"symtab_missing", DYN_TAG(DT_SYMTAB, DT_DEBUG), F, "DT_SYMTAB: 0x0"},
	{"symbol_name", FIELD(ELF_SYM, 3, Elf64_Sym, st_name, 512), F, "symbol 3: name at 0x200"},
	// DT_GNU_HASH: buckets, first symbol, bloom words, shift, bloom, bucket, chain
	{"gnu_outside", DYN(DT_GNU_HASH, 0x9000), F, "DT_GNU_HASH: 0x9000"},
	{"gnu_misaligned", DYN(DT_GNU_HASH, 0x404), F, "DT_GNU_HASH: 0x404"},
	{"gnu_no_buckets", WORD(ELF_GNU_HASH, 0, 0), F, "DT_GNU_HASH: 0 buckets"},
	{"gnu_buckets_huge", WORD(ELF_GNU_HASH, 0, UINT32_MAX), F, "leave the segment"},
	{"gnu_offset_above_bucket", WORD(ELF_GNU_HASH, 1, 4), F,
	 "bucket 0 starts at symbol 2, before 4"},
	{"gnu_no_bloom", WORD(ELF_GNU_HASH, 2, 0), F, "0 bloom words"},
	{"gnu_bloom_odd", WORD(ELF_GNU_HASH, 2, 3), F, "3 bloom words"},
	{"gnu_bloom_huge", WORD(ELF_GNU_HASH, 2, 1u << 31), F, "leave the segment"},
	{"gnu_shift", WORD(ELF_GNU_HASH, 3, 32), F, "shift 32"},
	{"gnu_bucket_huge", WORD(ELF_GNU_HASH, 6, UINT32_MAX), F, "chain of symbol 4294967295"},
	// DT_HASH: buckets, symbols, 3 buckets, chains
	{"sysv_outside", DYN(DT_HASH, 0x9000), F, "DT_HASH: 0x9000"},
	{"sysv_no_buckets", WORD(ELF_SYSV_HASH, 0, 0), F, "DT_HASH: 0 buckets"},
	{"sysv_buckets_huge", WORD(ELF_SYSV_HASH, 0, UINT32_MAX), F, "leave the segment"},
	{"sysv_symbols_huge", WORD(ELF_SYSV_HASH, 1, UINT32_MAX), F, "leave the segment"},
	{"sysv_bucket", WORD(ELF_SYSV_HASH, 3, 5), F, "bucket 1 names symbol 5 of 5"},
	{"sysv_chain", WORD(ELF_SYSV_HASH, 6, 77), F, "chain 1 names symbol 77 of 5"},
	{"sysv_fewer_than_gnu", WORD(ELF_SYSV_HASH, 1, 1), F, "DT_HASH"},
	// versions
	{"versym_outside", DYN(DT_VERSYM, 0x9000), F, "DT_VERSYM: 0x9000"},
	{"versym_misaligned", DYN(DT_VERSYM, 0x401), F, "DT_VERSYM: 0x401"},
	{"versym_undefined_index", {ELF_VERSYM, false, 2, 0, 2, 9}, F,
	 "version index 9 is not defined"},
	{"versym_hidden_undefined_index", {ELF_VERSYM, false, 2, 0, 2, 0x8009}, F,
	 "version index 9"},
	{"verdef_outside", DYN(DT_VERDEF, 0x9000), F, "DT_VERDEF: entry 0 of 2"},
	{"verdef_format", FIELD(ELF_VERDEF, 1, Elf64_Verdef, vd_version, 7), F,
	 "DT_VERDEF: entry 1 of 2"},
	{"verdef_aux", FIELD(ELF_VERDEF, 1, Elf64_Verdef, vd_aux, 0x8000), F, "DT_VERDEF: entry 1"},
	{"verdef_next", FIELD(ELF_VERDEF, 0, Elf64_Verdef, vd_next, 0x8000), F,
	 "DT_VERDEF: entry 1"},
	{"verdef_next_odd", FIELD(ELF_VERDEF, 0, Elf64_Verdef, vd_next, 3), F,
	 "DT_VERDEF: entry 1"},
	{"verdef_name", FIELD(ELF_VERDAUX, 1, Elf64_Verdaux, vda_name, 999), F,
	 "symbol version 2: name"},
	{"verdef_missing", DYN_TAG(DT_VERDEF, DT_DEBUG), F, "version index 2 is not defined"},
	{"verneed_outside", DYN(DT_VERNEED, 0x9000), F, "DT_VERNEED: entry 0 of 1"},
	{"verneed_format", FIELD(ELF_VERNEED, 0, Elf64_Verneed, vn_version, 2), F,
	 "DT_VERNEED: entry 0"},
	{"verneed_file", FIELD(ELF_VERNEED, 0, Elf64_Verneed, vn_file, 600), F,
	 "DT_VERNEED: entry 0"},
	{"verneed_aux", FIELD(ELF_VERNEED, 0, Elf64_Verneed, vn_aux, 0x8000), F,
	 "need 0 of libfirst.so"},
	{"verneed_name", FIELD(ELF_VERNAUX, 0, Elf64_Vernaux, vna_name, 999), F,
	 "symbol version 3: name"},
	{"verneed_no_name", FIELD(ELF_VERNAUX, 0, Elf64_Vernaux, vna_name, 0), F,
	 "symbol version 3: its name, '', has the hash 0, as no version has"},
	{"verneed_hash", FIELD(ELF_VERNAUX, 0, Elf64_Vernaux, vna_hash, 1), F,
	 "DT_VERNEED: version FIRST_1 of libfirst.so has the hash 0x1, expected 0x"},
	{"verneed_none", FIELD(ELF_VERNEED, 0, Elf64_Verneed, vn_cnt, 0), F,
	 "version index 3 is not defined"},
	// relocations
	{"rel", DYN_TAG(DT_DEBUG, DT_REL), U, "has DT_REL relocations, expected DT_RELA"},
	{"pltrel", DYN(DT_PLTREL, DT_REL), F, "DT_PLTREL is 17, expected DT_RELA (7)"},
	{"relaent", DYN(DT_RELAENT, 16), F, "DT_RELAENT is 16, expected 24"},
	{"rela_outside", DYN(DT_RELA, 0x9000), F, "DT_RELA: 0x9000, size 0x30"},
	{"relasz_huge", DYN(DT_RELASZ, UINT64_MAX), F, "DT_RELA: "},
	{"jmprel_outside", DYN(DT_JMPREL, 0x9000), F, "DT_JMPREL: 0x9000, size 0x18"},
	{"pltrelsz_huge", DYN(DT_PLTRELSZ, UINT64_MAX / 2), F, "DT_JMPREL: "},
	{"rela_target_outside", FIELD(ELF_RELA, 0, Elf64_Rela, r_offset, 0x9000), F,
	 "DT_RELA entry 0: 0x9000 is in no writable segment"},
	{"rela_target_read_only", FIELD(ELF_RELA, 1, Elf64_Rela, r_offset, 0x100), F,
	 "DT_RELA entry 1: 0x100 is in no writable segment"},
	{"rela_target_code", FIELD(ELF_RELA, 1, Elf64_Rela, r_offset, ELF_BUILDER_TEXT), F,
	 "DT_RELA entry 1: 0x11000 is in no writable segment"},
	{"rela_target_across_the_end", FIELD(ELF_RELA, 0, Elf64_Rela, r_offset, ELF_BUILDER_BSS + 0xffc), F,
	 "0x23ffc is in no writable segment"},
	{"rela_target_huge", FIELD(ELF_RELA, 0, Elf64_Rela, r_offset, UINT64_MAX - 3), F,
	 "is in no writable segment"},
	{"jmprel_target_code", FIELD(ELF_JMPREL, 0, Elf64_Rela, r_offset, ELF_BUILDER_TEXT), F,
	 "DT_JMPREL entry 0: 0x11000"},
	{"rela_symbol", FIELD(ELF_RELA, 1, Elf64_Rela, r_info, ELF64_R_INFO(5, TEST_R_64)), F,
	 "DT_RELA entry 1: symbol 5 of 5"},
	{"rela_type_copy", FIELD(ELF_RELA, 1, Elf64_Rela, r_info, ELF64_R_INFO(1, TEST_R_COPY)),
	 U,
	 TEST_REFUSES_COPY},
	{"rela_type_unknown", FIELD(ELF_RELA, 1, Elf64_Rela, r_info, ELF64_R_INFO(1, 200)), U,
	 "relocation type 200 is not supported"},
	{"irelative_resolver_in_data",
	 FIELD(ELF_RELA, 0, Elf64_Rela, r_info, ELF64_R_INFO(0, TEST_R_IRELATIVE)), F,
	 "DT_RELA entry 0: resolver 0x22800 is in no executable segment"},
	{"relasz_within_an_entry", DYN(DT_RELASZ, 47), F, "DT_RELA: size 0x2f is no multiple of 24"},
	{"pltrelsz_within_an_entry", DYN(DT_PLTRELSZ, 25), F, "DT_JMPREL: size 0x19 is no multiple of 24"},
	{"relrsz_within_an_entry", DYN(DT_RELRSZ, 15), F, "DT_RELR: size 0xf is no multiple of 8"},
	{"relr_outside", DYN(DT_RELR, 0x9000), F, "DT_RELR: 0x9000, size 0x10"},
	{"relrsz_huge", DYN(DT_RELRSZ, UINT64_MAX), F, "DT_RELR: "},
	{"relr_address_outside", {ELF_RELR, false, 0, 0, 8, 0x9000}, F, "DT_RELR entry 0: 0x9000"},
	{"relr_address_read_only", {ELF_RELR, false, 0, 0, 8, 0x200}, F, "DT_RELR entry 0: 0x200"},
	{"relr_address_misaligned", {ELF_RELR, false, 0, 0, 8, ELF_BUILDER_DATA + 4}, F,
	 "DT_RELR entry 0"},
	{"relr_starts_with_bitmap", {ELF_RELR, false, 0, 0, 8, 3}, F,
	 "DT_RELR entry 0: a bitmap, expected an address first"},
	{"relr_address_huge", {ELF_RELR, false, 0, 0, 8, UINT64_MAX - 7}, F, "DT_RELR entry 0"},
	{"relr_bitmap_leaves", {ELF_RELR, false, 0, 0, 8, ELF_BUILDER_BSS + 0xff0}, F, "DT_RELR entry 1: 0x23ff8"},
	// constructors and destructors
	{"init_outside", DYN(DT_INIT, 0x9000), F, "DT_INIT: 0x9000 is in no executable segment"},
	{"init_in_data", DYN(DT_INIT, ELF_BUILDER_DATA), F, "DT_INIT: 0x22800"},
	{"fini_in_data", DYN(DT_FINI, ELF_BUILDER_DATA), F, "DT_FINI: 0x22800"},
	{"init_array_outside", DYN(DT_INIT_ARRAY, 0x9000), F, "DT_INIT_ARRAY: 0x9000"},
	{"init_array_misaligned", DYN(DT_INIT_ARRAY, ELF_BUILDER_RW + 0x604), F, "DT_INIT_ARRAY: 0x22604"},
	{"init_arraysz_huge", DYN(DT_INIT_ARRAYSZ, UINT64_MAX), F, "DT_INIT_ARRAY"},
	{"fini_array_outside", DYN(DT_FINI_ARRAY, 0x9000), F, "DT_FINI_ARRAY: 0x9000"},
	{"fini_array_across_the_end", DYN(DT_FINI_ARRAYSZ, 0x2000), F, "DT_FINI_ARRAY"},
};

#define DAMAGES (sizeof(damages) / sizeof(*damages))

static void image_open_damaged_is_refused(void **state)
{
	const struct damage *damage = *state;
	struct test_snapshot before = test_snapshot();
	struct elf_file file = elf_build(&rich);
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	elf_apply(&file, &damage->change);
	err = open_bytes(file.data, file.size, &image);
	elf_file_deinit(&file);
	if (!err)
		close_image(image);
	assert_error(err, damage->code, damage->text);
	assert_unchanged(&before);
}

// The code's segment moves to the page of the one before or behind it, in the file, too, as whatever the size of a page is.
static void image_open_segments_in_one_page_are_refused(void **state)
{
	static const struct {
		uint64_t vaddr, off;
		const char *text;
	} places[] = {{0, 0, "segment 1: shares a page with the one before"},
		      {ELF_BUILDER_RW, ELF_BUILDER_RW % ELF_BUILDER_ALIGN, "segment 2: shares a page with the one before"}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct elf_file file = elf_build(&rich);
		struct gorgon_image *image;

		elf_apply(&file, &(struct elf_change)LOAD(1, p_vaddr, places[i].vaddr));
		elf_apply(&file, &(struct elf_change)LOAD(1, p_offset, places[i].off));
		assert_error(open_bytes(file.data, file.size, &image), F, places[i].text);
		elf_file_deinit(&file);
	}
}

static void image_open_without_any_hash_is_refused(void **state)
{
	struct elf_builder builder = rich;
	struct elf_file file;
	struct gorgon_image *image;

	(void)state;
	builder.no_gnu_hash = true;
	builder.sysv_hash = false;
	file = elf_build(&builder);
	assert_error(open_bytes(file.data, file.size, &image), GORGON_ERROR_FORMAT,
		     "neither DT_GNU_HASH nor DT_HASH");
	elf_file_deinit(&file);
}

// The message names the file, whatever is wrong with it.
static void image_open_damaged_message_starts_with_the_path(void **state)
{
	struct gorgon_image *image;
	struct gorgon_error *err = NULL;

	(void)state;
	for (size_t i = 0; i < DAMAGES; i++) {
		struct elf_file file = elf_build(&rich);
		const char *path = test_temp("image.so");
		bool starts;

		elf_apply(&file, &damages[i].change);
		err = open_bytes(file.data, file.size, &image);
		elf_file_deinit(&file);
		assert_non_null(err);
		starts = !strncmp(gorgon_error_message(err), path, strlen(path));
		gorgon_error_destroy(err);
		if (!starts)
			fail_msg("%s: message does not start with the path", damages[i].name);
	}
}

// --- real files, cut and damaged at random ------------------------------------------------------

// What is cut off is either needed, or only section headers.
static void image_open_truncated_anywhere_never_crashes(void **state)
{
	struct test_snapshot before = test_snapshot();
	size_t size, accepted = 0, refused = 0;
	uint8_t *data = test_read(test_module("libversion_user.so"), &size);

	(void)state;
	for (size_t cut = 0; cut < size; cut += 64) {
		struct gorgon_image *image = NULL;
		struct gorgon_error *err = open_bytes(data, cut, &image);

		if (err)
			refused++;
		else
			accepted++;
		// The last segment ends behind this point, so a shorter file cannot be loaded.
		if (cut < 0x2000)
			assert_non_null(err);
		gorgon_error_destroy(err);
		close_image(image);
	}
	free(data);
	assert_true(refused > 100);
	assert_true(accepted > 0);
	assert_unchanged(&before);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

// Uses what validation promises to be safe: the names of all symbols and versions, and the tables of all look-ups.
static void walk_image(const struct gorgon_image *image)
{
	size_t length = 0;

	for (uint32_t i = 0; i < image->symbol_count; i++) {
		uint32_t ndx = image->versym ? image->versym[i] & 0x7fff : 0;

		length += strlen(image->strtab + image->symbols[i].st_name);
		if (ndx > 1)
			length += strlen(image->versions[ndx].name);
	}
	for (size_t i = 0; i < image->needed_count; i++)
		length += strlen(image->needed[i]);
	for (uint64_t i = 0; i < image->rela_count; i++)
		length += image->rela[i].r_offset != 0;
	assert_true(length < SIZE_MAX);
}

static size_t flip_and_open(const uint8_t *data, size_t size, size_t limit, uint32_t *seed,
			    unsigned flips)
{
	uint8_t *copy = malloc(size);
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	memcpy(copy, data, size);
	while (flips--)
		copy[next_random(seed) % limit] ^= (uint8_t)(1u << next_random(seed) % 8);
	err = open_bytes(copy, size, &image);
	free(copy);
	if (err) {
		assert_in_range(gorgon_error_code(err), GORGON_ERROR_FORMAT,
				GORGON_ERROR_UNSUPPORTED);
		gorgon_error_destroy(err);
		return 1;
	}
	walk_image(image);
	close_image(image);
	return 0;
}

static void flip_file(const char *name, size_t limit, unsigned rounds)
{
	struct test_snapshot before = test_snapshot();
	uint32_t seed = 0x12345678;
	size_t size, refused = 0;
	uint8_t *data = test_read(test_module(name), &size);

	for (unsigned i = 0; i < rounds; i++)
		refused += flip_and_open(data, size, limit && limit < size ? limit : size, &seed,
					 1 + i % 8);
	free(data);
	assert_true(refused > 0);
	assert_unchanged(&before);
}

static void image_open_random_flips_anywhere_never_crash(void **state)
{
	(void)state;
	flip_file("libversion_user.so", 0, 3000);
	flip_file("libthrow.so", 0, 1500);
}

// Headers and tables are at the start: most flips hit something that is read.
static void image_open_random_flips_in_tables_never_crash(void **state)
{
	(void)state;
	flip_file("libversion_user.so", 0x600, 6000);
	flip_file("libbasic_relr.so", 0x700, 3000);
	flip_file("libbasic_sysv.so", 0x700, 3000);
}

// Changes each byte of a built object in turn, to each value that is special.
static void image_open_every_byte_of_built_object_changed_never_crashes(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct test_snapshot before = test_snapshot();
	struct elf_file file = elf_build(&rich);
	size_t refused = 0, dynamic = file.part[ELF_DYN].off;

	(void)state;
	for (size_t at = 0; at < dynamic + 0x300; at += test_every()) {
		uint8_t old;

		// Code and the gap before it are not looked at.
		if (at >= 0x900 && at < dynamic)
			at = dynamic;
		old = file.data[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			struct gorgon_image *image = NULL;
			struct gorgon_error *err;

			if (values[i] == old)
				continue;
			file.data[at] = values[i];
			err = open_bytes(file.data, file.size, &image);
			if (!err)
				walk_image(image);
			refused += err != NULL;
			gorgon_error_destroy(err);
			close_image(image);
		}
		file.data[at] = old;
	}
	elf_file_deinit(&file);
	assert_true(refused > 1000 / test_every());
	assert_unchanged(&before);
}

// One case for each row, then the plain ones.
int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(image_open_rich_object_reads_every_table),
		cmocka_unit_test(image_open_smallest_object_is_accepted),
		cmocka_unit_test(image_open_sysv_hash_alone_counts_symbols),
		cmocka_unit_test(image_open_twice_shares_one_image),
		cmocka_unit_test(image_open_array_without_place_is_none),
		cmocka_unit_test(image_open_file_replaced_gives_another_image),
		cmocka_unit_test(image_open_real_libraries_are_accepted),
		cmocka_unit_test(image_open_library_without_exports_counts_references),
		cmocka_unit_test(image_open_eh_frame_of_compiler_is_found),
		cmocka_unit_test(image_open_align_2mb_is_kept),
		cmocka_unit_test(image_open_absent_file_is_an_os_error),
		cmocka_unit_test(image_open_directory_is_refused),
		cmocka_unit_test(image_open_fifo_is_refused_without_blocking),
		cmocka_unit_test(image_open_empty_file_is_refused),
		cmocka_unit_test(image_open_text_file_is_refused),
		cmocka_unit_test(image_open_archive_is_refused),
		cmocka_unit_test(image_open_executable_is_refused),
		cmocka_unit_test(image_open_text_relocations_of_compiler_are_refused),
		cmocka_unit_test(image_open_segments_in_one_page_are_refused),
		cmocka_unit_test(image_open_without_any_hash_is_refused),
		cmocka_unit_test(image_open_damaged_message_starts_with_the_path),
		cmocka_unit_test(image_open_truncated_anywhere_never_crashes),
		cmocka_unit_test(image_open_random_flips_anywhere_never_crash),
		cmocka_unit_test(image_open_random_flips_in_tables_never_crash),
		cmocka_unit_test(image_open_every_byte_of_built_object_changed_never_crashes),
	};
	size_t plain_count = sizeof(plain) / sizeof(*plain);
	static struct CMUnitTest tests[DAMAGES + sizeof(plain) / sizeof(*plain)];
	static char names[DAMAGES][80];

	memcpy(tests, plain, sizeof(plain));
	for (size_t i = 0; i < DAMAGES; i++) {
		snprintf(names[i], sizeof(names[i]), "image_open_damaged_%s_is_refused",
			 damages[i].name);
		tests[plain_count + i] = (struct CMUnitTest){
			.name = names[i],
			.test_func = image_open_damaged_is_refused,
			.initial_state = (void *)&damages[i],
		};
	}
	return cmocka_run_group_tests_name("image", tests, test_warm_up, NULL);
}
