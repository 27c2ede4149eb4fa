// SPDX-License-Identifier: MIT
/*
 * Symfiles with DWARF inside: every address in it has moved, and nothing else has changed.
 *
 * The linker is the judge. The same source is linked twice, the second time with the load bias as the place of its
 * first segment: the sections of DWARF in the second file are what the symfile of the first one must have, byte by
 * byte. That covers each kind of place where compilers write addresses, and each place that must stay as it is.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/group.h"
#include "../jitreg/dwarf/fixups.h"
#include "../jitreg/jitreg.h"
#include "cases.h"
#include "jitreg_util.h"

#define BIAS      UINT64_C(0x7f0000000000)
#define BIAS_TEXT "0x7f0000000000"

/*
 * Templates, a function in two parts, lexical blocks, inlined and unused functions,
 * thread-local and static variables, addresses as constants.
 */
static const char source[] =
	"template <class T, T (*F)(T)> struct Twice {\n"
	"	static T call(T v) { T first = F(v); return F(first); }\n"
	"};\n"
	"static int hidden = 5;\n"
	"int shown = 6;\n"
	"thread_local int mine = 3;\n"
	"__attribute__((noinline)) static int inc(int v) { hidden += v; return v + hidden; }\n"
	"static inline int spread(int n)\n"
	"{\n"
	"	int sum = 0;\n"
	"	for (int i = 0; i < n; i++) {\n"
	"		int square = i * i;\n"
	"		if (square & 1) { sum += inc(square); }\n"
	"		else { int half = square / 2; sum -= half; }\n"
	"	}\n"
	"	return sum;\n"
	"}\n"
	"__attribute__((cold)) int rare(int n) { return inc(n) * 3; }\n"
	"int other(int n) { return spread(n) + spread(n + shown); }\n"
	"int both(int n, const char *text)\n"
	"{\n"
	"	const int *address = &hidden;\n"
	"	if (__builtin_expect(n > 100, 0)) return rare(n) + text[0];\n"
	"	try { return Twice<int, inc>::call(n) + *address + mine + spread(n); }\n"
	"	catch (...) { return 0; }\n"
	"}\n"
	"extern \"C\" __attribute__((visibility(\"hidden\"))) int unused(int n)\n"
	"{\n"
	"	int twice = 2 * n; { int thrice = inc(twice); return thrice; }\n"
	"}\n";

/* Assembled from files: "tests/jitreg/jitreg_NAME.s". */
static void copy_source(const char *name)
{
	char from[64];
	uint8_t *text;
	size_t size;

	snprintf(from, sizeof(from), "tests/jitreg/jitreg_%s", name);
	text = util_read(from, &size);
	util_write(util_path(name), text, size);
	free(text);
}

static int setup(void **state)
{
	int r = util_setup(state);

	util_write(util_path("moved.cc"), source, sizeof(source) - 1);
	copy_source("indexed.s");
	copy_source("repeated.s");
	copy_source("dwz.s");
	copy_source("dwz_alt.s");
	return r;
}

struct elf_file {
	uint8_t *bytes;
	size_t size;
	Elf *elf;
};

static struct elf_file open_file(const char *name)
{
	struct elf_file ret;

	ret.bytes = util_read(util_path(name), &ret.size);
	elf_version(EV_CURRENT);
	ret.elf = elf_memory((char *)ret.bytes, ret.size);
	assert_non_null(ret.elf);
	return ret;
}

static void close_file(struct elf_file *file)
{
	elf_end(file->elf);
	free(file->bytes);
}

static const char *name_of(Elf *elf, const GElf_Shdr *shdr)
{
	size_t index;

	assert_int_equal(elf_getshdrstrndx(elf, &index), 0);
	return elf_strptr(elf, index, shdr->sh_name);
}

static Elf_Data *find_data(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, &shdr));
		if (!strcmp(name_of(elf, &shdr), name))
			return elf_rawdata(scn, NULL);
	}
	return NULL;
}

