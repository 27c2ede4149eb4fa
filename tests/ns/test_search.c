// SPDX-License-Identifier: MIT
// loader/ns/search.c and ldcache.c

#define _GNU_SOURCE
#include "elf_builder.h"
#include "machine.h"
#include "helpers.h"

#include "image/ldcache.h"
#include "ns/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct gorgon_error *open_module(const char *name, int *result)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	struct gorgon_error *err = gorgon_object_open(ns, test_module(name), NULL, &object);
	char getter[64];

	if (!err) {
		// librtop.so -> rtop_get
		strcpy(getter, name + 3);
		strcpy(strchr(getter, '.'), "_get");
		*result = SYMBOL(object, int (*)(void), getter)();
	}
	test_ns_destroy(ns);
	test_notes();
	return err;
}

static void search_runpath_with_origin_finds_own_dependencies(void **state)
{
	int result = 0;

	(void)state;
	assert_ok(open_module("libtop.so", &result));
	assert_int_equal(result, 123);
}

static void search_rpath_is_inherited_by_dependencies(void **state)
{
	int result = 0;

	(void)state;
	assert_ok(open_module("librtop.so", &result));
	assert_int_equal(result, 145);
}

static void search_runpath_is_not_inherited(void **state)
{
	int result;

	(void)state;
	assert_error(open_module("libutop.so", &result), GORGON_ERROR_MISSING, "libbottom.so");
}

static void search_ld_library_path_helps(void **state)
{
	int result = 0;

	(void)state;
	setenv("LD_LIBRARY_PATH", test_module("dep"), 1);
	assert_ok(open_module("libutop.so", &result));
	assert_int_equal(result, 146);
	unsetenv("LD_LIBRARY_PATH");
}

static char *find(const char *name)
{
	char *path = NULL;

	assert_ok(gorgon_search(name, NULL, &path));
	return path;
}

// The first library has the right name but is for another machine, the second is right.
static void search_library_for_other_machine_is_passed_over(void **state)
{
	struct elf_file file = elf_build(&(struct elf_builder){0});
	char list[2048] = "", *path;

	(void)state;
	mkdir(test_temp("arm"), 0700);
	mkdir(test_temp("text"), 0700);
	mkdir(test_temp("good"), 0700);
	test_write(test_temp("good/libsearched.so"), file.data, file.size);
	elf_apply(&file, &(struct elf_change)EHDR(e_machine, TEST_OTHER_MACHINE));
	test_write(test_temp("arm/libsearched.so"), file.data, file.size);
	test_write(test_temp("text/libsearched.so"), "GROUP ( libother.so )\n", 22);
	elf_file_deinit(&file);
	strcat(strcat(strcat(list, test_temp("arm")), ":"), test_temp("text"));
	strcat(strcat(strcat(list, "::/nonexistent:"), test_temp("good")), ":");
	setenv("LD_LIBRARY_PATH", list, 1);
	path = find("libsearched.so");
	unsetenv("LD_LIBRARY_PATH");
	assert_string_equal(path, test_temp("good/libsearched.so"));
	free(path);
}

static void search_system_library_comes_from_the_cache(void **state)
{
	char *path = find("libpython" TEST_PYTHON ".so.1.0");
	char *cached = NULL;

	(void)state;
	assert_int_equal(gorgon_ldcache_find("libpython" TEST_PYTHON ".so.1.0", &cached), 0);
	assert_non_null(cached);
	assert_string_equal(path, cached);
	assert_int_equal(access(path, R_OK), 0);
	free(path);
	free(cached);
}

static bool count_entry(void *ctx, const char *name, const char *path)
{
	assert_true(*name && *path == '/');
	return ++*(int *)ctx < 5;
}

static void ldcache_for_each_gives_names_with_paths_until_told(void **state)
{
	char *path = NULL;
	int count = 0;

	(void)state;
	assert_int_equal(gorgon_ldcache_for_each(count_entry, &count), 0);
	assert_int_equal(count, 5);
	assert_int_equal(gorgon_ldcache_find("libdoes_not_exist.so.9", &path), 0);
	assert_null(path);
}

static void search_absent_name_tells_where_was_looked(void **state)
{
	char *path = NULL;

	(void)state;
	assert_error(gorgon_search("libdoes_not_exist.so.9", NULL, &path), GORGON_ERROR_MISSING,
		     "LD_LIBRARY_PATH, /etc/ld.so.cache and the default directories");
	assert_null(path);
}

