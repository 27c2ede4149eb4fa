// SPDX-License-Identifier: MIT
// Side by side with the system's linker: relocations, layouts, scopes, versions, search
// paths, constructors and destructors.

#define _GNU_SOURCE
#include "compare.h"
#include "machine.h"
#include "elf_builder.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libtls_host_ie.so refers to this variable.
TEST_EXPORT __thread int test_host_tls = 51;
// libsiblings.so refers to this name, in the version of another library.
TEST_EXPORT int left_get(void);
TEST_EXPORT int left_get(void)
{
	return 9;
}

typedef int get_fn(void);

// --- relocations -----------------------------------------------------------------------

// Whether a file really has relocations of the type that a case is about.
static int has_type(const uint8_t *file, uint32_t type)
{
	const Elf64_Ehdr *ehdr = (const void *)file;
	const Elf64_Shdr *shdr = (const void *)(file + ehdr->e_shoff);

	for (unsigned i = 0; i < ehdr->e_shnum; i++) {
		const Elf64_Rela *rela = (const void *)(file + shdr[i].sh_offset);

		if (shdr[i].sh_type != SHT_RELA)
			continue;
		for (size_t r = 0; r < shdr[i].sh_size / sizeof(*rela); r++)
			if (ELF64_R_TYPE(rela[r].r_info) == type)
				return 1;
	}
	return 0;
}