static Elf *open_symfile(const struct jitreg_entry *entry)
{
	struct jitreg_info info;
	Elf *elf;

	jitreg_entry_get_info(entry, &info);
	elf = elf_memory((char *)info.symfile, info.symfile_size);
	assert_non_null(elf);
	return elf;
}

static void set_dwarf(struct jitreg_entry *entry, bool whole)
{
	const char *reason = "none";
	int r = jitreg_entry_set_dwarf(entry, whole, &reason);

	if (r)
		fail_msg("%s: %s", strerror(-r), reason);
}

/* All DWARF of @want, a file that was linked for the right address, must be in the symfile. */
static void compare_dwarf(struct jitreg_entry *entry, const struct elf_file *want,
			  const char *what)
{
	Elf *symfile = open_symfile(entry);
	Elf_Scn *scn = NULL;
	size_t count = 0;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(want->elf, scn))) {
		Elf_Data *data = elf_rawdata(scn, NULL), *found;
		const char *name;

		assert_non_null(gelf_getshdr(scn, &shdr));
		name = name_of(want->elf, &shdr);
		if (strncmp(name, ".debug_", 7) != 0)
			continue;
		found = find_data(symfile, name);
		if (!found || found->d_size != data->d_size)
			fail_msg("%s: %s has %zu bytes, %zu expected", what, name,
				 found ? found->d_size : 0, data->d_size);
		for (size_t i = 0; i < data->d_size; i++) {
			if (((char *)found->d_buf)[i] != ((char *)data->d_buf)[i])
				fail_msg("%s: %s differs at %#zx", what, name, i);
		}
		count++;
	}
	assert_in_range(count, 4, 15);
	elf_end(symfile);
}

/*
 * Link at 0 and at BIAS, apply @change to the first file, register it as if it were at BIAS, and compare with the
 * second.
 */
static void check_source(const char *compile, const char *change)
{
	struct jitreg_entry *entry;
	struct elf_file want, from;

	if (util_run("%s -Wl,-Ttext-segment=0 -o from.so && "
		     "%s -Wl,-Ttext-segment=" BIAS_TEXT " -o want.so",
		     compile, compile))
		fail_msg("%s", compile);
	want = open_file("want.so");
	from = open_file("from.so");
	// There must be something to move.
	assert_memory_not_equal(find_data(from.elf, ".debug_info")->d_buf,
				find_data(want.elf, ".debug_info")->d_buf,
				find_data(want.elf, ".debug_info")->d_size);
	close_file(&from);
	assert_int_equal(util_run("%s", change), 0);
	assert_int_equal(util_register(util_path("from.so"), BIAS, &entry), 0);
	set_dwarf(entry, true);
	compare_dwarf(entry, &want, compile);
	jitreg_unregister(entry);
	close_file(&want);
}

static void set_dwarf_any_compiler_option_moves_addresses_as_linker(void **state)
{
	static const char *const flags[] = {
		"-g -gdwarf-4 -O0",
		"-g -gdwarf-4 -O2",
		"-g -gdwarf-5 -O0",
		"-g -gdwarf-5 -O2",
		"-g -gdwarf-2 -O2",
		"-g -gdwarf-3 -O2",
		"-g3 -gdwarf-5 -O2",
		"-g -gdwarf-5 -O2 -flto",
		"-g -gdwarf-5 -O2 -gdwarf64",
		"-g -gdwarf-4 -O2 -gno-as-locview-support",
		"-g -gdwarf-5 -O2 -gvariable-location-views=incompat5",
		"-g -gdwarf-4 -O2 -fdebug-types-section",
		"-g -gdwarf-5 -O2 -fdebug-types-section",
		"-g -gdwarf-4 -O2 -ffunction-sections -Wl,--gc-sections",
		"-g -gdwarf-5 -O2 -ffunction-sections -Wl,--gc-sections",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		char compile[256];

		snprintf(compile, sizeof(compile), "g++ %s -fPIC -shared moved.cc", flags[i]);
		check_source(compile, "true");
	}
}

