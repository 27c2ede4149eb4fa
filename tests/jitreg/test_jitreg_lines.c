// SPDX-License-Identifier: MIT
/*
 * DWARF with functions and lines only, from libraries of each kind of compiler output.
 *
 * libdw is the judge: it reads the whole DWARF of a library and what was made of it. Each function must be at its
 * address, with its name and declaration, and each of its addresses must have its file and line. Then DWARF is
 * damaged everywhere: there may be no lines then, but nothing worse may happen.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../jitreg/lines.h"
#include "../jitreg/rust_path.h"
#include "../jitreg/file/object.h"
#include "cases.h"
#include "jitreg_util.h"

#define DELTA UINT64_C(0x10000000)

static const char source[] =
	"template <class T> struct Box { T value; int plus(T other) { return (int)(value + other); } };\n"
	"namespace inner { int shared = 3;\n"
	"	__attribute__((noinline)) static int step(int v)\n"
	"	{\n"
	"		shared += v;\n"
	"		return shared;\n"
	"	}\n"
	"}\n"
	"extern \"C\" int one(int n) { return n + 1; }\n"
	"__attribute__((cold, noinline)) int rare(int n)\n"
	"{\n"
	"	if (n == 7) __builtin_abort();\n"
	"	return inner::step(n) * 3;\n"
	"}\n"
	"struct Base { virtual ~Base() {} virtual int get(int n) { return one(n); } };\n"
	"int both(Base *base, int n)\n"
	"{\n"
	"	Box<long> box = {n};\n"
	"	auto twice = [&](int v) { return v * 2 + inner::step(v); };\n"
	"	if (__builtin_expect(n > 100, 0)) { rare(n); rare(n + 1); __builtin_abort(); }\n"
	"	try { return box.plus(n) + twice(n) + base->get(n); }\n"
	"	catch (...) { return inner::step(n); }\n"
	"}\n"
	"Base *make() { return new Base; }\n";

/* A library's DWARF, what lines.c makes of it, and a file that has this. */
struct made {
	struct jitreg_dwarf *dwarf;
	struct jitreg_part text;
	struct jitreg_lines lines;
	int r;
};

static void open_library(const char *path, struct jitreg_object **object, struct made *m)
{
	const char *reason;

	*m = (struct made){.text = {UINT64_MAX, 0}};
	assert_int_equal(jitreg_object_open(path, -1, object), 0);
	assert_int_equal(jitreg_object_read_layout(*object), 0);
	for (size_t i = 0; i < (*object)->section_count; i++) {
		const struct jitreg_section *s = &(*object)->sections[i];

		if (!(s->flags & SHF_EXECINSTR))
			continue;
		m->text.start = s->vaddr < m->text.start ? s->vaddr : m->text.start;
		m->text.end = s->vaddr + s->size > m->text.end ? s->vaddr + s->size : m->text.end;
	}
	assert_int_equal(jitreg_dwarf_read(*object, (1u << JITREG_DWARF_COUNT) - 1, &m->dwarf, &reason), 0);
}

/* The lines twice, the second time as of a copy. */
static void write_lines(const struct jitreg_object *object, const struct made *m, const char *path)
{
	struct jitreg_lines both = {0};
	struct jitreg_writer w;
	size_t private_size, size;
	uint8_t *bytes;

	assert_true(jitreg_lines_are_sound(&m->lines));
	assert_int_equal(jitreg_lines_append(&both, &m->lines, 0), 0);
	assert_int_equal(jitreg_lines_append(&both, &m->lines, DELTA), 0);
	assert_int_equal(jitreg_writer_begin(&w, ET_DYN, &object->ehdr), 0);
	assert_int_equal(jitreg_lines_write(&w, &both, 1), 0);
	assert_int_equal(jitreg_writer_finish(&w, NULL, &private_size, &bytes, &size), 0);
	util_write(path, bytes, size);
	free(bytes);
	jitreg_writer_deinit(&w);
	jitreg_lines_deinit(&both);
}

static void deinit(struct made *m)
{
	jitreg_dwarf_destroy(m->dwarf);
	jitreg_lines_deinit(&m->lines);
}