// A failure to open any file says nothing about the file, so the error names this failure.
static void search_without_descriptors_names_that(void **state)
{
	struct rlimit limit, none;
	struct gorgon_error *err;
	char *path = NULL;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = gorgon_search("libm.so.6", NULL, &path);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_error(err, GORGON_ERROR_OS, "libm.so.6: cannot look for it: Too many open files");
	assert_null(path);
}

static void search_relative_path_becomes_absolute(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	struct gorgon_object_info info;
	char *cwd = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir(test_module("")), 0);
	assert_ok(gorgon_object_open(ns, "./libtop.so", NULL, &object));
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
	gorgon_object_get_info(object, &info);
	assert_int_equal(*info.path, '/');
	assert_int_equal(SYMBOL(object, int (*)(void), "top_get")(), 123);
	test_ns_destroy(ns);
	test_notes();
}

// DT_NEEDED with a slash is a path, which may have tokens; a run path with braces and
// with text around its token.
static void search_tokens_in_paths_are_replaced(void **state)
{
	static const char *const needed[] = {"$ORIGIN/lib/libinner.so", NULL};
	struct elf_file file = elf_build(&(struct elf_builder){0});
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;

	(void)state;
	mkdir(test_temp("lib"), 0700);
	test_write(test_temp("lib/libinner.so"), file.data, file.size);
	test_write(test_temp("lib/libbraced.so"), file.data, file.size);
	elf_file_deinit(&file);
	file = elf_build(&(struct elf_builder){.soname = "libouter.so", .needed = needed});
	test_write(test_temp("libouter.so"), file.data, file.size);
	elf_file_deinit(&file);
	assert_ok(gorgon_object_open(ns, test_temp("libouter.so"), NULL, &object));

	file = elf_build(&(struct elf_builder){
		.needed = (const char *const[]){"libbraced.so", NULL},
		.runpath = "/$OTHER:${ORIGIN}/../$UNKNOWN:${ORIGIN}/./lib"});
	test_write(test_temp("libbraces.so"), file.data, file.size);
	elf_file_deinit(&file);
	assert_ok(gorgon_object_open(ns, test_temp("libbraces.so"), NULL, &object));
	test_ns_destroy(ns);
}

static void search_needed_path_that_is_absent_names_user_and_path(void **state)
{
	static const char *const needed[] = {"$ORIGIN/absent/libinner.so", NULL};
	struct elf_file file = elf_build(&(struct elf_builder){.needed = needed});
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;

	(void)state;
	test_write(test_temp("libouter.so"), file.data, file.size);
	elf_file_deinit(&file);
	assert_error(gorgon_object_open(ns, test_temp("libouter.so"), NULL, &object),
		     GORGON_ERROR_MISSING, "libouter.so: needs ");
	assert_error(gorgon_object_open(ns, test_temp("libouter.so"), NULL, &object),
		     GORGON_ERROR_MISSING, "/absent/libinner.so");
	test_ns_destroy(ns);
}

// Twice the same library by name and by path is one object.
static void search_name_already_loaded_is_not_searched(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *first = test_open(ns, "libbasic.so"), *second = NULL;

	(void)state;
	assert_ok(gorgon_object_open(ns, "libbasic.so", NULL, &second));
	assert_ptr_equal(first, second);
	test_ns_destroy(ns);
	test_notes();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_runpath_with_origin_finds_own_dependencies),
		cmocka_unit_test(search_rpath_is_inherited_by_dependencies),
		cmocka_unit_test(search_runpath_is_not_inherited),
		cmocka_unit_test(search_ld_library_path_helps),
		cmocka_unit_test(search_library_for_other_machine_is_passed_over),
		cmocka_unit_test(search_system_library_comes_from_the_cache),
		cmocka_unit_test(ldcache_for_each_gives_names_with_paths_until_told),
		cmocka_unit_test(search_absent_name_tells_where_was_looked),
		cmocka_unit_test(search_without_descriptors_names_that),
		cmocka_unit_test(search_relative_path_becomes_absolute),
		cmocka_unit_test(search_tokens_in_paths_are_replaced),
		cmocka_unit_test(search_needed_path_that_is_absent_names_user_and_path),
		cmocka_unit_test(search_name_already_loaded_is_not_searched),
	};

	unsetenv("LD_LIBRARY_PATH");
	return cmocka_run_group_tests_name("search", tests, test_warm_up, NULL);
}
