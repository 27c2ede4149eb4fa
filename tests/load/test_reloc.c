// SPDX-License-Identifier: MIT
// loader/load/reloc.c and scope.c: the value of each kind of relocation, and which
// definition a reference gets.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "helpers.h"
#include "machine.h"
#include "skip.h"

#include "image/image.h"
#include "ns/ns.h"
#include "process/libc/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define D		  ELF_BUILDER_DATA
#define REL(off, sym, type, addend) {off, ELF64_R_INFO(sym, TEST_R_##type), addend}
#define OBJECT		  ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)

static struct gorgon_error *open_built(struct gorgon_ns *ns, const struct elf_builder *builder,
				       struct gorgon_object **ret)
{
	struct elf_file file = elf_build(builder);
	const char *path = test_temp("reloc.so");

	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	return gorgon_object_open(ns, path, NULL, ret);
}

static void check_refused(const struct elf_builder *builder, enum gorgon_error_code code, const char *text)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;

	assert_error(open_built(ns, builder, &object), code, text);
	assert_null(object);
	test_ns_destroy(ns);
}

static uint64_t bias_of(const struct gorgon_object *object)
{
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	return info.bias;
}

static uint64_t at(uint64_t addr)
{
	return *(uint64_t *)(uintptr_t)addr;
}

static const struct elf_builder_symbol symbols[] = {
	{.name = "test_note", .undefined = true},			   // 1
	{.name = "absent", .info = ELF64_ST_INFO(STB_WEAK, 0), .undefined = true}, // 2
	{.name = "function", .value = ELF_BUILDER_TEXT + 16, .size = 16},  // 3
	{.name = "object", .info = OBJECT, .value = D + 0x200, .size = 24}, // 4
	{0},
};

static void relocate_each_kind_gives_its_value(void **state)
{
	static const Elf64_Rela rela[] = {
		REL(D, 0, RELATIVE, D + 0x10),	     REL(D + 8, 4, 64, 4),
		REL(D + 16, 3, GLOB_DAT, 99),	     REL(D + 24, 4, PC64, 2),
		REL(D + 40, 4, PC32, -4),	     REL(D + 48, 2, 64, 0),
		REL(D + 56, 1, 64, 0),		     REL(D + 64, 0, NONE, 0),
		REL(D + 65, 0, RELATIVE, 0x1000),    REL(D + 80, 0, 64, 0x1234),
	};
	static const Elf64_Rela jmprel[] = {REL(D + 96, 3, JUMP_SLOT, 77 - TEST_SLOT_ADDEND(77))};
	struct elf_builder builder = {
		.symbols = symbols,
		.rela = rela,
		.rela_count = sizeof(rela) / sizeof(*rela),
		.jmprel = jmprel,
		.jmprel_count = 1,
	};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	uint64_t bias, slot;
	int32_t pc32;

	(void)state;
	assert_ok(open_built(ns, &builder, &object));
	bias = bias_of(object);
	assert_int_equal(at(bias + D), bias + D + 0x10);
	assert_int_equal(at(bias + D + 8), bias + D + 0x204);
	assert_int_equal(at(bias + D + 16), bias + ELF_BUILDER_TEXT + 16 + TEST_SLOT_ADDEND(99));
	assert_int_equal(at(bias + D + 24), 0x200 - 24 + 2);
	memcpy(&pc32, (void *)(uintptr_t)(bias + D + 40), 4);
	assert_int_equal(pc32, 0x200 - 40 - 4);
	assert_int_equal(at(bias + D + 48), 0); // weak and not defined
	assert_ptr_equal((void *)(uintptr_t)at(bias + D + 56), (void *)test_note);
	memcpy(&slot, (void *)(uintptr_t)(bias + D + 65), 8); // misaligned
	assert_int_equal(slot, bias + 0x1000);
	assert_int_equal(at(bias + D + 80), 0x1234); // symbol 0 is 0, not the bias
	assert_int_equal(at(bias + D + 96), bias + ELF_BUILDER_TEXT + 16);
	assert_int_equal(((int (*)(void))(uintptr_t)at(bias + D + 96))(), 2);
	test_ns_destroy(ns);
}

