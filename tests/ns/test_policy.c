// SPDX-License-Identifier: MIT
// loader/ns/policy.c

#define _GNU_SOURCE
#include "helpers.h"

#include "ns/policy.h"

#include <dlfcn.h>
#include <string.h>

static bool shared(const char *name)
{
	return gorgon_policy_is_shared(name, NULL, NULL, NULL);
}

static void policy_is_shared_process_wide_libraries_are(void **state)
{
	static const char *const names[] = {
		"libc.so.6",	  "libm.so.6",	   "libpthread.so.0", "ld-linux-x86-64.so.2",
		"libgcc_s.so.1",  "libstdc++.so.6", "libblas.so.3",    "libgfortran.so.5",
		"libnss_dns.so.2", "libasan.so.8",  "libopenblas.so.0", "libnsl.so.1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!shared(names[i]))
			fail_msg("%s is private", names[i]);
}

static void policy_is_shared_others_are_private(void **state)
{
	static const char *const names[] = {
		"libpython3.11.so.1.0", "libsqlite3.so.0", "libz.so.1",	 "libffi.so.8",
		"libexpat.so.1",	"libc.so",	   "libc.so.61", "xlibc.so.6",
		"_ssl.cpython-311-x86_64-linux-gnu.so",	   "libnsl.so.2", "libcrypto.so.3", "",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (shared(names[i]))
			fail_msg("%s is shared", names[i]);
}

static void policy_is_shared_last_part_of_a_path_counts(void **state)
{
	(void)state;
	assert_true(shared("/opt/lib/libc.so.6"));
	assert_false(shared("/libc.so.6/libz.so.1"));
}

static void policy_is_shared_options_override_and_private_wins(void **state)
{
	static const char *const z[] = {"libz.so.*", NULL}, *const blas[] = {"libblas*", NULL};
	const char *reason = NULL;

	(void)state;
	assert_true(gorgon_policy_is_shared("libz.so.1", z, NULL, &reason));
	assert_string_equal(reason, "shared by option");
	assert_false(gorgon_policy_is_shared("libblas.so.3", NULL, blas, &reason));
	assert_string_equal(reason, "private by option");
	assert_false(gorgon_policy_is_shared("libz.so.1", z, z, &reason));
	assert_string_equal(reason, "private by option");
	assert_false(gorgon_policy_is_shared("libffi.so.8", z, blas, &reason));
	assert_string_equal(reason, "private by default");
	assert_true(gorgon_policy_is_shared("libc.so.6", NULL, NULL, &reason));
	assert_non_null(strstr(reason, "malloc"));
}

struct seen {
	int count;
	bool libc, empty;
};

static void see(void *ctx, const char *pattern, const char *reason)
{
	struct seen *seen = ctx;

	seen->count++;
	seen->libc |= !strcmp(pattern, "libc.so.6");
	seen->empty |= !*pattern || !reason || !*reason;
}

static void policy_for_each_gives_patterns_with_reasons(void **state)
{
	struct seen seen = {0};

	(void)state;
	gorgon_policy_for_each(see, &seen);
	assert_true(seen.count > 20);
	assert_true(seen.libc);
	assert_false(seen.empty);
}

static void policy_is_python_symbol_by_prefix(void **state)
{
	(void)state;
	assert_true(gorgon_policy_is_python_symbol("PyList_New"));
	assert_true(gorgon_policy_is_python_symbol("_PyRuntime"));
	assert_false(gorgon_policy_is_python_symbol("pyexpat"));
	assert_false(gorgon_policy_is_python_symbol("_py"));
	assert_false(gorgon_policy_is_python_symbol(""));
}

static struct gorgon_ns *ns_with(const char *share, const char *keep_private)
{
	// The lists are copied: these arrays end before the namespace does.
	const char *shares[] = {share, NULL}, *keeps[] = {keep_private, NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = shares, .keep_private = keeps};
	struct gorgon_ns *ns = NULL;

	assert_ok(gorgon_ns_create(&opts, &ns));
	return ns;
}

static void assert_refused(const char *share, const char *keep_private, const char *text)
{
	const char *shares[] = {share, NULL}, *keeps[] = {keep_private, NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = shares, .keep_private = keeps};
	struct gorgon_ns *ns = NULL;

	assert_error(gorgon_ns_create(&opts, &ns), GORGON_ERROR_ARGUMENT, text);
	assert_null(ns);
}

static void ns_create_what_must_be_shared_cannot_be_private(void **state)
{
	static const char *const patterns[] = {"libc.so.6", "ld-linux*", "*", "lib*", "libc*", "*.so.?"};

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		assert_refused(NULL, patterns[i], patterns[i]);
	assert_refused(NULL, "libc*",
		       "private \"libc*\": takes in libc.so.6, which cannot be private: owns malloc");
	test_ns_destroy(ns_with(NULL, "lib[!c]*"));
	test_ns_destroy(ns_with(NULL, "libcrypto*"));
}

// The start-up code of a sanitizer would end the process.
static void open_what_must_be_shared_is_refused(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, "lib[alt]san*");
	struct gorgon_object *object = NULL;

	(void)state;
	assert_error(gorgon_object_open(ns, "libc.so.6", NULL, &object), GORGON_ERROR_ARGUMENT,
		     "libc.so.6, which cannot be private: owns malloc");
	assert_error(gorgon_object_open(ns, "libasan.so.8", NULL, &object), GORGON_ERROR_ARGUMENT,
		     "libasan.so.8, which cannot be private: a sanitizer's runtime");
	test_ns_destroy(ns);
}

static void ns_create_libpython_cannot_be_shared(void **state)
{
	(void)state;
	assert_refused("libpython3*", NULL, "a libpython cannot be shared");
	test_ns_destroy(ns_with("lib*", NULL));
}

static void ns_create_pattern_with_a_folder_is_refused(void **state)
{
	(void)state;
	assert_refused("/usr/lib/libz.so.1", NULL, "share \"/usr/lib/libz.so.1\": matches nothing");
	assert_refused(NULL, "*/libz.so.1", "private \"*/libz.so.1\": matches nothing");
}

static void ns_create_keep_private_makes_a_copy(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, "libm.so.*");
	struct gorgon_object *object = NULL;
	double (*private_cos)(double);

	(void)state;
	assert_ok(gorgon_object_open(ns, "libm.so.6", NULL, &object));
	private_cos = SYMBOL(object, double (*)(double), "cos");
	assert_ptr_not_equal((void *)private_cos, dlsym(RTLD_DEFAULT, "cos"));
	assert_true(private_cos(0) > 0.99);
	test_ns_destroy(ns);
}

