// SPDX-License-Identifier: MIT
// loader/python/pyfiles.c: what is kept of modules' files, and when it counts no more.

#define _GNU_SOURCE
#include "helpers.h"

#include "python/pyfiles.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OLD 1700000000 // a time long ago, for files

static const struct gorgon_pyfile_rules rules = {"abc", {'m', 'a', 'g', '\n'}};

static char folder[200];

static const char *path_of(const char *name)
{
	static char ret[4][400];
	static unsigned next;
	char *path = ret[next++ % 4];

	snprintf(path, sizeof(*ret), "%s/%s", folder, name);
	return path;
}

// A change of a file is always seen in the time of its last status change, which nobody can set. The tests wait until files
// are as old as they have to be.
static void settle(void)
{
	usleep(3100000);
}

static void put(const char *name, const char *contents)
{
	test_write(path_of(name), contents, strlen(contents));
}

static void put_compiled(const char *source, const char *compiled, unsigned flags, const char *code)
{
	struct stat st;
	struct {
		char magic[4];
		uint32_t flags, time, size;
		char code[40];
	} file = {.flags = flags};

	assert_int_equal(stat(path_of(source), &st), 0);
	memcpy(file.magic, rules.magic, 4);
	file.time = (uint32_t)st.st_mtime;
	file.size = (uint32_t)st.st_size;
	strcpy(file.code, code);
	test_write(path_of(compiled), &file, 16 + strlen(code));
}

static const char *source_of(const char *module)
{
	static char ret[100];

	snprintf(ret, sizeof(ret), "%s.py", module);
	return ret;
}

static const char *compiled_of(const char *module)
{
	static char ret[100];

	snprintf(ret, sizeof(ret), "__pycache__/%s.abc.pyc", module);
	return ret;
}

static void set_old(const char *name, time_t time)
{
	struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};

	assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static int make_folder(void **state)
{
	(void)state;
	gorgon_trim();
	snprintf(folder, sizeof(folder), "%s", test_temp("modules"));
	assert_int_equal(test_run("rm -rf %s; mkdir -p %s/__pycache__ %s/package/__pycache__", folder, folder, folder), 0);
	put("module.py", "module");
	put("both.py", "both");
	put("package.py", "not this one");
	put("package/__init__.py", "package");
	put_compiled("module.py", "__pycache__/module.abc.pyc", 0, "code of the module");
	put_compiled("both.py", "__pycache__/both.abc.pyc", 1, "with a hash");
	put_compiled("package/__init__.py", "package/__pycache__/__init__.abc.pyc", 0, "code of the package");
	put("short.py", "");
	put_compiled("short.py", "__pycache__/short.abc.pyc", 0, "");
	put("magic.py", "");
	put_compiled("magic.py", "__pycache__/magic.abc.pyc", 0, "code");
	assert_int_equal(test_run("printf x | dd of=%s conv=notrunc status=none", path_of("__pycache__/magic.abc.pyc")), 0);
	put("pipe.py", "");
	assert_int_equal(mkdir(path_of("__pycache__/pipe.abc.pyc"), 0700), 0);
	for (const char *const *name = (const char *const[]){"rewritten", "longer", "later", NULL}; *name; name++) {
		put(source_of(*name), "source");
		set_old(source_of(*name), OLD);
		put_compiled(source_of(*name), compiled_of(*name), 0, "first");
		set_old(compiled_of(*name), OLD);
	}
	settle();
	return 0;
}

static const char *code_of(const char *name)
{
	static char ret[100];
	const struct gorgon_pyfile *found = gorgon_pyfile_code(&rules, path_of(name));

	if (!found)
		return "unknown";
	snprintf(ret, sizeof(ret), "%.*s", (int)found->code_size, (const char *)found->code);
	gorgon_pyfile_release(found);
	return ret;
}

static uint64_t kept(void)
{
	struct gorgon_kept_stats stats = {.size = sizeof(stats)};

	assert_ok(gorgon_kept_get_stats(&stats));
	assert_true(!stats.import_bytes == !stats.import_count);
	return stats.import_count;
}