static void relocate_size_is_the_symbols(void **state)
{
#ifdef TEST_R_SIZE64
	static const Elf64_Rela rela[] = {REL(D, 4, SIZE64, 1), REL(D + 8, 4, SIZE32, 0)};
	struct elf_builder builder = {.symbols = symbols, .rela = rela, .rela_count = 2};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	uint32_t size32;

	(void)state;
	assert_ok(open_built(ns, &builder, &object));
	assert_int_equal(at(bias_of(object) + D), 25);
	memcpy(&size32, (void *)(uintptr_t)(bias_of(object) + D + 8), 4);
	assert_int_equal(size32, 24);
	test_ns_destroy(ns);
#else
	(void)state;
	skip_because("this machine has no relocations for sizes");
#endif
}

static void relocate_relr_adds_bias_to_each_named_word(void **state)
{
	// An address; a bitmap for words 1, 2 and 63 behind it; another address.
	static const uint64_t relr[] = {D, 1 | 3u << 1 | UINT64_C(1) << 63, D + 0x300};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	struct elf_builder builder = {.relr = relr, .relr_count = 3};
	struct elf_file file = elf_build(&builder);
	const char *path = test_temp("relr.so");
	uint64_t bias;

	(void)state;
	for (uint64_t i = 0; i < 0x320; i += 8)
		memcpy(file.data + D % ELF_BUILDER_ALIGN + i, &i, 8);
	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	assert_ok(gorgon_object_open(ns, path, NULL, &object));
	bias = bias_of(object);
	for (uint64_t i = 0; i < 0x320; i += 8) {
		bool named = i == 0 || i == 8 || i == 16 || i == 63 * 8 || i == 0x300;

		assert_int_equal(at(bias + D + i), i + (named ? bias : 0));
	}
	test_ns_destroy(ns);
}

// A bitmap stands for 63 words, even if none of them is to be relocated.
static void relocate_relr_empty_bitmap_advances(void **state)
{
	static const uint64_t relr[] = {D, 1, 3};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	struct elf_builder builder = {.relr = relr, .relr_count = 3};
	uint64_t bias;

	(void)state;
	assert_ok(open_built(ns, &builder, &object));
	bias = bias_of(object);
	for (uint64_t i = 0; i < 0x320; i += 8)
		assert_int_equal(at(bias + D + i), i == 0 || i == 64 * 8 ? bias : 0);
	test_ns_destroy(ns);
}

// Exactly the words that are written have been checked: an empty bitmap moves the words behind it.
static void relocate_relr_behind_an_empty_bitmap_is_checked(void **state)
{
	static const uint64_t relr[] = {ELF_BUILDER_BSS + 0xe00, 1, 3};
	struct elf_builder builder = {.relr = relr, .relr_count = 3};

	(void)state;
	check_refused(&builder, GORGON_ERROR_FORMAT, "DT_RELR entry 2: 0x24000 is in no writable segment");
}

static void relocate_32_bit_value_too_large_is_refused(void **state)
{
	static const Elf64_Rela rela[] = {REL(D, 3, 32, 0)};
	struct elf_builder builder = {.symbols = symbols, .rela = rela, .rela_count = 1};

	(void)state;
	check_refused(&builder, GORGON_ERROR_UNSUPPORTED, "relocation type " TEST_NUMBER_32 " at 0x22800");
	check_refused(&builder, GORGON_ERROR_UNSUPPORTED, "does not fit into 32 bits; build with -fPIC");
}

static void relocate_tls_without_segment_is_refused(void **state)
{
	static const struct elf_builder_symbol tls[] = {
		{.name = "variable", .info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS), .size = 4}, {0}};
	static const Elf64_Rela rela[] = {REL(D, 1, TLS_MOD, 0)};
	struct elf_builder builder = {.symbols = tls, .rela = rela, .rela_count = 1};

	(void)state;
	check_refused(&builder, GORGON_ERROR_UNSUPPORTED, "thread-local symbol variable: defined in an object without PT_TLS");
}