/* ---- the judge ---------------------------------------------------------------------- */

struct judge {
	Dwarf *whole, *lines;
	size_t functions, rows;
};

static Dwarf *open_dwarf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);

	assert_non_null(dwarf);
	return dwarf;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void check_line(const struct judge *j, Dwarf_Die *unit, Dwarf_Addr address, uint64_t delta)
{
	Dwarf_Die other;
	Dwarf_Line *want = dwarf_getsrc_die(unit, address), *got;
	int want_line, got_line;

	if (!want || dwarf_lineno(want, &want_line) || !want_line)
		return;
	assert_non_null(dwarf_addrdie(j->lines, address + delta, &other));
	got = dwarf_getsrc_die(&other, address + delta);
	assert_non_null(got);
	assert_int_equal(dwarf_lineno(got, &got_line), 0);
	assert_int_equal(got_line, want_line);
	assert_string_equal(base_name(dwarf_linesrc(got, NULL, NULL)), base_name(dwarf_linesrc(want, NULL, NULL)));
}

struct wanted {
	Dwarf_Addr address;
	Dwarf_Die die;
	bool found;
};

static int match(Dwarf_Die *die, void *ctx)
{
	struct wanted *w = ctx;
	Dwarf_Addr low;

	if (dwarf_lowpc(die, &low) || low != w->address)
		return DWARF_CB_OK;
	w->die = *die;
	w->found = true;
	return DWARF_CB_ABORT;
}

/* An entry must describe the function that was found at the address. */
static void check_entry(const struct judge *j, Dwarf_Die *die, Dwarf_Addr address, uint64_t delta, bool is_cold)
{
	struct wanted w = {.address = address + delta};
	char name[256];
	int want, got;
	Dwarf_Die unit;

	assert_non_null(dwarf_addrdie(j->lines, w.address, &unit));
	dwarf_getfuncs(&unit, match, &w, 0);
	if (!w.found)
		fail_msg("%s at %#jx is not there", dwarf_diename(die), (uintmax_t)address);
	snprintf(name, sizeof(name), "%s%s", dwarf_diename(die), is_cold ? ".cold" : "");
	assert_string_equal(dwarf_diename(&w.die), name);
	if (!dwarf_decl_line(die, &want)) {
		assert_int_equal(dwarf_decl_line(&w.die, &got), 0);
		assert_int_equal(got, want);
		assert_string_equal(base_name(dwarf_decl_file(&w.die)), base_name(dwarf_decl_file(die)));
	}
}

static void check_function(struct judge *j, Dwarf_Die *die, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t off = 0;
	bool is_cold = false;

	while ((off = dwarf_ranges(die, off, &base, &start, &end)) > 0) {
		if (start < 0x100 || start == end) // left out by the linker
			continue;
		j->functions++;
		for (int i = 0; i < 2; i++) {
			check_entry(j, die, start, i * DELTA, is_cold);
			for (Dwarf_Addr at = start; at < end; at++, j->rows++)
				check_line(j, unit, at, i * DELTA);
		}
		is_cold = true;
	}
}

static int visit(Dwarf_Die *die, void *ctx)
{
	Dwarf_Die unit;

	if (dwarf_diename(die) && dwarf_diecu(die, &unit, NULL, NULL))
		check_function(ctx, die, &unit);
	return DWARF_CB_OK;
}

static void judge(const char *whole, const char *lines, size_t functions)
{
	struct judge j = {.whole = open_dwarf(whole), .lines = open_dwarf(lines)};
	Dwarf_Off off = 0, next;
	size_t size;

	while (!dwarf_nextcu(j.whole, off, &next, &size, NULL, NULL, NULL)) {
		Dwarf_Die unit;

		assert_non_null(dwarf_offdie(j.whole, off + size, &unit));
		dwarf_getfuncs(&unit, visit, &j, 0);
		off = next;
	}
	assert_in_range(j.functions, functions, 100000);
	assert_in_range(j.rows, 10 * functions, 100000000);
	dwarf_end(j.whole);
	dwarf_end(j.lines);
}

static void build_source(const char *name, const char *options, const char *text)
{
	util_write(util_path("lines.cc"), text, strlen(text));
	assert_int_equal(util_run("${CXX:-g++} -shared -fPIC -w %s lines.cc -o %s", options, name), 0);
}