static void say_types(const char *module, uint32_t types[], size_t count)
{
	size_t size;
	uint8_t *file = test_read(test_module(module), &size);

	for (size_t i = 0; i < count; i++)
		say("%d", has_type(file, types[i]));
	free(file);
}
#define SAY_TYPES(module, ...)                                                                     \
	say_types(module, (uint32_t[]){__VA_ARGS__},                                               \
		  sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void types(const struct linker *linker)
{
	(void)linker;
	SAY_TYPES("libreloc.so", TEST_R_RELATIVE, TEST_R_GLOB_DAT, TEST_R_JUMP_SLOT, TEST_R_64, TEST_R_TLS_MOD,
		  TEST_R_TLS_OFF);
	test_note("|");
#ifdef TEST_LINKER_WRITES_ALL
	SAY_TYPES("libreloc.so", TEST_R_PC32, TEST_R_32, TEST_R_SIZE32, TEST_R_SIZE64);
	SAY_TYPES("libreloc_pc64.so", TEST_R_PC64);
#endif
	SAY_TYPES("libtls_host_ie.so", TEST_R_TLS_TP);
	SAY_TYPES("libtls_desc.so", TEST_R_TLS_DESC);
	SAY_TYPES("libifunc.so", TEST_R_IRELATIVE);
}

static void refuse(const struct linker *linker, const char *module)
{
	void *handle = compare_try(linker, test_module(module));

	if (handle)
		linker->close(handle);
}

#ifdef TEST_LINKER_WRITES_ALL
static void pc64(const struct linker *linker)
{
	void *handle = compare_try(linker, test_module("libreloc_pc64.so"));

	if (handle)
		FIND(linker, handle, void (*)(void), "reloc_pc64")();
}

#endif

// A copy relocation of another library's variable: the system's linker passes over the program's variable.
static void copy_relocation(const struct linker *linker)
{
	static const struct elf_builder_symbol symbols[] = {
		{.name = "dep_value", .undefined = true,
		 .info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .size = sizeof(int)},
		{.name = "copy", .info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		 .value = ELF_BUILDER_DATA, .size = sizeof(int)},
		{0},
	};
	static const char *const needed[] = {"libreloc_dep.so", NULL};
	static const Elf64_Rela rela = {ELF_BUILDER_DATA, ELF64_R_INFO(1, TEST_R_COPY), 0};
	struct elf_file file = elf_build(&(struct elf_builder){
		.soname = "libcopy.so", .needed = needed, .runpath = test_module("dep"),
		.symbols = symbols, .rela = &rela, .rela_count = 1});
	void *handle;

	test_write(test_temp("libcopy.so"), file.data, file.size);
	elf_file_deinit(&file);
	handle = compare_try(linker, test_temp("libcopy.so"));
	if (handle)
		say("%d", *FIND(linker, handle, int *, "copy"));
}

static void textrel(const struct linker *linker)
{
	void *handle = compare_try(linker, test_module("libbasic_textrel.so"));

	if (handle)
		say("%d", FIND(linker, handle, get_fn *, "basic_next")());
}

#ifdef TEST_LINKER_WRITES_ALL
static void overflow(const struct linker *linker)
{
	refuse(linker, "libreloc_overflow.so");
}
#endif

static void ifunc(const struct linker *linker)
{
	void *handle = compare_open(linker, "libifunc.so", 0);

	say("%d", FIND(linker, handle, int (*)(int), "ifunc_call")(1));
	say("%d", FIND(linker, handle, int (*)(int), "ifunc_exported")(2));
	linker->close(handle);
}

static void tls_host(const struct linker *linker)
{
	void *handle = compare_open(linker, "libtls_host_ie.so", 0);
	int *at = FIND(linker, handle, int *(*)(void), "tls_user_host")();

	say("%d %d", *at, at == &test_host_tls);
	linker->close(handle);
}

static void tls_descriptor(const struct linker *linker)
{
	void *handle = compare_open(linker, "libtls_desc.so", 0);

	say("%d", FIND(linker, handle, get_fn *, "tls_next")());
	say("%d", FIND(linker, handle, get_fn *, "tls_local_next")());
	say("%d", FIND(linker, handle, get_fn *, "tls_pointer_is_own")());
	say("%.1f", FIND(linker, handle, double (*)(double, double), "tls_sum")(1.5, 2));
	linker->close(handle);
}

// --- layouts ----------------------------------------------------------------------------

static void basic_in(const struct linker *linker, const char *module)
{
	void *handle = compare_open(linker, module, 0);
	int *const *table = FIND(linker, handle, int *const *, "basic_table");
	int *value = FIND(linker, handle, int *, "basic_value");
	int *zero = FIND(linker, handle, int *, "basic_zero");

	say("%d", FIND(linker, handle, get_fn *, "basic_next")());
	say("%d", FIND(linker, handle, int (*)(int, int), "basic_sum")(2, 3));
	say("%s", FIND(linker, handle, const char *, "basic_text"));
	say("weak %d", FIND(linker, handle, get_fn *, "basic_has_weak")());
	say("%d", table[0] == value && table[3] == zero + 4999 && table[5] == value &&
			  table[4] == FIND(linker, handle, int *(*)(void), "basic_hidden")());
	say("%d %s", *table[7], table[9] ? "more" : "end");
	linker->close(handle);
}

#define BASIC_SAYS "+basic 42 5 private text weak 0 1 7 end -basic"

static void basic(const struct linker *linker)
{
	basic_in(linker, "libbasic.so");
}

static void basic_relr(const struct linker *linker)
{
	basic_in(linker, "libbasic_relr.so");
}

static void basic_sysv(const struct linker *linker)
{
	basic_in(linker, "libbasic_sysv.so");
}

static void basic_gnu(const struct linker *linker)
{
	basic_in(linker, "libbasic_gnu.so");
}

// --- scopes ------------------------------------------------------------------------------

typedef const char *who_fn(void);

static void ask(const struct linker *linker, const char *module)
{
	say("%s", FIND(linker, compare_open(linker, module, 0), who_fn *, "who_asks")());
}

static void who_local(const struct linker *linker)
{
	compare_open(linker, "libwho_first.so", 0);
	ask(linker, "libwho_plain.so");
}

static void who_global(const struct linker *linker)
{
	compare_open(linker, "libwho_first.so", RTLD_GLOBAL);
	ask(linker, "libwho_plain.so");
}

static void who_symbolic(const struct linker *linker)
{
	compare_open(linker, "libwho_first.so", RTLD_GLOBAL);
	ask(linker, "libwho_symbolic.so");
	ask(linker, "libwho_protected.so");
}

static void who_global_closed(const struct linker *linker)
{
	linker->close(compare_open(linker, "libwho_first.so", RTLD_GLOBAL));
	ask(linker, "libwho_plain.so");
}

// A library stays as long as another library is bound to it.
static void who_global_closed_in_use(const struct linker *linker)
{
	void *provider = compare_open(linker, "libprovider.so", RTLD_GLOBAL);
	void *late = compare_open(linker, "liblate.so", 0);

	linker->close(provider);
	say("%d", FIND(linker, late, get_fn *, "late_answer")());
	linker->close(late);
}

static void name_in_program(const struct linker *linker)
{
	void *handle = compare_open(linker, "libsiblings.so", 0);

	test_notes();
	say("%d", FIND(linker, handle, get_fn *, "siblings_get")());
}

static void who_nodelete(const struct linker *linker)
{
	void *handle = compare_open(linker, "libwho_nodelete.so", 0);

	linker->close(handle);
	FIND(linker, compare_open(linker, "libwho_nodelete.so", 0), void (*)(void), "who_probe")();
}

static void who_nodlopen(const struct linker *linker)
{
	refuse(linker, "libwho_nodlopen.so");
}

static void late_local(const struct linker *linker)
{
	compare_open(linker, "libprovider.so", 0);
	refuse(linker, "liblate.so");
}

static void undefined(const struct linker *linker)
{
	refuse(linker, "libundefined.so");
	refuse(linker, "libundefined_dep.so");
}

static void executable(const struct linker *linker)
{
	compare_try(linker, "/proc/self/exe");
}

static void unique(const struct linker *linker)
{
	void *a = compare_open(linker, "libunique_a.so", 0);
	void *b = compare_open(linker, "libunique_b.so", 0);
	int *at = FIND(linker, a, int *(*)(void), "unique_a_at")();

	say("same %d", at == FIND(linker, b, int *(*)(void), "unique_b_at")());
	*at = 101;
	linker->close(a);
	say("%d", *FIND(linker, b, int *(*)(void), "unique_b_at")());
	linker->close(b);
	b = compare_open(linker, "libunique_b.so", 0);
	say("again %d", *FIND(linker, b, int *(*)(void), "unique_b_at")());
}

// --- versions -----------------------------------------------------------------------------

static void versions(const struct linker *linker)
{
	void *user = compare_open(linker, "libversion_user.so", 0);

	say("old %d", FIND(linker, user, get_fn *, "version_user_old")());
	say("new %d", FIND(linker, user, get_fn *, "version_user_new")());
	say("found %d", FIND(linker, user, get_fn *, "version_number")());
}

static void version_unversioned(const struct linker *linker)
{
	void *user = compare_open(linker, "libversion_plain.so", 0);

	say("%d", FIND(linker, user, get_fn *, "version_user_new")());
}

static void version_gone(const struct linker *linker)
{
	refuse(linker, "libversion_broken.so");
	refuse(linker, "libversion_gone.so");
}

// The need names libversion.so, but an earlier library has the same name and version.
static void version_elsewhere(const struct linker *linker)
{
	void *user;

	compare_open(linker, "libversion_rival.so", RTLD_GLOBAL);
	user = compare_open(linker, "libversion_user.so", 0);
	say("old %d", FIND(linker, user, get_fn *, "version_user_old")());
	say("new %d", FIND(linker, user, get_fn *, "version_user_new")());
}

// --- search paths ----------------------------------------------------------------------------

static void search(const struct linker *linker, const char *module, const char *get)
{
	void *handle = compare_try(linker, test_module(module));

	if (handle)
		say("%d", FIND(linker, handle, get_fn *, get)());
}

// Each case runs in a process of its own, because what is loaded already is not searched for.
static void search_own_runpaths(const struct linker *linker)
{
	search(linker, "libtop.so", "top_get");
}

static void search_rpath(const struct linker *linker)
{
	search(linker, "librtop.so", "rtop_get");
}

#ifdef TEST_HAS_LEVELS
static void search_hwcaps(const struct linker *linker)
{
	search(linker, "libhwcap_user.so", "hwcap_user_get");
}
#endif

static void search_missing(const struct linker *linker)
{
	search(linker, "libmissing.so", "missing_get");
}

static void search_runpath(const struct linker *linker)
{
	search(linker, "libutop.so", "utop_get");
}

static void search_lib(const struct linker *linker)
{
	search(linker, "libtoken_lib.so", "token_lib_get");
}

static void search_platform(const struct linker *linker)
{
	search(linker, "libtoken_platform.so", "token_platform_get");
}

// --- constructors and destructors ---------------------------------------------------------

static void order(const struct linker *linker, const char *module)
{
	linker->close(compare_open(linker, module, 0));
}

static void order_chain(const struct linker *linker)
{
	order(linker, "libtop.so");
}

static void order_diamond(const struct linker *linker)
{
	order(linker, "libboth.so");
}

static void order_siblings(const struct linker *linker)
{
	order(linker, "libsiblings.so");
}

static void order_mesh(const struct linker *linker)
{
	order(linker, "libmesh.so");
}

static void order_ring(const struct linker *linker)
{
	order(linker, "libring.so");
}

// A dependency that was loaded before stays, and its constructors do not run again.
static void order_partly_loaded(const struct linker *linker)
{
	void *bottom = compare_open(linker, "dep/libbottom.so", 0);

	order(linker, "libtop.so");
	test_note("|");
	linker->close(bottom);
}

static void order_nested(const struct linker *linker)
{
	void *handle = compare_open(linker, "libnested.so", 0);

	say("%d", *FIND(linker, handle, int *, "nested_result"));
	linker->close(handle);
}

static void order_closing_destructor(const struct linker *linker)
{
	linker->close(compare_open(linker, "libnested_user.so", 0));
}

static void order_self(const struct linker *linker)
{
	say("%d", *FIND(linker, compare_open(linker, "libself.so", 0), int *, "self_seen"));
}

static void order_loading_destructor(const struct linker *linker)
{
	linker->close(compare_open(linker, "libfini_open.so", 0));
}

static void cycle(const struct linker *linker)
{
	void *handle = compare_open(linker, "libcycle_a.so", 0);

	say("%d", FIND(linker, handle, int (*)(int), "cycle_a")(5));
	linker->close(handle);
}

// Tries to load a file that is sound except for what @change does to it.
static void try_built(const struct linker *linker, const char *name, const struct elf_builder *builder,
		      const struct elf_change *changes, size_t count, const char *symbol)
{
	struct elf_file file = elf_build(builder);
	const char *path = test_temp(name);
	void *handle;

	for (size_t i = 0; i < count; i++)
		elf_apply(&file, &changes[i]);
	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	handle = compare_try(linker, path);
	if (handle && symbol)
		say("%s", linker->find(handle, symbol) ? "found" : "not found");
}

static void osabi(const struct linker *linker)
{
	static const struct elf_builder plain = {0};
	static const uint8_t kinds[][2] = {{0, 0}, {0, 1}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 40}, {9, 0}, {255, 0}};
	static const struct elf_change padding = IDENT(EI_PAD + 2, 1);
	char name[32];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct elf_change changes[] = {IDENT(EI_OSABI, kinds[i][0]),
						     IDENT(EI_ABIVERSION, kinds[i][1])};

		snprintf(name, sizeof(name), "abi%zu.so", i);
		say("%u/%u", kinds[i][0], kinds[i][1]);
		try_built(linker, name, &plain, changes, 2, NULL);
	}
	say("padding");
	try_built(linker, "padding.so", &plain, &padding, 1, NULL);
}

