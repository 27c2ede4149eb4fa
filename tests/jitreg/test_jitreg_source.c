// SPDX-License-Identifier: MIT
/*
 * Sources that are in no file, and are kept for debuggers.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../jitreg/jitreg.h"
#include "cases.h"
#include "jitreg_util.h"

static const char text[] = "def work(n):\n    return n\n";

static void check_file(const char *path, const char *expected)
{
	char found[256] = "";
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_int_equal(fread(found, 1, sizeof(found) - 1, file), strlen(expected));
	fclose(file);
	assert_string_equal(found, expected);
}

static char *keep(const char *name, const char *source)
{
	char *path = NULL;

	assert_int_equal(jitreg_keep_source(name, source, strlen(source), &path), 0);
	assert_string_equal(strrchr(path, '/') + 1, name);
	return path;
}

static void source_is_a_file_with_its_name(void **state)
{
	char *first, *second;
	struct stat before, after;

	(void)state;
	first = keep("<string>", text);
	assert_int_equal(*first, '/');
	check_file(first, text);
	assert_int_equal(stat(first, &before), 0);
	assert_int_equal(before.st_mode & 077, 0);

	second = keep("<string>", text);
	assert_string_equal(first, second);
	assert_int_equal(stat(second, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino); // a debugger may be reading it
	free(second);

	second = keep("<string>", "another\n");
	assert_string_not_equal(first, second);
	check_file(first, text);
	check_file(second, "another\n");
	free(second);

	second = keep("cell.py", text);
	assert_string_not_equal(first, second);
	free(second);
	free(first);
}

static void source_that_is_damaged_is_written_again(void **state)
{
	char *path = keep("damaged", text), *again;

	(void)state;
	assert_int_equal(truncate(path, 3), 0);
	again = keep("damaged", text);
	assert_string_equal(path, again);
	check_file(path, text);
	free(again);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	again = keep("damaged", text);
	check_file(again, text);
	free(again);
	free(path);
	check_file(path = keep("empty", ""), "");
	free(path);
}

static void source_with_a_wrong_name_is_refused(void **state)
{
	char *path = NULL, longest[NAME_MAX + 2];
	const char *const wrong[] = {"", ".", "..", "a/b", "/", longest};

	(void)state;
	memset(longest, 'x', NAME_MAX + 1);
	longest[NAME_MAX + 1] = '\0';
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(jitreg_keep_source(wrong[i], text, strlen(text), &path), -EINVAL);
	assert_int_equal(jitreg_keep_source("x", text, (16u << 20) + 1, &path), -EFBIG);
	assert_null(path);
	free(keep(longest + 1, text));
}

static void source_without_a_folder_is_an_error(void **state)
{
	char *home = strdup(getenv("HOME") ?: "/"), *cache = strdup(getenv("XDG_CACHE_HOME")),
	     *path = NULL;

	(void)state;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(jitreg_keep_source("x", text, strlen(text), &path), -ENOTDIR);
	setenv("XDG_CACHE_HOME", "/proc/none", 1);
	assert_int_equal(jitreg_keep_source("x", text, strlen(text), &path), -ENOTDIR);
	assert_null(path);
	setenv("HOME", home, 1);
	setenv("XDG_CACHE_HOME", cache, 1);
	free(home);
	free(cache);
}

// A process that writes more than it may gets a signal.
static void source_beyond_the_limit_of_files_is_an_error(void **state)
{
	struct rlimit before, limit;
	char *path = NULL;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 4;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(jitreg_keep_source("limited", text, strlen(text), &path), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(path);
	assert_int_equal(util_run("test -z \"$(find $XDG_CACHE_HOME/gorgon/sources -name 'new-*')\""), 0);
}

static void sources_are_kept_up_to_a_number(void **state)
{
	char *newest;

	(void)state;
	assert_int_equal(util_run("rm -rf $XDG_CACHE_HOME/gorgon/sources && "
				  "mkdir -p $XDG_CACHE_HOME/gorgon/sources && cd $XDG_CACHE_HOME/gorgon/sources && "
				  "for i in $(seq 1024); do mkdir $i && echo > $i/x && touch -d @$i $i; done"), 0);
	newest = keep("newest", text);
	check_file(newest, text);
	free(newest);
	assert_int_equal(util_run("cd $XDG_CACHE_HOME/gorgon/sources && test $(ls | wc -l) = 768 && "
				  "! test -e 257 && test -f 258/x && test -f 1024/x"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_is_a_file_with_its_name),
		cmocka_unit_test(source_that_is_damaged_is_written_again),
		cmocka_unit_test(source_with_a_wrong_name_is_refused),
		cmocka_unit_test(source_without_a_folder_is_an_error),
		cmocka_unit_test(source_beyond_the_limit_of_files_is_an_error),
		cmocka_unit_test(sources_are_kept_up_to_a_number),
	};

	return cmocka_run_group_tests_name("jitreg/source", tests, util_setup, NULL);
}