static void relocate_plain_reference_to_tls_is_refused(void **state)
{
	static const struct elf_builder_symbol tls[] = {
		{.name = "variable", .info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS), .size = 4}, {0}};
	static const Elf64_Rela rela[] = {REL(D, 1, 64, 0)};
	struct elf_builder builder = {.symbols = tls, .rela = rela, .rela_count = 1,
				      .tls_mem_size = 8, .tls_align = 8};

	(void)state;
	check_refused(&builder, GORGON_ERROR_UNSUPPORTED, "variable: referred to as if it were not thread-local");
}

static void relocate_tls_of_plain_system_symbol_is_refused(void **state)
{
	static const struct elf_builder_symbol tls[] = {
		{.name = "test_note", .info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
		 .undefined = true},
		{0}};
	static const Elf64_Rela rela[] = {REL(D, 1, TLS_MOD, 0)};
	struct elf_builder builder = {.symbols = tls, .rela = rela, .rela_count = 1};

	(void)state;
	check_refused(&builder, GORGON_ERROR_UNSUPPORTED, "test_note: the system's definition is not thread-local");
}

// An array that a relocation fills in has a constructor and a destructor.
static void relocate_init_array_entries_are_called(void **state)
{
	static const Elf64_Rela rela[] = {REL(ELF_BUILDER_RW + 0x600, 0, RELATIVE,
					      ELF_BUILDER_TEXT)};
	struct elf_builder builder = {.rela = rela, .rela_count = 1, .init_count = 2,
				      .fini_count = 1};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;

	(void)state;
	assert_ok(open_built(ns, &builder, &object)); // the second entry, 0, is skipped
	gorgon_object_close(object);
	test_ns_destroy(ns);
}

// --- modules of the compiler ---------------------------------------------------------

// One source, linked in several layouts, behaves the same way.
static void relocate_layouts_of_one_library_behave_the_same(void **state)
{
	static const char *const names[] = {"libbasic.so", "libbasic_relr.so", "libbasic_sysv.so",
					    "libbasic_align.so"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *object = test_open(ns, names[i]);
		int **table = SYMBOL(object, int **, "basic_table");
		int *zero = SYMBOL(object, int *, "basic_zero");

		assert_ptr_equal(table[0], SYMBOL(object, int *, "basic_value"));
		assert_ptr_equal(table[3], zero + 4999);
		assert_ptr_equal(table[4], SYMBOL(object, int *(*)(void), "basic_hidden")());
		assert_ptr_equal(table[8], zero + 3);
		assert_null(table[9]);
		assert_int_equal(*table[7], 7);
		assert_int_equal(SYMBOL(object, int (*)(void), "basic_next")(), 42);
		assert_int_equal(SYMBOL(object, int (*)(void), "basic_has_weak")(), 0);
		test_ns_destroy(ns);
	}
}

static void relocate_ifunc_binds_to_what_the_resolver_says(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libifunc.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(int), "ifunc_exported")(1), 1001);
	assert_int_equal(SYMBOL(object, int (*)(int), "ifunc_call")(2), 1001002);
	test_ns_destroy(ns);
}