// Makes a copy that needs another level of the processor: the bits of GNU_PROPERTY_X86_ISA_1_NEEDED.
#ifdef TEST_HAS_LEVELS
static void try_isa(const struct linker *linker, const char *name, uint32_t isa)
{
	static const uint32_t property[] = {GNU_PROPERTY_X86_ISA_1_NEEDED, sizeof(isa)};
	const char *path = test_temp(name);
	size_t size;
	uint8_t *data = test_read(test_module("libbasic_isa.so"), &size);
	uint8_t *found = memmem(data, size, property, sizeof(property));

	if (!found)
		abort();
	memcpy(found + sizeof(property), &isa, sizeof(isa));
	test_write(path, data, size);
	free(data);
	say("%x", isa);
	compare_try(linker, path);
}

static void isa_levels(const struct linker *linker)
{
	try_isa(linker, "isa1.so", GNU_PROPERTY_X86_ISA_1_BASELINE);
	try_isa(linker, "isa2.so", 0x10000);
	try_isa(linker, "isa3.so", GNU_PROPERTY_X86_ISA_1_BASELINE | 0x80000000);
}
#endif

static void symbol_types(const struct linker *linker)
{
	static const uint8_t types[] = {STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_COMMON, 7, 9, 11, 15};
	char name[32];

	for (size_t i = 0; i < sizeof(types); i++) {
		const struct elf_builder_symbol symbols[] = {
			{.name = "typed", .info = ELF64_ST_INFO(STB_GLOBAL, types[i]), .value = ELF_BUILDER_DATA,
			 .size = 8},
			{0}};

		snprintf(name, sizeof(name), "type%zu.so", i);
		say("%u", types[i]);
		try_built(linker, name, &(struct elf_builder){.symbols = symbols}, NULL, 0, "typed");
	}
}