// libplain.so needs libbottom.so and has no path of its own to it: the system is asked by
// name, finds nothing, and says so.
static void ns_create_share_asks_the_system(void **state)
{
	struct gorgon_ns *ns = ns_with("libbottom.so", NULL);
	struct gorgon_object *object;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("dep/libplain.so"), NULL, &object),
		     GORGON_ERROR_MISSING, "needs libbottom.so, which is shared: ");
	test_ns_destroy(ns);
}

// libtop.so has a path to libmiddle.so, which only it knows: the system loads that file,
// once for all namespaces.
static void ns_create_share_follows_the_run_path(void **state)
{
	struct gorgon_ns *ns[2] = {ns_with("lib[mb]*.so", NULL), ns_with("lib[mb]*.so", NULL)};
	struct gorgon_object *object;
	void *middle[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_ok(gorgon_object_open(ns[i], test_module("libtop.so"), NULL, &object));
		middle[i] = SYMBOL(object, void *, "middle_get");
	}
	assert_non_null(middle[0]);
	assert_ptr_equal(middle[0], middle[1]);
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_is_shared_process_wide_libraries_are),
		cmocka_unit_test(policy_is_shared_others_are_private),
		cmocka_unit_test(policy_is_shared_last_part_of_a_path_counts),
		cmocka_unit_test(policy_is_shared_options_override_and_private_wins),
		cmocka_unit_test(policy_for_each_gives_patterns_with_reasons),
		cmocka_unit_test(policy_is_python_symbol_by_prefix),
		cmocka_unit_test(ns_create_what_must_be_shared_cannot_be_private),
		cmocka_unit_test(open_what_must_be_shared_is_refused),
		cmocka_unit_test(ns_create_libpython_cannot_be_shared),
		cmocka_unit_test(ns_create_pattern_with_a_folder_is_refused),
		cmocka_unit_test(ns_create_keep_private_makes_a_copy),
		cmocka_unit_test(ns_create_share_asks_the_system),
		cmocka_unit_test(ns_create_share_follows_the_run_path),
	};

	return cmocka_run_group_tests_name("policy", tests, test_warm_up, NULL);
}