static void relocate_unique_is_one_per_namespace(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	int *a[2], *b[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		a[i] = SYMBOL(test_open(ns[i], "libunique_a.so"), int *(*)(void), "unique_a_at")();
		b[i] = SYMBOL(test_open(ns[i], "libunique_b.so"), int *(*)(void), "unique_b_at")();
		assert_ptr_equal(a[i], b[i]);
		assert_int_equal(*a[i], 100);
	}
	assert_ptr_not_equal(a[0], a[1]);
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

// If another library uses a definition of a library, the library stays loaded: later libraries must find that definition, too.
static void relocate_unique_keeps_its_definer_loaded(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *a = test_open(ns, "libunique_a.so");
	struct gorgon_object *b = test_open(ns, "libunique_b.so");
	int *(*where)(void) = SYMBOL(b, int *(*)(void), "unique_b_at");

	(void)state;
	gorgon_object_close(a);
	assert_int_equal(*where(), 100);
	*where() = 101;
	gorgon_object_close(b);
	assert_int_equal(gorgon_image_count(), 1);
	where = SYMBOL(test_open(ns, "libunique_b.so"), int *(*)(void), "unique_b_at");
	assert_int_equal(*where(), 101);
	test_ns_destroy(ns);
	assert_int_equal(gorgon_image_count(), 0);
}

static void relocate_versions_bind_to_their_definitions(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libversion_user.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(void), "version_user_old")(), 1);
	assert_int_equal(SYMBOL(object, int (*)(void), "version_user_new")(), 2);
	test_ns_destroy(ns);
}

static void relocate_global_object_answers_later_references(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *late = NULL, *provider = NULL;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("liblate.so"), NULL, &late),
		     GORGON_ERROR_UNRESOLVED, "undefined symbol: global_answer");
	provider = test_open(ns, "libprovider.so");
	// A loaded library that is not global is still not searched.
	assert_error(gorgon_object_open(ns, test_module("liblate.so"), NULL, &late),
		     GORGON_ERROR_UNRESOLVED, "undefined symbol: global_answer");
	assert_ok(gorgon_object_open(ns, test_module("libprovider.so"), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL},
				     &provider));
	late = test_open(ns, "liblate.so");
	assert_int_equal(SYMBOL(late, int (*)(void), "late_answer")(), 43);
	test_ns_destroy(ns);
}

static void relocate_global_object_of_other_namespace_is_not_seen(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct gorgon_object *object;

	(void)state;
	assert_ok(gorgon_object_open(ns[0], test_module("libprovider.so"), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL},
				     &object));
	assert_error(gorgon_object_open(ns[1], test_module("liblate.so"), NULL, &object),
		     GORGON_ERROR_UNRESOLVED, "undefined symbol: global_answer");
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

// Two libraries, each with a "chosen" and a word that refers to it by name.
static uint64_t chosen_of(struct gorgon_ns *ns, const char *name, uint64_t function,
			  const Elf64_Dyn *extra, unsigned flags, uint64_t *bias)
{
	const struct elf_builder_symbol chosen[] = {
		{.name = "chosen", .value = ELF_BUILDER_TEXT + 16 * function, .size = 16}, {0}};
	const Elf64_Rela rela[] = {REL(D, 1, 64, 0)};
	struct elf_builder builder = {
		.soname = name,
		.symbols = chosen,
		.rela = rela,
		.rela_count = 1,
		.extra = extra,
		.extra_count = extra ? 1 : 0,
	};
	struct elf_file file = elf_build(&builder);
	const char *path = test_temp(name);
	struct gorgon_object *object = NULL;

	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	assert_ok(gorgon_object_open(ns, path, &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = flags}, &object));
	*bias = bias_of(object);
	return at(*bias + D);
}

static void scope_global_definition_interposes_unless_symbolic(void **state)
{
	static const Elf64_Dyn symbolic = {DT_SYMBOLIC, {0}}, flag = {DT_FLAGS, {DF_SYMBOLIC}};
	struct gorgon_ns *ns = test_ns();
	uint64_t first, bias, bound;
	uint64_t definition = chosen_of(ns, "libfirst.so", 0, NULL, GORGON_OPEN_GLOBAL, &first);

	(void)state;
	assert_int_equal(definition, first + ELF_BUILDER_TEXT);
	assert_int_equal(chosen_of(ns, "libsecond.so", 1, NULL, 0, &bias), definition);
	bound = chosen_of(ns, "libthird.so", 2, &symbolic, 0, &bias);
	assert_int_equal(bound, bias + ELF_BUILDER_TEXT + 32);
	bound = chosen_of(ns, "libfourth.so", 3, &flag, 0, &bias);
	assert_int_equal(bound, bias + ELF_BUILDER_TEXT + 48);
	test_ns_destroy(ns);
}