static void filters(const struct linker *linker)
{
	static const char *const modules[] = {"libfilter.so", "libauxiliary.so"};

	for (size_t i = 0; i < 2; i++) {
		void *handle = compare_try(linker, test_module(modules[i]));

		if (handle)
			say("%d", FIND(linker, handle, get_fn *, "filter_answer")());
	}
}

static void shared_filter(const struct linker *linker)
{
	void *handle = compare_open(linker, "libfilter_user.so", 0);

	say("%d", FIND(linker, handle, get_fn *, "filter_user")());
}

// The library needs a version to which no symbol refers.
static void version_needed(const struct linker *linker)
{
	static const uint16_t weak = VER_FLG_WEAK;
	const struct elf_change flags = FIELD(ELF_VERNAUX, 0, Elf64_Vernaux, vna_flags, weak);
	static const char *const libraries[] = {"libprovides.so", NULL};
	static const char *const versions[] = {"P_1", "P_2", "P_2", "libprovides.so"};
	struct elf_file file = elf_build(
		&(struct elf_builder){.soname = "libprovides.so", .verdef = "P_1"});

	test_write(test_temp("libprovides.so"), file.data, file.size);
	elf_file_deinit(&file);
	for (size_t i = 0; i < 4; i++) {
		const struct elf_builder user = {.needed = libraries, .runpath = "$ORIGIN",
						 .verneed_file = "libprovides.so",
						 .verneed_name = versions[i]};
		char name[32];

		snprintf(name, sizeof(name), "needs%zu.so", i);
		try_built(linker, name, &user, &flags, i == 2, NULL);
	}
}