static void set_dwarf_compressed_sections_are_inflated(void **state)
{
	static const char compile[] = "g++ -g -O2 -fPIC -shared moved.cc";

	(void)state;
	check_source(compile, "objcopy --compress-debug-sections=zlib from.so");
	check_source(compile, "objcopy --compress-debug-sections=zlib-gnu from.so");
}

/* Some readers take a section that is compressed to a thousandth of its size for damaged. */
static void fixups_find_well_compressed_section_is_read(void **state)
{
	struct jitreg_object *object = NULL;
	struct jitreg_dwarf *dwarf;
	const char *reason = "none";

	(void)state;
	assert_int_equal(util_run("gcc -shared -nostdlib repeated.s -o repeated.so && "
				  "objcopy --compress-debug-sections=zlib repeated.so"),
			 0);
	assert_int_equal(jitreg_object_open(util_path("repeated.so"), -1, &object), 0);
	assert_int_equal(jitreg_dwarf_read(object, JITREG_DWARF_ALL, &dwarf, &reason), 0);
	assert_int_equal(jitreg_fixups_find(dwarf, &reason), 0);
	assert_int_equal(dwarf->sections[JITREG_DWARF_INFO].site_count, 1);
	assert_int_equal(dwarf->sections[JITREG_DWARF_INFO].sites[0], 12);
	jitreg_dwarf_destroy(dwarf);
	jitreg_object_close(object);
}

static void set_dwarf_indexed_addresses_are_moved_in_their_table(void **state)
{
	(void)state;
	check_source("gcc -shared -nostdlib indexed.s", "true");
}

static void set_dwarf_detached_file_is_read(void **state)
{
	struct jitreg_entry *entry;
	struct elf_file want;

	(void)state;
	assert_int_equal(util_run("g++ -g -O2 -fPIC -shared moved.cc -o whole.so && "
				  "g++ -g -O2 -fPIC -shared moved.cc -Wl,-Ttext-segment=" BIAS_TEXT
				  " -o want.so && objcopy --only-keep-debug whole.so whole.debug && "
				  "objcopy --strip-debug --add-gnu-debuglink=whole.debug whole.so "
				  "apart.so"),
			 0);
	want = open_file("want.so");
	assert_int_equal(util_register(util_path("apart.so"), BIAS, &entry), 0);
	set_dwarf(entry, true);
	compare_dwarf(entry, &want, "detached");
	jitreg_unregister(entry);
	close_file(&want);
}

/* Its DWARF is found by build-id; it is compressed, of version 5, from link-time optimisation, and has 20 MB. */
static void set_dwarf_system_libpython_has_all_sections(void **state)
{
	struct jitreg_entry *entry;
	struct jitreg_info info;
	Elf *symfile;

	(void)state;
	if (access(SYSTEM_LIBPYTHON, R_OK)) {
		skip_because("no %s here", SYSTEM_LIBPYTHON);
	}
	assert_int_equal(util_register(SYSTEM_LIBPYTHON, BIAS, &entry), 0);
	jitreg_entry_get_info(entry, &info);
	if (info.debug_kind != JITREG_DEBUG_BUILD_ID) {
		jitreg_unregister(entry);
		skip_because("the debug file of libpython is not installed");
	}
	set_dwarf(entry, true);
	symfile = open_symfile(entry);
	assert_in_range(find_data(symfile, ".debug_info")->d_size, 1 << 20, 1 << 26);
	assert_non_null(find_data(symfile, ".debug_loclists"));
	elf_end(symfile);
	jitreg_unregister(entry);
}

