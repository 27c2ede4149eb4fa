// SPDX-License-Identifier: MIT
/*
 * Copies of debug files without the names of the GDB JIT interface.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../jitreg/cache.h"
#include "../jitreg/file/checksum.h"
#include "../jitreg/jitreg.h"
#include "jitreg_util.h"

#define BIAS UINT64_C(0x7f0000000000)

static const char source[] = "struct { int words[6]; } __jit_debug_descriptor;\n"
			     "void __jit_debug_register_code(void) {}\n"
			     "static int snake_count;\n"
			     "__attribute__((noipa)) static int snake_static(void) { return ++snake_count; }\n"
			     "int snake_other(void) { return snake_static(); }\n";

static int set_up(void **state)
{
	if (util_setup(state))
		return -1;
	util_write(util_path("registrar.c"), source, sizeof(source) - 1);
	return util_run("gcc -g -fPIC -shared -Wl,--build-id registrar.c -o whole.so && "
			"objcopy --only-keep-debug --compress-debug-sections whole.so detached.debug && "
			"objcopy --strip-all --add-gnu-debuglink=detached.debug whole.so detached.so");
}

/* Each test has a folder of its own for copies. */
static int begin(void **state)
{
	setenv("XDG_CACHE_HOME", util_path("cache"), 1);
	return util_run("rm -rf cache") || util_trim(state);
}

static struct jitreg_entry *enter(const char *name, struct jitreg_info *info)
{
	struct jitreg_entry *entry;

	assert_int_equal(util_register(util_path(name), BIAS, &entry), 0);
	jitreg_entry_get_info(entry, info);
	return entry;
}

/* The copy has everything that the file has, and two names less. */
static void check_copy(const char *path, const char *original)
{
	size_t size;
	uint8_t *bytes = util_read(path, &size);

	assert_int_equal(jitreg_crc32(bytes, size), JITREG_CACHE_CRC);
	free(bytes);
	assert_int_equal(util_run("for what in 'readelf -n' 'readelf --debug-dump=info,abbrev,line,aranges,str'; do "
				  "  $what %s >was && $what %s >is && cmp was is || exit 1; "
				  "done",
				  original, path),
			 0);
	assert_int_equal(util_run("for file in %s %s; do "
				  "  readelf -sW $file | sed -n '/symtab/,$p' | awk '$4 == \"FUNC\" || $4 == \"OBJECT\" {print $2, $8}' | sort >$(basename $file).names; "
				  "done; "
				  "sed 's/ __jit_debug_.*/ /' %s.names | sort | cmp - $(basename %s).names",
				  original, path, original, path),
			 0);
	// libdw moves all addresses by the difference between the first segments of a library and of its debug file.
	assert_int_equal(util_run("for file in %s %s; do readelf -lW $file | awk '/LOAD/ {print $3, $6}' >$(basename $file).loads; done; "
				  "grep -q 0x %s.loads && cmp $(basename %s).loads %s.loads",
				  original, path, original, path, original),
			 0);
	assert_int_equal(util_run("grep -q snake_static $(basename %s).names && ! grep -q __jit_debug $(basename %s).names", path,
				  path),
			 0);
}

static void copy_of_a_detached_file_has_all_but_the_two_names(void **state)
{
	struct jitreg_info info;
	struct jitreg_entry *entry = enter("detached.so", &info);

	(void)state;
	assert_int_equal(info.debug_kind, JITREG_DEBUG_LINK);
	assert_memory_equal(info.debug_path, getenv("XDG_CACHE_HOME"), strlen(getenv("XDG_CACHE_HOME")));
	check_copy(info.debug_path, "detached.debug");
	jitreg_unregister(entry);
}

/* The code stays where it is: nobody needs it twice. */
static void copy_of_a_library_has_no_code(void **state)
{
	struct jitreg_info info;
	struct jitreg_entry *entry = enter("whole.so", &info);

	(void)state;
	assert_int_equal(info.debug_kind, JITREG_DEBUG_LINK);
	check_copy(info.debug_path, "whole.so");
	assert_int_equal(util_run("readelf -SW %s | grep -q ' [.]text  *NOBITS'", info.debug_path), 0);
	jitreg_unregister(entry);
}

/* GDB would try a build-id first, and find the file. */
static void symfile_refers_to_the_copy_by_name_only(void **state)
{
	struct jitreg_info info;
	struct jitreg_entry *entry = enter("detached.so", &info);

	(void)state;
	util_write(util_path("symfile"), info.symfile, info.symfile_size);
	assert_int_equal(util_run("readelf -p .gnu_debuglink symfile | grep -qF %s", info.debug_path), 0);
	assert_int_equal(util_run("! readelf -SW symfile | grep 'note.gnu.build-id' | grep -v NOBITS"), 0);
	jitreg_unregister(entry);
}

static void copy_is_made_once_and_again_when_somebody_removed_it(void **state)
{
	struct jitreg_entry *entry, *second;
	struct jitreg_info info, again;
	struct stat first, st;
	char path[300];

	(void)state;
	// Files that have just been written may be written once more within the same second: their models are not kept.
	while (stat(util_path("detached.debug"), &st) || time(NULL) - st.st_ctim.tv_sec < 4)
		usleep(100000);
	entry = enter("detached.so", &info);
	snprintf(path, sizeof(path), "%s", info.debug_path);
	assert_int_equal(stat(path, &first), 0);
	second = enter("detached.so", &again);
	assert_string_equal(again.debug_path, path);
	jitreg_unregister(second);
	jitreg_unregister(entry);
	for (int i = 0; i < 2; i++) {
		entry = enter("detached.so", &info); // from what is kept; from the folder
		assert_string_equal(info.debug_path, path);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_ino, first.st_ino);
		jitreg_unregister(entry);
		jitreg_trim();
	}
	entry = enter("detached.so", &info);
	jitreg_unregister(entry);
	assert_int_equal(unlink(path), 0);
	entry = enter("detached.so", &info);
	assert_int_equal(stat(info.debug_path, &st), 0);
	jitreg_unregister(entry);
}

/* A supplementary file is looked for from the folder of the file that names it. */
static void file_that_refers_to_another_by_a_relative_name_is_not_copied(void **state)
{
	static const char *const names[] = {"../other.debug", "/usr/lib/other.debug"};
	struct jitreg_info info;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct jitreg_entry *entry;

		assert_int_equal(util_run("printf '%s\\0aaaaaaaaaaaaaaaaaaaa' >link && "
					  "objcopy --add-section .gnu_debugaltlink=link whole.so with_link%zu.so",
					  names[i], i),
				 0);
		entry = enter(i ? "with_link1.so" : "with_link0.so", &info);
		assert_int_equal(info.debug_kind, i ? JITREG_DEBUG_LINK : JITREG_DEBUG_NAMES);
		jitreg_unregister(entry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(copy_of_a_detached_file_has_all_but_the_two_names, begin),
		cmocka_unit_test_setup(copy_of_a_library_has_no_code, begin),
		cmocka_unit_test_setup(symfile_refers_to_the_copy_by_name_only, begin),
		cmocka_unit_test_setup(copy_is_made_once_and_again_when_somebody_removed_it, begin),
		cmocka_unit_test_setup(file_that_refers_to_another_by_a_relative_name_is_not_copied, begin),
	};

	return cmocka_run_group_tests_name("debug_copy", tests, set_up, NULL);
}