static void build(const char *name, const char *options)
{
	build_source(name, options, source);
}

/* ---- tests -------------------------------------------------------------------------- */

static void lines_are_those_of_the_whole_debug_information(void **state)
{
	static const char *const options[] = {
		"-g -O0", "-g -O2", "-gdwarf-4 -O2", "-gdwarf-4 -O0", "-gdwarf-3 -O2", "-gdwarf-5 -O2 -gz",
		"-g -O2 -flto", "-g -O2 -ffunction-sections -Wl,--gc-sections", "-g -O3",
		"-g -O1 -gno-column-info -gno-variable-location-views",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct jitreg_object *object;
		struct made m;

		build("liblines.so", options[i]);
		open_library(util_path("liblines.so"), &object, &m);
		m.r = jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines);
		if (m.r)
			fail_msg("%s: %d", options[i], m.r);
		write_lines(object, &m, util_path("liblines.debug"));
		judge(util_path("liblines.so"), util_path("liblines.debug"), 5);
		jitreg_object_close(object);
		deinit(&m);
	}
}

static bool is_source(const char *path)
{
	return !strcmp(base_name(path), "lines.cc");
}

/* In how many units of a file a debugger looks for a line of lines.cc. @all: how many there are. */
static int count_units_of_source(const char *path, int *all)
{
	Dwarf *dwarf = open_dwarf(path);
	Dwarf_Off off = 0, next;
	size_t size, count;
	int ret = 0;

	*all = 0;
	for (; !dwarf_nextcu(dwarf, off, &next, &size, NULL, NULL, NULL); off = next) {
		Dwarf_Files *files;
		bool has_it;
		Dwarf_Die unit;

		assert_non_null(dwarf_offdie(dwarf, off + size, &unit));
		assert_int_equal(dwarf_getsrcfiles(&unit, &files, &count), 0);
		has_it = is_source(dwarf_diename(&unit));
		for (size_t i = 0; i < count; i++)
			has_it |= is_source(dwarf_filesrc(files, i, NULL, NULL));
		ret += has_it;
		++*all;
	}
	dwarf_end(dwarf);
	return ret;
}

/* gdb reads each unit that has the file of a breakpoint, in each copy. */
static void units_with_functions_of_headers_do_not_name_the_source(void **state)
{
	struct jitreg_object *object;
	char *text;
	size_t size;
	struct made m;
	FILE *out = open_memstream(&text, &size);
	int all;

	(void)state;
	assert_non_null(out);
	fputs("#line 1 \"templates.h\"\n", out);
	for (int i = 0; i < 200; i++)
		fprintf(out, "int template_%d(int n) { return n + %d; }\n", i, i);
	fputs("#line 1 \"lines.cc\"\nint own(int n) { return n; }\n", out);
	assert_int_equal(fclose(out), 0);
	build_source("libheaders.so", "-g -O0", text);
	free(text);
	open_library(util_path("libheaders.so"), &object, &m);
	assert_int_equal(jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines), 0);
	write_lines(object, &m, util_path("libheaders.debug"));
	judge(util_path("libheaders.so"), util_path("libheaders.debug"), 201);
	// One in each of the two copies that the file has.
	assert_int_equal(count_units_of_source(util_path("libheaders.debug"), &all), 2);
	assert_in_range(all, 10, 50);
	jitreg_object_close(object);
	deinit(&m);
}

/* Instructions of four bytes each; the library is only read. */
static void lines_of_another_machine_are_as_right(void **state)
{
	const char *before = getenv("CXX");
	struct jitreg_object *object;
	struct made m;

	(void)state;
	setenv("CXX", "aarch64-linux-gnu-g++ -nostdlib", 1);
	build("libother.so", "-g -O2");
	if (before)
		setenv("CXX", before, 1);
	else
		unsetenv("CXX");
	open_library(util_path("libother.so"), &object, &m);
	assert_int_equal(jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines), 0);
	write_lines(object, &m, util_path("libother.debug"));
	judge(util_path("libother.so"), util_path("libother.debug"), 5);
	jitreg_object_close(object);
	deinit(&m);
}