// A library with DF_1_NODELETE stays until the namespace is destroyed.
static void object_close_nodelete_library_stays(void **state)
{
	static const Elf64_Dyn nodelete = {DT_FLAGS_1, {DF_1_NODELETE}};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	uint64_t bias;

	(void)state;
	chosen_of(ns, "libstays.so", 0, &nodelete, 0, &bias);
	assert_ok(gorgon_object_open(ns, test_temp("libstays.so"), NULL, &object));
	gorgon_object_close(object);
	gorgon_object_close(object);
	gorgon_object_close(object); // closing once too often does no harm
	assert_int_equal(test_snapshot().objects, 1);
	test_ns_destroy(ns);
	assert_int_equal(test_snapshot().objects, 0);
}

// --- outside: the process, a provider -----------------------------------------------------

TEST_EXPORT int provided_by_host(int value);
TEST_EXPORT int provided_by_host(int value)
{
	return value + 1;
}

static int provided_by_provider(int value)
{
	return value + 2;
}

static bool find_provided(void *ctx, const char *name, const char *version, void **addr)
{
	(void)version;
	++*(int *)ctx;
	if (strcmp(name, "provided_by_host"))
		return false;
	*addr = (void *)provided_by_provider;
	return true;
}

static void scope_process_symbols_are_seen(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libsystem.so");
	char *text = SYMBOL(object, char *(*)(double), "system_format")(1.5);

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(int), "system_provided")(1), 2);
	assert_ptr_equal(SYMBOL(object, FILE *(*)(void), "system_stdout")(), stdout);
	assert_ptr_equal(SYMBOL(object, char ***(*)(void), "system_environ")(), gorgon_environment_list(ns->environment));
	assert_int_equal(SYMBOL(object, int (*)(void), "system_errno")(), 9);
	assert_string_equal(text, "1.50 text");
	free(text);
	test_ns_destroy(ns);
}

static void scope_provider_wins_over_the_process(void **state)
{
	int calls = 0;
	struct gorgon_provider provider = {.find = find_provided, .ctx = &calls};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_ns *ns = NULL;
	struct gorgon_object *object;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	object = test_open(ns, "libsystem.so");
	assert_int_equal(SYMBOL(object, int (*)(int), "system_provided")(1), 3);
	assert_true(calls > 0);
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relocate_each_kind_gives_its_value),
		cmocka_unit_test(relocate_size_is_the_symbols),
		cmocka_unit_test(relocate_relr_adds_bias_to_each_named_word),
		cmocka_unit_test(relocate_relr_empty_bitmap_advances),
		cmocka_unit_test(relocate_relr_behind_an_empty_bitmap_is_checked),
		cmocka_unit_test(relocate_32_bit_value_too_large_is_refused),
		cmocka_unit_test(relocate_tls_without_segment_is_refused),
		cmocka_unit_test(relocate_plain_reference_to_tls_is_refused),
		cmocka_unit_test(relocate_tls_of_plain_system_symbol_is_refused),
		cmocka_unit_test(relocate_init_array_entries_are_called),
		cmocka_unit_test(relocate_layouts_of_one_library_behave_the_same),
		cmocka_unit_test(relocate_ifunc_binds_to_what_the_resolver_says),
		cmocka_unit_test(relocate_unique_is_one_per_namespace),
		cmocka_unit_test(relocate_unique_keeps_its_definer_loaded),
		cmocka_unit_test(relocate_versions_bind_to_their_definitions),
		cmocka_unit_test(relocate_global_object_answers_later_references),
		cmocka_unit_test(relocate_global_object_of_other_namespace_is_not_seen),
		cmocka_unit_test(scope_global_definition_interposes_unless_symbolic),
		cmocka_unit_test(object_close_nodelete_library_stays),
		cmocka_unit_test(scope_process_symbols_are_seen),
		cmocka_unit_test(scope_provider_wins_over_the_process),
	};

	return test_run_with_plans("reloc", tests, sizeof(tests) / sizeof(*tests), 0);
}