// The C library has both versions, but getopt in the first only. No sanitizer replaces getopt.
static void version_of_a_replaced_name(const struct linker *linker)
{
	static const char *const libraries[] = {"libc.so.6", NULL}, *const versions[] = {TEST_LIBC_VERSION, "GLIBC_2.34"};
	static const struct elf_builder_symbol symbols[] = {{.name = "getopt", .undefined = true, .version = 3}, {0}};
	static const Elf64_Rela rela[] = {{ELF_BUILDER_DATA, ELF64_R_INFO(1, TEST_R_GLOB_DAT), 0}};

	for (size_t i = 0; i < 2; i++) {
		const struct elf_builder user = {.needed = libraries, .symbols = symbols, .rela = rela,
						 .rela_count = 1, .verneed_file = "libc.so.6",
						 .verneed_name = versions[i]};
		char name[32];

		snprintf(name, sizeof(name), "getopts%zu.so", i);
		try_built(linker, name, &user, NULL, false, NULL);
	}
}

#define RELOC(test, function, text)                                                                \
	{                                                                                          \
		.name = test, .module = "libreloc.so", .probe = function, .says = text             \
	}

static const struct compare_case cases[] = {
	{.name = "reloc_types_are_in_the_modules", .run = types,
	 .says = "1 1 1 1 1 1 | 1 1 1" TEST_LINKER_SAYS},
	RELOC("reloc_relative_points_into_the_object", "reloc_relative", "relative=5 same=1"),
	RELOC("reloc_glob_dat_is_the_dependencys_variable", "reloc_data", "value=31 same=1"),
	RELOC("reloc_jump_slot_calls_the_dependency", "reloc_call", "call=51"),
	RELOC("reloc_64_has_its_addend", "reloc_addend", "word=13 distance=3"),
#ifdef TEST_LINKER_WRITES_ALL
	RELOC("reloc_pc_is_relative_to_its_place", "reloc_pc", "pc32=8"),
	RELOC("reloc_32_holds_an_absolute_number", "reloc_narrow", "absolute=4660"),
	RELOC("reloc_size_is_the_definitions", "reloc_size", "size32=20 size64=20 size64+=120"),
	{.name = "reloc_pc64_is_relative_to_its_place", .run = pc64, .says = "refused",
	 .private_says = "loaded same=1",
	 .why = "a type of the psABI that the system's linker does not know; nothing forbids it"},
	{.name = "reloc_32_that_does_not_fit_is_refused", .run = overflow, .says = "loaded",
	 .private_says = "refused",
	 .why = "the system's linker prints a warning and leaves half an address behind"},
#endif
	RELOC("reloc_dtpmod_dtpoff_reach_the_dependencys_variable", "reloc_tls",
	      "value=17 zero=0 same=1"),
	RELOC("reloc_64_of_the_systems_ifunc_is_what_it_resolves_to", "reloc_system_ifunc",
	      "length=4 same=1"),
	RELOC("reloc_weak_undefined_is_null", "reloc_weak", "call=0 pointer=0"),
	{.name = "reloc_tpoff_reaches_the_programs_variable", .run = tls_host, .says = "51 1"},
	{.name = "reloc_tlsdesc_reaches_own_variables", .run = tls_descriptor,
	 .says = "13 23 1 34.5"},
	{.name = "reloc_irelative_and_ifunc_are_resolved", .run = ifunc, .says = "1001001 1002"},
	{.name = "reloc_copy_in_a_library_is_refused", .run = copy_relocation, .says = "loaded 31",
	 .private_says = "refused",
	 .why = "no linker writes it into a library; it would shadow another object's variable"},
	{.name = "reloc_text_is_refused", .run = textrel, .says = "+basic loaded 42",
	 .private_says = "refused",
	 .why = "would need pages that are writable and executable, and a private copy of all "
		 "text"},

	{.name = "layout_plain_works", .run = basic, .says = BASIC_SAYS},
	{.name = "layout_relr_works", .run = basic_relr, .says = BASIC_SAYS},
	{.name = "layout_sysv_hash_works", .run = basic_sysv, .says = BASIC_SAYS},
	{.name = "layout_gnu_hash_works", .run = basic_gnu, .says = BASIC_SAYS},
	{.name = "layout_alignment_above_the_page_size_is_kept", .module = "libalign.so",
	 .probe = "align_probe", .says = "data=1 zero=1"},

	{.name = "file_of_another_abi_is_refused", .run = osabi,
	 .says = "0/0 loaded 0/1 refused 3/0 loaded 3/1 loaded 3/2 loaded " TEST_ABI_SAYS " 3/40 refused "
		 "9/0 refused 255/0 refused padding refused",
	 TEST_ABI_OURS},
#ifdef TEST_HAS_LEVELS
	{.name = "file_for_another_processor_is_refused", .run = isa_levels,
	 .says = "1 +basic loaded 10000 refused 80000001 refused"},
#endif
	{.name = "symbol_of_an_unknown_type_defines_nothing", .run = symbol_types,
	 .says = "0 loaded found 1 loaded found 2 loaded found 3 loaded not found 4 loaded not found "
		 "5 loaded found 7 loaded not found 9 loaded not found 11 loaded not found "
		 "15 loaded not found"},

	{.name = "scope_filter_is_refused", .run = filters, .says = "loaded 2 loaded 2",
	 .private_says = "refused refused",
	 .why = "nothing of today is one; shared it works, and what it has itself is never run"},
	{.name = "scope_filter_that_is_shared_works", .run = shared_filter, .share = "libfilter.so",
	 .says = "2"},
	{.name = "scope_local_object_is_not_seen", .run = who_local, .says = "+first +plain plain"},
	{.name = "scope_global_object_comes_first", .run = who_global,
	 .says = "+first +plain first"},
	{.name = "scope_symbolic_and_protected_see_themselves", .run = who_symbolic,
	 .says = "+first +symbolic symbolic +protected protected"},
	{.name = "scope_closed_global_object_is_gone", .run = who_global_closed,
	 .says = "+first -first +plain plain"},
	{.name = "scope_closed_global_object_in_use_stays", .run = who_global_closed_in_use,
	 .says = "43"},
	{.name = "scope_programs_name_does_not_capture", .run = name_in_program, .says = "98",
	 .private_says = "88",
	 .why = "the host may have a libpython, or another release of any library, of its own"},
	{.name = "scope_nodelete_object_stays", .run = who_nodelete, .says = "+nodelete nodelete"},
	{.name = "scope_nodlopen_object_is_refused", .run = who_nodlopen, .says = "refused"},
	{.name = "scope_local_provider_is_not_seen", .run = late_local, .says = "refused"},
	{.name = "scope_undefined_symbol_is_refused", .run = undefined, .says = "refused refused"},
	{.name = "scope_executable_is_refused", .run = executable, .says = "refused"},
	{.name = "scope_unique_symbol_is_one_and_stays", .run = unique,
	 .says = "same 1 101 again 101"},

	{.name = "version_old_new_and_default_differ", .run = versions,
	 .says = "old 1 new 2 found 2"},
	{.name = "version_reference_without_one_gets_the_oldest", .run = version_unversioned,
	 .says = "1"},
	{.name = "version_that_is_gone_is_refused", .run = version_gone, .says = "refused refused"},
	{.name = "version_that_is_needed_must_be_there", .run = version_needed,
	 .says = "loaded refused loaded loaded"},
	{.name = "version_of_a_replaced_name_must_be_there", .run = version_of_a_replaced_name,
	 .says = "loaded refused"},
	{.name = "version_need_names_a_file_but_scope_decides", .run = version_elsewhere,
	 .says = "old 11 new 12"},

	{.name = "search_runpath_leads_to_dependencies", .run = search_own_runpaths,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 loaded 123"},
	{.name = "search_rpath_is_inherited", .run = search_rpath,
	 .says = "+bottom1 +bottom2 +plain1 +plain2 +rtop1 +rtop2 loaded 145"},
#ifdef TEST_HAS_LEVELS
	{.name = "search_hwcaps_are_passed_over", .run = search_hwcaps,
	 .says = "+hwcap1 +hwcap2 +hwcap_user1 +hwcap_user2 loaded 28",
	 .private_says = "+hwcap1 +hwcap2 +hwcap_user1 +hwcap_user2 loaded 18",
	 .why = "the plain build is always there, and one build is right for every processor"},
#endif
	{.name = "search_missing_dependency_is_refused", .run = search_missing, .says = "refused"},
	{.name = "search_runpath_is_not_inherited", .run = search_runpath, .says = "refused"},
	{.name = "search_lib_is_expanded", .run = search_lib,
	 .says = "+token1 +token2 +token_lib1 +token_lib2 loaded 18"},
	{.name = "search_platform_is_expanded", .run = search_platform,
	 .says = "+token1 +token2 +token_platform1 +token_platform2 loaded 18"},

	{.name = "order_init_and_fini_of_every_kind", .module = "libinit.so", .probe = "init_probe",
	 .says = "+DT_INIT +early +late argc=1 name=1 end=1 envp=1 -first -atexit -last -DT_FINI"},
	{.name = "order_chain_starts_at_the_bottom", .run = order_chain,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 "
		 "-top2 -top1 -middle2 -middle1 -bottom2 -bottom1"},
	{.name = "order_diamond_runs_each_once", .run = order_diamond,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +both1 +both2 "
		 "-both2 -both1 -middle2 -middle1 -bottom2 -bottom1"},
	{.name = "order_siblings_are_taken_from_the_last", .run = order_siblings,
	 .says = "+right1 +right2 +left1 +left2 +siblings1 +siblings2 "
		 "-siblings2 -siblings1 -left2 -left1 -right2 -right1"},
	{.name = "order_mesh_respects_every_need", .run = order_mesh,
	 .says = "+right1 +right2 +far1 +far2 +knot1 +knot2 +tie1 +tie2 +left1 +left2 "
		 "+mesh1 +mesh2 -mesh2 -mesh1 -left2 -left1 -tie2 -tie1 -knot2 -knot1 "
		 "-far2 -far1 -right2 -right1"},
	{.name = "order_ring_starts_where_the_system_does", .run = order_ring,
	 .says = "+ring_a1 +ring_a2 +ring_b1 +ring_b2 +ring1 +ring2 "
		 "-ring2 -ring1 -ring_b2 -ring_b1 -ring_a2 -ring_a1"},
	{.name = "order_loaded_dependency_stays", .run = order_partly_loaded,
	 .says = "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 "
		 "-top2 -top1 -middle2 -middle1 | -bottom2 -bottom1"},
	{.name = "order_constructor_may_load", .run = order_nested, .by_caller = true,
	 .says = "+nested +basic =nested 5 -nested ~nested -basic"},
	{.name = "order_destructor_may_close", .run = order_closing_destructor, .by_caller = true,
	 .says = "+bottom1 +bottom2 +nested +basic =nested -nested ~nested -bottom2 -bottom1 -basic"},
	{.name = "order_constructor_may_open_its_own", .run = order_self, .says = "1"},
	{.name = "order_destructor_may_load", .run = order_loading_destructor, .by_caller = true,
	 .says = "-fini_open +basic"},
	{.name = "order_cycle_calls_across", .run = cycle, .says = "5"},
};

int main(void)
{
	return COMPARE_RUN("compare_load", cases);
}