static void lines_of_a_whole_python_are_small(void **state)
{
	struct jitreg_debug debug;
	struct jitreg_object *object;
	struct made m;

	(void)state;
	assert_int_equal(jitreg_find_debug(SYSTEM_LIBPYTHON, -1, &debug), 0);
	if (!debug.path)
		skip_because("the debug file of libpython is not installed");
	open_library(debug.path, &object, &m);
	assert_int_equal(jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines), 0);
	write_lines(object, &m, util_path("libpython.debug"));
	// The whole DWARF has 20 MB and more.
	assert_in_range(m.lines.sections[JITREG_LINES_INFO].size, 100000, 600000);
	assert_in_range(m.lines.sections[JITREG_LINES_LINE].size, 500000, 3000000);
	jitreg_object_close(object);
	deinit(&m);
	jitreg_debug_deinit(&debug);
}

/* The debug information of the code is in other files, whose names nobody has told. */
static void lines_of_split_debug_information_are_none(void **state)
{
	struct jitreg_object *object;
	struct made m;

	(void)state;
	build("libsplit.so", "-g -O2 -gsplit-dwarf");
	open_library(util_path("libsplit.so"), &object, &m);
	assert_int_equal(jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines), -EOPNOTSUPP);
	jitreg_object_close(object);
	deinit(&m);
}

/* Damaged DWARF may give any lines, but they are in order themselves. */
static void check_damaged(const struct made *m, const struct jitreg_part *text)
{
	struct jitreg_lines lines, copy = {0};
	int r = jitreg_lines_make(m->dwarf, NULL, NULL, text, &lines);

	assert_true(r == 0 || r == -EOPNOTSUPP || r == -ENOEXEC);
	if (!r) {
		assert_true(jitreg_lines_are_sound(&lines));
		assert_int_equal(jitreg_lines_append(&copy, &lines, DELTA), 0);
	}
	jitreg_lines_deinit(&lines);
	jitreg_lines_deinit(&copy);
}

static void lines_of_damaged_debug_information_are_none_or_others(void **state)
{
	static const enum jitreg_dwarf_index indexes[] = {
		JITREG_DWARF_INFO, JITREG_DWARF_ABBREV, JITREG_DWARF_LINE, JITREG_DWARF_LINE_STR,
		JITREG_DWARF_STR, JITREG_DWARF_RANGES, JITREG_DWARF_RNGLISTS,
	};
	static const char *const options[] = {"-g -O2", "-gdwarf-4 -O2"};

	(void)state;
	srandom(1);
	for (size_t o = 0; o < sizeof(options) / sizeof(*options); o++) {
		struct jitreg_object *object;
		struct made m;

		build("libdamaged.so", options[o]);
		open_library(util_path("libdamaged.so"), &object, &m);
		for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++) {
			struct jitreg_dwarf_section *s = &m.dwarf->sections[indexes[i]];
			size_t size = s->size;

			for (unsigned n = 0; s->bytes && n < 1500 / test_every(); n++) {
				size_t at = (size_t)random() % size;
				uint8_t before = s->bytes[at];

				s->bytes[at] = n % 3 ? (uint8_t)random() : n % 2 ? 0xff : 0;
				check_damaged(&m, &m.text);
				s->bytes[at] = before;
			}
			for (unsigned n = 0; s->bytes && n < 200 / test_every(); n++) {
				s->size = (size_t)random() % size;
				check_damaged(&m, &m.text);
			}
			s->size = size;
		}
		check_damaged(&m, &(struct jitreg_part){0, UINT64_MAX});
		check_damaged(&m, &(struct jitreg_part){m.text.end, m.text.start});
		jitreg_object_close(object);
		deinit(&m);
	}
}

