// SPDX-License-Identifier: MIT
// loader/image/symbol.c

#define _GNU_SOURCE
#include "elf_builder.h"
#include "helpers.h"

#include "base/lock.h"
#include "image/symbol.h"

#include <string.h>

#define INFO(bind, type) ELF64_ST_INFO(STB_##bind, STT_##type)

static struct gorgon_image *open_path(const char *path)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(path, &image);
	gorgon_unlock();
	assert_ok(err);
	return image;
}

static struct gorgon_image *open_built(const struct elf_builder *builder)
{
	struct elf_file file = elf_build(builder);
	const char *path = test_temp("symbol.so");

	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	return open_path(path);
}

static void close_image(struct gorgon_image *image)
{
	gorgon_lock();
	gorgon_image_close(image);
	gorgon_unlock();
}

static const Elf64_Sym *find(const struct gorgon_image *image, const char *name,
			     const char *version)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, version);

	return gorgon_symbol_find(image, &query);
}

static const struct elf_builder_symbol kinds[] = {
	{.name = "imported", .undefined = true},
	{.name = "function", .value = 0x11000, .size = 16},
	{.name = "weak", .info = INFO(WEAK, FUNC), .value = 0x11010, .size = 16},
	{.name = "unique", .info = INFO(GNU_UNIQUE, OBJECT), .value = 0x22800, .size = 4},
	{.name = "file_local", .info = INFO(LOCAL, FUNC), .value = 0x11020, .size = 16},
	{.name = "hidden", .other = STV_HIDDEN, .value = 0x11030, .size = 16},
	{.name = "internal", .other = STV_INTERNAL, .value = 0x11030, .size = 16},
	{.name = "protected", .other = STV_PROTECTED, .value = 0x11040, .size = 16},
	{.name = "at_zero", .value = 0},
	{.name = "tls_at_zero", .info = INFO(GLOBAL, TLS), .value = 0, .size = 4},
	{.name = "unsized", .value = 0x11080},
	{0},
};

static void check_kinds(const struct gorgon_image *image)
{
	static const char *const found[] = {"function", "weak", "unique", "protected",
					    "tls_at_zero", "unsized"};
	static const char *const absent[] = {"imported", "file_local", "hidden", "internal",
					     "at_zero", "", "functio", "functions"};

	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++) {
		const Elf64_Sym *sym = find(image, found[i], NULL);

		assert_non_null(sym);
		assert_string_equal(image->strtab + sym->st_name, found[i]);
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
		assert_null(find(image, absent[i], NULL));
}

static void symbol_find_gnu_hash_finds_definitions_only(void **state)
{
	struct gorgon_image *image = open_built(&(struct elf_builder){.symbols = kinds});

	(void)state;
	check_kinds(image);
	close_image(image);
}

static void symbol_find_sysv_hash_finds_definitions_only(void **state)
{
	struct gorgon_image *image = open_built(
		&(struct elf_builder){.symbols = kinds, .no_gnu_hash = true, .sysv_hash = true});

	(void)state;
	check_kinds(image);
	close_image(image);
}

// A chain of a hash table leads back to itself.
static void symbol_find_sysv_chain_loop_ends(void **state)
{
	static const struct elf_builder_symbol one[] = {{.name = "function", .value = 0x11000}, {0}};
	struct elf_file file = elf_build(&(struct elf_builder){
		.symbols = one, .no_gnu_hash = true, .sysv_hash = true});
	const char *path = test_temp("symbol.so");
	struct gorgon_image *image;

	(void)state;
	for (size_t bucket = 0; bucket < 3; bucket++)
		elf_set(&file, ELF_SYSV_HASH, 2 + bucket, 0, 4, 1);
	elf_set(&file, ELF_SYSV_HASH, 2 + 3 + 1, 0, 4, 1);
	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	image = open_path(path);
	assert_null(find(image, "absent", NULL));
	assert_non_null(find(image, "function", NULL));
	close_image(image);
}

