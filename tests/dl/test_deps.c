// SPDX-License-Identifier: MIT
// loader/dl/deps.c, through the public interface. run/test_deps.py has the answers for real modules.

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"

#include <stdio.h>
#include <string.h>

// What callbacks saw, a line each.
struct seen {
	char text[4096];
	unsigned calls, stop_after; // 0: never
};

static bool count(struct seen *seen)
{
	return ++seen->calls != seen->stop_after;
}

static void append(struct seen *seen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void append(struct seen *seen, const char *format, ...)
{
	size_t used = strlen(seen->text);
	va_list args;

	va_start(args, format);
	vsnprintf(seen->text + used, sizeof(seen->text) - used, format, args);
	va_end(args);
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ?: "none";
}

static bool see_dep(void *ctx, const struct gorgon_dep *dep)
{
	append(ctx, "%u %u %s %s %s\n", dep->index, dep->parent, last_part(dep->name),
	       last_part(dep->path), dep->shared ? "shared" : "private");
	return count(ctx);
}

static bool see_import(void *ctx, const struct gorgon_import *import)
{
	// Names with an underscore belong to start-up code of the compiler, which differs from compiler to
	// compiler.
	if (*import->name != '_')
		append(ctx, "%s %s %d\n", last_part(import->object), import->name, import->source);
	return count(ctx);
}

static void deps_for_each_is_breadth_first_and_each_once(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct seen seen = {0};

	(void)state;
	assert_ok(gorgon_deps_for_each(NULL, NULL, test_module("libboth.so"), see_dep, &seen));
	assert_string_equal(seen.text, "0 0 libboth.so libboth.so private\n"
				       "1 0 libmiddle.so libmiddle.so private\n"
				       "2 0 libbottom.so libbottom.so private\n"
				       "3 0 libc.so.6 libc.so.6 shared\n"
				       "4 3 " TEST_LINKER " " TEST_LINKER " shared\n");
	assert_unchanged(&before);
	assert_string_equal(test_notes(), ""); // no constructor has run
}

static void deps_for_each_missing_one_has_no_path(void **state)
{
	struct seen seen = {0};
	struct test_snapshot before;

	(void)state;
	// The first search maps /etc/ld.so.cache, which then stays mapped.
	assert_ok(gorgon_deps_for_each(NULL, NULL, test_module("libmissing.so"), see_dep, &seen));
	before = test_snapshot();
	seen = (struct seen){0};
	assert_ok(gorgon_deps_for_each(NULL, NULL, test_module("libmissing.so"), see_dep, &seen));
	assert_non_null(strstr(seen.text, " 0 libnowhere.so none private\n"));
	assert_unchanged(&before);
}

static void deps_for_each_stops_when_told(void **state)
{
	struct seen seen = {.stop_after = 2};

	(void)state;
	assert_ok(gorgon_deps_for_each(NULL, NULL, test_module("libboth.so"), see_dep, &seen));
	assert_int_equal(seen.calls, 2);
}

// libplain.so needs libbottom.so and has no path to it. It is enough that the base has loaded libbottom.so.
static void deps_for_each_base_is_there_before(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_ok(gorgon_deps_for_each(NULL, test_module("libtop.so"),
				       test_module("dep/libplain.so"), see_dep, &seen));
	assert_string_equal(seen.text, "0 0 libplain.so libplain.so private\n"
				       "1 0 libbottom.so libbottom.so private\n");
	assert_error(gorgon_deps_for_each(NULL, "libno_such.so", test_module("libtop.so"), see_dep,
					  &seen),
		     GORGON_ERROR_MISSING, "libno_such.so");
}

static void deps_for_each_errors_leave_nothing(void **state)
{
	static const char *const share[] = {"libmiddle.so", NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = share};
	struct test_snapshot before = test_snapshot();
	struct seen seen = {0};

	(void)state;
	assert_error(gorgon_deps_for_each(&opts, NULL, test_module("libtop.so"), see_dep, &seen),
		     GORGON_ERROR_ARGUMENT, "but needs libbottom.so");
	assert_error(gorgon_deps_for_each(NULL, NULL, "/nonexistent.so", see_dep, &seen),
		     GORGON_ERROR_OS, "/nonexistent.so");
	opts.size = 1;
	assert_error(gorgon_deps_for_each(&opts, NULL, "libtop.so", see_dep, &seen),
		     GORGON_ERROR_ARGUMENT, "size is 1");
	assert_int_equal(seen.calls, 0);
	assert_unchanged(&before);
}

static bool provide(void *ctx, const char *name, const char *version, void **addr)
{
	(void)version;
	*addr = ctx;
	return !strcmp(name, "nobody_defines_this");
}

static void imports_for_each_provider_answers_before_the_system(void **state)
{
	struct gorgon_provider provider = {.find = provide, .ctx = &provider};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct seen with = {0}, without = {0};
	const char *path = test_module("libundefined.so");

	(void)state;
	assert_ok(gorgon_imports_for_each(NULL, NULL, path, see_import, &without));
	assert_string_equal(without.text, "libundefined.so nobody_defines_this 3\n");
	assert_ok(gorgon_imports_for_each(&opts, NULL, path, see_import, &with));
	assert_string_equal(with.text, "libundefined.so nobody_defines_this 2\n");
}

// Names that the base defines are private, as libpython's names are for an extension.
static void imports_for_each_base_s_names_do_not_cross(void **state)
{
	struct seen with = {0}, without = {0};
	const char *path = test_module("liblate.so");

	(void)state;
	assert_ok(gorgon_imports_for_each(NULL, NULL, path, see_import, &without));
	assert_non_null(strstr(without.text, " 3\n"));
	assert_ok(gorgon_imports_for_each(NULL, test_module("libprovider.so"), path, see_import,
					  &with));
	assert_null(strstr(with.text, " 3\n"));
}

static void imports_for_each_maps_nothing_private(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct seen seen = {0};

	(void)state;
	assert_ok(gorgon_imports_for_each(NULL, NULL, test_module("libcatch.so"), see_import, &seen));
	assert_non_null(strstr(seen.text, "libcatch.so test_note 0\n")); // defined by this program
	assert_unchanged(&before);
	seen = (struct seen){.stop_after = 1};
	assert_ok(gorgon_imports_for_each(NULL, NULL, test_module("libcatch.so"), see_import, &seen));
	assert_int_equal(seen.calls, 1);
	assert_error(gorgon_imports_for_each(NULL, NULL, test_module("libmissing.so"), see_import,
					     &seen),
		     GORGON_ERROR_MISSING, "needs libnowhere.so");
	assert_unchanged(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deps_for_each_is_breadth_first_and_each_once),
		cmocka_unit_test(deps_for_each_missing_one_has_no_path),
		cmocka_unit_test(deps_for_each_stops_when_told),
		cmocka_unit_test(deps_for_each_base_is_there_before),
		cmocka_unit_test(deps_for_each_errors_leave_nothing),
		cmocka_unit_test(imports_for_each_provider_answers_before_the_system),
		cmocka_unit_test(imports_for_each_base_s_names_do_not_cross),
		cmocka_unit_test(imports_for_each_maps_nothing_private),
	};

	return cmocka_run_group_tests_name("deps", tests, test_warm_up, NULL);
}