/* Everything but DWARF and the table of names stays as it was. */
static void set_dwarf_other_sections_keep_number_and_contents(void **state)
{
	static const char *const kept[] = {".eh_frame", ".symtab", ".strtab", ".gnu_debuglink"};
	struct jitreg_entry *small, *whole;
	Elf *from, *to;
	size_t count;

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &small), 0);
	assert_int_equal(util_register(util_path("self.so"), BIAS, &whole), 0);
	set_dwarf(whole, true);
	from = open_symfile(small);
	to = open_symfile(whole);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		Elf_Data *data = find_data(from, kept[i]), *found = find_data(to, kept[i]);

		assert_int_equal(found->d_size, data->d_size);
		assert_memory_equal(found->d_buf, data->d_buf, data->d_size);
	}
	assert_int_equal(elf_getshdrnum(from, &count), 0);
	for (size_t i = 1; i < count; i++) {
		GElf_Shdr a, b;

		assert_non_null(gelf_getshdr(elf_getscn(from, i), &a));
		assert_non_null(gelf_getshdr(elf_getscn(to, i), &b));
		assert_string_equal(name_of(from, &a), name_of(to, &b));
		assert_int_equal(a.sh_type, b.sh_type);
		assert_int_equal(a.sh_addr, b.sh_addr);
		assert_int_equal(a.sh_flags, b.sh_flags);
		assert_int_equal(a.sh_link, b.sh_link);
		assert_int_equal(a.sh_info, b.sh_info);
	}
	elf_end(from);
	elf_end(to);
	jitreg_unregister(small);
	jitreg_unregister(whole);
}

static void set_dwarf_there_and_back_replaces_the_entry_in_the_list(void **state)
{
	struct jitreg_entry *first, *second;
	struct jitreg_info small, whole, again;
	size_t count, bytes, before = util_symfile_bytes();

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &first), 0);
	assert_int_equal(util_register(util_path("self.so"), 2 * BIAS, &second), 0);
	count = jitreg_count();
	bytes = util_symfile_bytes();
	jitreg_entry_get_info(first, &small);

	set_dwarf(first, true);
	jitreg_entry_get_info(first, &whole);
	assert_ptr_not_equal(whole.symfile, small.symfile);
	assert_true(whole.symfile_size > small.symfile_size);
	assert_int_equal(jitreg_count(), count);
	// what comes again comes last
	assert_ptr_equal(second->listing->debug.base.next_entry, &first->listing->debug.base);
	assert_ptr_equal(first->listing->debug.base.symfile_addr, whole.symfile);
	assert_int_equal(first->listing->debug.serial, jitreg_debug_root.serial);
	set_dwarf(first, true);
	jitreg_entry_get_info(first, &again);
	assert_ptr_equal(again.symfile, whole.symfile);

	set_dwarf(first, false);
	jitreg_entry_get_info(first, &again);
	assert_ptr_equal(again.symfile, small.symfile);
	assert_int_equal(again.symfile_size, small.symfile_size);
	assert_int_equal(util_symfile_bytes(), bytes);
	set_dwarf(first, false);
	set_dwarf(second, true);
	jitreg_unregister(first);
	jitreg_unregister(second);
	assert_int_equal(util_symfile_bytes(), before);
}