/* A site outside of its section, as in a file of the cache that the disk has damaged. */
static void lines_with_sites_elsewhere_are_not_sound(void **state)
{
	struct jitreg_object *object;
	struct jitreg_lines_site *site;
	struct made m;

	(void)state;
	build("libsites.so", "-g -O2");
	open_library(util_path("libsites.so"), &object, &m);
	assert_int_equal(jitreg_lines_make(m.dwarf, NULL, NULL, &m.text, &m.lines), 0);
	assert_true(jitreg_lines_are_sound(&m.lines));
	site = (struct jitreg_lines_site *)m.lines.sites.data;
	site->off = (uint32_t)m.lines.sections[site->section].size - 3;
	assert_false(jitreg_lines_are_sound(&m.lines));
	site->off = 0;
	site->section = JITREG_LINES_COUNT;
	assert_false(jitreg_lines_are_sound(&m.lines));
	site->section = 0;
	site->kind = JITREG_LINES_ADDRESS + 1;
	assert_false(jitreg_lines_are_sound(&m.lines));
	jitreg_object_close(object);
	deinit(&m);
}

static void check_path(const char *linkage_name, size_t count, const char *names)
{
	char path[JITREG_RUST_PATH_MAX];
	const char *name = path;

	assert_int_equal(jitreg_rust_path(linkage_name, path), count);
	for (size_t i = 0; i < count; i++, names += strlen(names) + 1, name += strlen(name) + 1)
		assert_string_equal(name, names);
}

static void rust_paths_are_read_of_both_kinds_of_names(void **state)
{
	(void)state;
	check_path("_ZN2rs5weigh17hd6abd193e0a280b6E", 2, "rs\0weigh");
	check_path("_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE", 5,
		   "core\0ops\0function\0FnOnce\0call_once");
	check_path("_ZN2rs5weigh17hd6abd193e0a280b6E.llvm.123", 2, "rs\0weigh");
	check_path("_RNvCs1234_2rs5weigh", 2, "rs\0weigh");
	check_path("_RNvNtCsbDqzXfLQacH_7mycrate6moduleNtB2_", 0, "");
	check_path("_RNvNtCs15kBYyAo9fc_7mycrate6module7example", 3, "mycrate\0module\0example");
	check_path("_RNvCs15kBYyAo9fc_7mycrates_5again", 2, "mycrate\0again");
	check_path("_RNvC7mycrate4__abc", 2, "mycrate\0_abc");
	// Closures, impl blocks, generic functions, names that are no ASCII, C++, nothing at all.
	check_path("_ZN2rs5weigh28_$u7b$$u7b$closure$u7d$$u7d$17h9e0dd3844a384112E", 0, "");
	check_path("_RNCNvCs1234_2rs5weigh0B3_", 0, "");
	check_path("_RNvMCs1234_2rsNtB2_4Item3new", 0, "");
	check_path("_RINvCs1234_2rs5weighlE", 0, "");
	check_path("_RNvCs1234_2rsu8gdel_5qa", 0, "");
	check_path("_ZN5space4stepEi", 0, "");
	check_path("_ZN", 0, "");
	check_path("_RNv", 0, "");
	check_path("_ZN99999999999999999999rs", 0, "");
	check_path("_RNvC9rs", 0, "");
	check_path("speak_rust", 0, "");
}

static void rust_paths_have_an_end(void **state)
{
	char name[1024] = "_ZN", path[JITREG_RUST_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		strcat(name, "5crate");
	strcat(name, "17h0123456789abcdefE");
	assert_int_equal(jitreg_rust_path(name, path), 0);
	memset(name, 0, sizeof(name));
	strcpy(name, "_R");
	for (size_t i = 0; i < 100; i++)
		strcat(name, "Nt");
	assert_int_equal(jitreg_rust_path(name, path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_whole_debug_information),
		cmocka_unit_test(units_with_functions_of_headers_do_not_name_the_source),
		cmocka_unit_test(lines_of_another_machine_are_as_right),
		cmocka_unit_test(lines_of_a_whole_python_are_small),
		cmocka_unit_test(rust_paths_are_read_of_both_kinds_of_names),
		cmocka_unit_test(rust_paths_have_an_end),
		cmocka_unit_test(lines_of_split_debug_information_are_none),
		cmocka_unit_test(lines_of_damaged_debug_information_are_none_or_others),
		cmocka_unit_test(lines_with_sites_elsewhere_are_not_sound),
	};

	return cmocka_run_group_tests_name("jitreg/lines", tests, util_setup, NULL);
}