static void symbol_find_no_symbols_finds_nothing(void **state)
{
	struct gorgon_image *image = open_built(&(struct elf_builder){0});

	(void)state;
	assert_null(find(image, "function", NULL));
	close_image(image);
}

// libversion.so: version_number@V1 (hidden) and version_number@@V2.
static void symbol_find_version_chooses_definition(void **state)
{
	struct gorgon_image *image = open_path(test_module("libversion.so"));
	const Elf64_Sym *one = find(image, "version_number", "V1");
	const Elf64_Sym *two = find(image, "version_number", "V2");

	(void)state;
	assert_non_null(one);
	assert_non_null(two);
	assert_int_not_equal(one->st_value, two->st_value);
	assert_ptr_equal(find(image, "version_number", NULL), two);
	assert_null(find(image, "version_number", "V3"));
	assert_null(find(image, "version_number", ""));
	close_image(image);
}

// A library without versions satisfies references that were made to a library with versions.
static void symbol_find_version_of_unversioned_library_is_ignored(void **state)
{
	struct gorgon_image *image = open_path(test_module("libbasic.so"));

	(void)state;
	assert_non_null(find(image, "basic_next", "ANY_1"));
	close_image(image);
}

static void symbol_query_of_reference_has_version_and_file(void **state)
{
	struct gorgon_image *image = open_path(test_module("libversion_user.so"));
	unsigned old = 0, new = 0;

	(void)state;
	for (uint32_t i = 1; i < image->symbol_count; i++) {
		struct gorgon_symbol_query query = gorgon_symbol_query_of(image, i);

		if (strcmp(query.name, "version_number"))
			continue;
		assert_string_equal(query.file, "libversion.so");
		old += !strcmp(query.version, "V1");
		new += !strcmp(query.version, "V2");
	}
	assert_int_equal(old, 1);
	assert_int_equal(new, 1);
	close_image(image);
}

// The expected values are those of the function in the gABI.
static void symbol_sysv_hash_known_names_give_known_values(void **state)
{
	(void)state;
	assert_int_equal(gorgon_symbol_sysv_hash(""), 0);
	assert_int_equal(gorgon_symbol_sysv_hash("printf"), 0x077905a6);
	assert_int_equal(gorgon_symbol_sysv_hash("GLIBC_2.2.5"), 0x09691a75);
}

static const char *name_at(const struct gorgon_image *image, uint64_t vaddr)
{
	const Elf64_Sym *sym = gorgon_symbol_at(image, vaddr);

	return sym ? image->strtab + sym->st_name : "";
}

static void symbol_at_address_gives_containing(void **state)
{
	struct gorgon_image *image = open_built(&(struct elf_builder){.symbols = kinds});

	(void)state;
	assert_string_equal(name_at(image, 0x11000), "function");
	assert_string_equal(name_at(image, 0x1100f), "function");
	assert_string_equal(name_at(image, 0x11010), "weak");
	assert_string_equal(name_at(image, 0x11048), "protected");
	// A symbol without a size contains only its own address.
	assert_string_equal(name_at(image, 0x11080), "unsized");
	assert_string_equal(name_at(image, 0x11090), "");
	close_image(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbol_find_gnu_hash_finds_definitions_only),
		cmocka_unit_test(symbol_find_sysv_hash_finds_definitions_only),
		cmocka_unit_test(symbol_find_sysv_chain_loop_ends),
		cmocka_unit_test(symbol_find_no_symbols_finds_nothing),
		cmocka_unit_test(symbol_find_version_chooses_definition),
		cmocka_unit_test(symbol_find_version_of_unversioned_library_is_ignored),
		cmocka_unit_test(symbol_query_of_reference_has_version_and_file),
		cmocka_unit_test(symbol_sysv_hash_known_names_give_known_values),
		cmocka_unit_test(symbol_at_address_gives_containing),
	};

	return cmocka_run_group_tests_name("symbol", tests, NULL, NULL);
}