/* The DWARF is refused; the reason contains @fragment, and the entry is as it was. */
static void assert_refused(struct jitreg_entry *entry, int want, const char *fragment)
{
	struct jitreg_info before, after;
	const char *reason = "none";
	int r;

	jitreg_entry_get_info(entry, &before);
	r = jitreg_entry_set_dwarf(entry, true, &reason);
	if (r != want || !strstr(reason, fragment))
		fail_msg("%d \"%s\", %d \"%s\" expected", r, reason, want, fragment);
	jitreg_entry_get_info(entry, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void assert_file_refused(const char *name, int want, const char *fragment)
{
	struct jitreg_entry *entry;

	assert_int_equal(util_register(util_path(name), BIAS, &entry), 0);
	assert_refused(entry, want, fragment);
	jitreg_unregister(entry);
}

static void set_dwarf_without_debug_information_is_refused(void **state)
{
	(void)state;
	assert_file_refused("names.so", -ENODATA, "no debug information in the file");
}

static void set_dwarf_split_is_refused(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		assert_int_equal(util_run("g++ -g -gdwarf-%d -gsplit-dwarf -fPIC -shared moved.cc "
					  "-o split.so",
					  version),
				 0);
		assert_file_refused("split.so", -EOPNOTSUPP, "split (.dwo files)");
	}
}

/* main.so with DW_FORM_GNU_..._alt, alt.so, and want.so with both in one, at BIAS. */
static void build_supplemented(const char *altlink)
{
	int r = util_run(
		"gcc -c dwz_alt.s -o alt.o && gcc -c dwz.s -o main.o && "
		"gcc -c -Wa,--defsym,MERGED=1 dwz.s -o merged.o && "
		"gcc -shared -nostdlib -Wl,--build-id alt.o -o alt.so && "
		"gcc -shared -nostdlib main.o -Wl,--just-symbols=alt.o -o main.so && "
		"gcc -shared -nostdlib -Wl,-Ttext-segment=" BIAS_TEXT " merged.o alt.o -o want.so && "
		"objcopy -O binary --only-section=.note.gnu.build-id alt.so note && "
		"(printf '%s\\0'; tail -c 20 note) > link && "
		"objcopy --add-section .gnu_debugaltlink=link main.so",
		altlink);

	assert_int_equal(r, 0);
}

static void check_supplemented(const char *altlink)
{
	struct jitreg_entry *entry;
	struct elf_file want;

	build_supplemented(altlink);
	want = open_file("want.so");
	assert_int_equal(util_register(util_path("main.so"), BIAS, &entry), 0);
	set_dwarf(entry, true);
	compare_dwarf(entry, &want, altlink);
	jitreg_unregister(entry);
	close_file(&want);
}

static void set_dwarf_supplementary_file_is_put_behind(void **state)
{
	(void)state;
	check_supplemented("alt.so");
	check_supplemented(util_path("alt.so"));
}

static void set_dwarf_supplementary_file_missing_or_other_is_refused(void **state)
{
	(void)state;
	build_supplemented("nowhere/alt.so");
	assert_file_refused("main.so", -ENOENT, "supplementary file (dwz)");
	build_supplemented("alt.so");
	assert_int_equal(util_run("gcc -shared -nostdlib -Wl,--build-id=0x0123 alt.o -o alt.so"), 0);
	assert_file_refused("main.so", -ENOENT, "supplementary file (dwz)");
	assert_int_equal(util_run("objcopy --remove-section=.gnu_debugaltlink main.so"), 0);
	assert_file_refused("main.so", -ENOENT, "supplementary file (dwz)");
}

static void set_dwarf_supplementary_file_with_addresses_is_refused(void **state)
{
	(void)state;
	build_supplemented("alt.so");
	assert_int_equal(util_run("id=$(tail -c 20 note | od -An -tx1 | tr -d ' \\n') && "
				  "gcc -shared -nostdlib -Wl,--build-id=0x$id main.o "
				  "-Wl,--just-symbols=alt.o -o alt.so"),
			 0);
	assert_file_refused("main.so", -EOPNOTSUPP, "belongs elsewhere");
}

/* Change a byte of a section of DWARF, whatever it means. */
static void damage(const char *name, const struct elf_file *good)
{
	uint8_t *bad = malloc(good->size);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	memcpy(bad, good->bytes, good->size);
	while ((scn = elf_nextscn(good->elf, scn))) {
		assert_non_null(gelf_getshdr(scn, &shdr));
		if (!strncmp(name_of(good->elf, &shdr), ".debug_", 7) && rand() % 2)
			bad[shdr.sh_offset + (size_t)rand() % shdr.sh_size] =
				(uint8_t)(rand() % 2 ? rand() : 0xff);
	}
	util_write(util_path(name), bad, good->size);
	free(bad);
}

static void set_dwarf_damaged_supplementary_file_leaves_nothing_behind(void **state)
{
	struct elf_file file, supplement;
	size_t fds = util_fd_count(), bytes = util_symfile_bytes(), moved = 0,
	       rounds = 3000 / test_every();

	(void)state;
	build_supplemented("alt.so");
	file = open_file("main.so");
	supplement = open_file("alt.so");
	srand(1);
	for (size_t i = 0; i < rounds; i++) {
		struct jitreg_entry *entry;
		const char *reason;

		damage("alt.so", &supplement);
		if (i % 2)
			damage("main.so", &file);
		assert_int_equal(util_register(util_path("main.so"), BIAS, &entry), 0);
		moved += !jitreg_entry_set_dwarf(entry, true, &reason);
		jitreg_unregister(entry);
	}
	assert_in_range(moved, 1, rounds - 1);
	assert_int_equal(util_fd_count(), fds);
	assert_int_equal(util_symfile_bytes(), bytes);
	close_file(&file);
	close_file(&supplement);
}

static void set_dwarf_of_foreign_symfile_is_refused(void **state)
{
	struct jitreg_entry *from, *entry;
	struct jitreg_info info;

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &from), 0);
	jitreg_entry_get_info(from, &info);
	assert_int_equal(jitreg_register_symfile(info.symfile, info.symfile_size, &entry), 0);
	assert_refused(entry, -ENODATA, "made by somebody else");
	jitreg_unregister(entry);
	jitreg_unregister(from);
}