static void code_is_what_the_compiled_file_has(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_string_equal(code_of("module.py"), "code of the module");
		assert_string_equal(code_of("package/__init__.py"), "code of the package");
		assert_string_equal(code_of("both.py"), "unknown"); // it has a hash
		assert_string_equal(code_of("package.py"), "unknown");
		assert_string_equal(code_of("nothing.py"), "unknown");
	}
	assert_int_equal(kept(), 2);
}

// An interpreter whose compiled files have another tag, or another magic number, does not get code
// that an interpreter with this tag and number has read.
static void rules_keep_results_apart(void **state)
{
	static const struct gorgon_pyfile_rules others[] = {{"abd", {'m', 'a', 'g', '\n'}}, {"abc", {'m', 'a', 'h', '\n'}}};

	(void)state;
	assert_string_equal(code_of("module.py"), "code of the module");
	assert_null(gorgon_pyfile_code(&others[0], path_of("module.py")));
	assert_null(gorgon_pyfile_code(&others[1], path_of("module.py")));
	assert_string_equal(code_of("module.py"), "code of the module");
}

// A compiled file of equal size with its old time, a source of another size with its old time, and a source of another time.
static void changed_sources_and_compiled_files_are_seen(void **state)
{
	(void)state;
	assert_string_equal(code_of("rewritten.py"), "first");
	assert_string_equal(code_of("longer.py"), "first");
	assert_string_equal(code_of("later.py"), "first");
	assert_int_equal(kept(), 3);
	put_compiled("rewritten.py", compiled_of("rewritten"), 0, "other");
	set_old(compiled_of("rewritten"), OLD);
	put("longer.py", "longer source");
	set_old("longer.py", OLD);
	set_old("later.py", OLD + 1);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(code_of("rewritten.py"), i ? "other" : "unknown");
		assert_string_equal(code_of("longer.py"), "unknown");
		assert_string_equal(code_of("later.py"), "unknown");
		if (!i)
			settle();
	}
}

// One without code, one of another Python, and a folder.
static void odd_compiled_files_are_not_kept(void **state)
{
	(void)state;
	assert_string_equal(code_of("short.py"), "unknown");
	assert_string_equal(code_of("magic.py"), "unknown");
	assert_string_equal(code_of("pipe.py"), "unknown");
	assert_int_equal(kept(), 0);
}

static void limits_hold(void **state)
{
	struct gorgon_kept_stats stats = {.size = sizeof(stats)};

	(void)state;
	code_of("module.py"), code_of("package/__init__.py"), code_of("later.py");
	assert_ok(gorgon_kept_get_stats(&stats));
	assert_int_equal(stats.import_count, 3);
	code_of("module.py"); // the package was used longest ago
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, stats.import_bytes - 1, GORGON_KEEP_SECONDS);
	assert_int_equal(kept(), 2);
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, 0, GORGON_KEEP_SECONDS);
	assert_int_equal(kept(), 0);
	assert_false(gorgon_pyfile_is_on());
	assert_string_equal(code_of("module.py"), "unknown");
	assert_ok(gorgon_keep(NULL));
	assert_string_equal(code_of("module.py"), "code of the module");
	gorgon_trim();
	assert_int_equal(kept(), 0);
	code_of("module.py");
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, GORGON_KEEP_IMPORT_BYTES, 1);
	usleep(1100000);
	assert_int_equal(kept(), 0);
	assert_ok(gorgon_keep(NULL));
}

// An entry that somebody has stays as it is; until then all have the same.
static void held_entries_stay(void **state)
{
	const struct gorgon_pyfile *code = gorgon_pyfile_code(&rules, path_of("module.py")),
				   *same = gorgon_pyfile_code(&rules, path_of("module.py"));

	(void)state;
	assert_ptr_equal(code, same);
	gorgon_pyfile_release(same);
	gorgon_trim();
	assert_int_equal(kept(), 0);
	assert_memory_equal(code->code, "code of the module", code->code_size);
	gorgon_pyfile_release(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(code_is_what_the_compiled_file_has),
		fresh_unit_test(rules_keep_results_apart),
		fresh_unit_test(limits_hold),
		fresh_unit_test(held_entries_stay),
		fresh_unit_test(odd_compiled_files_are_not_kept),
		fresh_unit_test(changed_sources_and_compiled_files_are_seen),
	};

	return cmocka_run_group_tests_name("pyfiles", tests, make_folder, NULL);
}