static void set_dwarf_while_lock_is_held_is_busy(void **state)
{
	struct jitreg_entry *entry;

	(void)state;
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	jitreg_lock();
	assert_refused(entry, -EBUSY, "at this moment");
	jitreg_unlock();
	set_dwarf(entry, true);
	jitreg_unregister(entry);
}

static void set_dwarf_after_file_has_changed_is_refused(void **state)
{
	struct jitreg_entry *entry;

	(void)state;
	assert_int_equal(util_run("cp self.so changing.so"), 0);
	assert_int_equal(util_register(util_path("changing.so"), BIAS, &entry), 0);
	assert_int_equal(util_run("echo >> changing.so"), 0);
	assert_refused(entry, -ESTALE, "is another one by now");
	assert_int_equal(util_run("rm changing.so"), 0);
	assert_refused(entry, -ENOENT, "cannot be read again");
	jitreg_unregister(entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_dwarf_any_compiler_option_moves_addresses_as_linker),
		cmocka_unit_test(set_dwarf_compressed_sections_are_inflated),
		cmocka_unit_test(fixups_find_well_compressed_section_is_read),
		cmocka_unit_test(set_dwarf_indexed_addresses_are_moved_in_their_table),
		cmocka_unit_test(set_dwarf_detached_file_is_read),
		cmocka_unit_test(set_dwarf_system_libpython_has_all_sections),
		cmocka_unit_test(set_dwarf_other_sections_keep_number_and_contents),
		cmocka_unit_test(set_dwarf_there_and_back_replaces_the_entry_in_the_list),
		cmocka_unit_test(set_dwarf_without_debug_information_is_refused),
		cmocka_unit_test(set_dwarf_split_is_refused),
		cmocka_unit_test(set_dwarf_supplementary_file_is_put_behind),
		cmocka_unit_test(set_dwarf_supplementary_file_missing_or_other_is_refused),
		cmocka_unit_test(set_dwarf_supplementary_file_with_addresses_is_refused),
		cmocka_unit_test(set_dwarf_damaged_supplementary_file_leaves_nothing_behind),
		cmocka_unit_test(set_dwarf_of_foreign_symfile_is_refused),
		cmocka_unit_test(set_dwarf_while_lock_is_held_is_busy),
		cmocka_unit_test(set_dwarf_after_file_has_changed_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
