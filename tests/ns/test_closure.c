// SPDX-License-Identifier: MIT
// loader/ns/closure.c: a library is shared only with all that it needs.
//
// Every case CASE has a directory and names of its own, because what a file needs is read
// once and a name that the system has loaded is not searched again. They are
//
//	libuser.so  needs  libgomp-CASE-outer.so  needs  ...
//
// where libgomp-*.so are on the built-in list.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "helpers.h"

#include "ns/closure.h"
#include "dl/dl.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/system.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *dir; // of the running case

static const char *in_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return test_temp(path);
}

static void start(const char *name)
{
	dir = name;
	mkdir(test_temp(name), 0700);
}

// Writes a library with a function and, perhaps, an undefined name.
static void write_file(const char *name, const char *soname, const char *const *needed, const char *undefined)
{
	const struct elf_builder_symbol with[] = {{.name = undefined, .undefined = true},
						  {.name = "answer"}, {0}};
	struct elf_builder builder = {.soname = soname,
				      .needed = needed,
				      .runpath = "$ORIGIN",
				      .symbols = undefined ? with : with + 1};
	struct elf_file file = elf_build(&builder);

	test_write(in_dir(name), file.data, file.size);
	elf_file_deinit(&file);
}

static void write_library(const char *name, const char *const *needed, const char *undefined)
{
	write_file(name, name, needed, undefined);
}

static struct gorgon_ns *ns_with(const char *share, const char *keep_private)
{
	const char *shares[] = {share, NULL}, *keeps[] = {keep_private, NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = shares, .keep_private = keeps};
	struct gorgon_ns *ns = NULL;

	assert_ok(gorgon_ns_create(&opts, &ns));
	return ns;
}

// Whether a namespace that has opened libuser.so has @name as a private object. Otherwise the system has loaded it.
static bool is_private(struct gorgon_ns *ns, const char *name)
{
	bool private, system;

	gorgon_lock();
	private = gorgon_ns_find_name(ns, name) != NULL;
	system = gorgon_ns_has_system(ns, name);
	gorgon_unlock();
	assert_int_not_equal(private, system);
	return private;
}

static struct gorgon_error *open_user(struct gorgon_ns *ns)
{
	struct gorgon_object *object;

	return gorgon_object_open(ns, in_dir("libuser.so"), NULL, &object);
}

// Why a file that matches @pattern is private; valid until the next call.
static const char *judge(struct gorgon_ns *ns, const char *name, const char *pattern)
{
	static char text[512];
	struct gorgon_verdict verdict;

	gorgon_lock();
	assert_ok(gorgon_closure_judge(ns, in_dir(name), NULL, &verdict));
	gorgon_unlock();
	assert_string_equal(verdict.rule.pattern, pattern);
	assert_int_equal(verdict.shared, !verdict.obstacle);
	snprintf(text, sizeof(text), "%s", verdict.obstacle ?: "none");
	gorgon_verdict_deinit(&verdict);
	return text;
}

// The chain of libraries because of which libgomp-CASE-outer.so is private.
static const char *obstacle(struct gorgon_ns *ns)
{
	char name[64];

	snprintf(name, sizeof(name), "libgomp-%s-outer.so", dir);
	return judge(ns, name, "libgomp-*.so*");
}

static void closure_all_shared_is_shared(void **state)
{
	struct gorgon_ns *ns[2];

	(void)state;
	start("all");
	write_library("libgomp-all-inner.so", NULL, NULL);
	write_library("libgomp-all-outer.so", NAMES("libgomp-all-inner.so", "libc.so.6"), NULL);
	write_library("libuser.so", NAMES("libgomp-all-outer.so", "libc.so.6"), NULL);
	for (int i = 0; i < 2; i++) {
		ns[i] = ns_with(NULL, NULL);
		assert_ok(open_user(ns[i]));
		assert_false(is_private(ns[i], "libgomp-all-outer.so"));
		assert_string_equal(obstacle(ns[i]), "none");
	}
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

static void closure_with_a_private_library_is_private(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL);

	(void)state;
	start("chain");
	write_library("liblast.so", NULL, NULL);
	write_library("libgomp-chain-inner.so", NAMES("libc.so.6", "liblast.so"), NULL);
	write_library("libgomp-chain-outer.so", NAMES("libgomp-chain-inner.so"), NULL);
	write_library("libuser.so", NAMES("libgomp-chain-outer.so"), NULL);
	assert_ok(open_user(ns));
	assert_true(is_private(ns, "libgomp-chain-outer.so"));
	assert_true(is_private(ns, "libgomp-chain-inner.so"));
	assert_true(is_private(ns, "liblast.so"));
	assert_string_equal(obstacle(ns), "needs libgomp-chain-inner.so, which needs liblast.so, which is "
					  "private by default");
	test_ns_destroy(ns);
}

// Two namespaces ask about the same files: each has its own answer.
static void closure_options_of_a_namespace_decide(void **state)
{
	struct gorgon_ns *plain = ns_with(NULL, NULL), *share = ns_with("liblast.so", NULL);
	struct gorgon_ns *keep = ns_with("liblast.so", "libgomp-options-inner.so");

	(void)state;
	start("options");
	write_library("liblast.so", NULL, NULL);
	write_library("libgomp-options-inner.so", NAMES("liblast.so"), NULL);
	write_library("libgomp-options-outer.so", NAMES("libgomp-options-inner.so"), NULL);
	write_library("libuser.so", NAMES("libgomp-options-outer.so"), NULL);
	assert_ok(open_user(share));
	assert_false(is_private(share, "libgomp-options-outer.so"));
	assert_ok(open_user(plain));
	assert_true(is_private(plain, "libgomp-options-outer.so"));
	assert_ok(open_user(keep));
	assert_true(is_private(keep, "libgomp-options-outer.so"));
	assert_false(is_private(keep, "liblast.so"));
	assert_string_equal(obstacle(keep), "needs libgomp-options-inner.so, which is private by option");
	assert_string_equal(obstacle(share), "none");
	test_ns_destroy(plain);
	test_ns_destroy(share);
	test_ns_destroy(keep);
}

static void closure_that_uses_python_is_private(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL);

	(void)state;
	start("python");
	write_library("libgomp-python-inner.so", NULL, "PyList_Append");
	write_library("libgomp-python-outer.so", NAMES("libgomp-python-inner.so"), NULL);
	assert_string_equal(obstacle(ns), "needs libgomp-python-inner.so, which uses PyList_Append, which "
					  "each copy of CPython has");
	test_ns_destroy(ns);
}

static void closure_shared_against_the_rule_is_an_error(void **state)
{
	struct gorgon_ns *ns = ns_with("libchosen*", NULL);
	struct gorgon_object *object;
	struct test_snapshot before;

	(void)state;
	start("error");
	write_library("liblast.so", NULL, NULL);
	write_library("libother.so", NAMES("liblast.so"), NULL);
	write_library("libchosen-python.so", NULL, "PyList_Append");
	write_library("libextension.so", NAMES("libchosen-python.so"), NULL);
	write_library("libchosen.so", NAMES("liblast.so", "libc.so.6", "libother.so"), NULL);
	write_library("libuser.so", NAMES("libchosen.so"), NULL);
	before = test_snapshot();
	assert_error(open_user(ns), GORGON_ERROR_ARGUMENT,
		     "/libuser.so: libchosen.so: is to be shared by option (libchosen*), but needs "
		     "liblast.so, which is private by default; a library is shared only with all "
		     "that it needs, here also: liblast.so libother.so");
	assert_error(gorgon_object_open(ns, in_dir("libextension.so"), NULL, &object),
		     GORGON_ERROR_ARGUMENT, "but uses PyList_Append, which each copy of CPython has");
	assert_unchanged(&before);
	test_ns_destroy(ns);
}

static void closure_cycle_ends(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL);

	(void)state;
	start("cycle");
	write_library("libgomp-cycle-inner.so", NAMES("libgomp-cycle-outer.so"), NULL);
	write_library("libgomp-cycle-outer.so", NAMES("libgomp-cycle-inner.so"), NULL);
	write_library("libuser.so", NAMES("libgomp-cycle-outer.so"), NULL);
	assert_ok(open_user(ns));
	assert_false(is_private(ns, "libgomp-cycle-outer.so"));
	test_ns_destroy(ns);
}

static void closure_files_are_read_once(void **state)
{
	struct gorgon_ns *ns[2] = {ns_with(NULL, NULL), ns_with(NULL, NULL)};

	(void)state;
	start("once");
	write_library("liblast.so", NULL, NULL);
	write_library("libgomp-once-inner.so", NAMES("liblast.so"), NULL);
	write_library("libgomp-once-outer.so", NAMES("libgomp-once-inner.so"), NULL);
	assert_non_null(strstr(obstacle(ns[0]), "liblast.so"));
	unlink(in_dir("libgomp-once-inner.so"));
	unlink(in_dir("libgomp-once-outer.so"));
	assert_non_null(strstr(obstacle(ns[1]), "liblast.so"));
	for (int i = 0; i < 2; i++)
		test_ns_destroy(ns[i]);
}

// A missing library keeps nothing private. The system says that it is missing when the library is opened.
static void closure_missing_library_is_the_system_s_to_report(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL);

	(void)state;
	start("missing");
	write_library("libgomp-missing-outer.so", NAMES("libgomp-absent.so"), NULL);
	write_library("libuser.so", NAMES("libgomp-missing-outer.so"), NULL);
	assert_string_equal(obstacle(ns), "none");
	assert_error(open_user(ns), GORGON_ERROR_MISSING, "libgomp-absent.so");
	test_ns_destroy(ns);
}

// The reader of private objects refuses text relocations; the system's linker may not.
static void closure_unreadable_library_stays_shared(void **state)
{
	struct gorgon_ns *ns = ns_with("libbasic_textrel.so", NULL);
	bool shared = false;

	(void)state;
	gorgon_lock();
	assert_ok(gorgon_closure_shares(ns, test_module("libbasic_textrel.so"), NULL, &shared));
	gorgon_unlock();
	assert_true(shared);
	test_ns_destroy(ns);
}

static void closure_dlopen_of_private_code_follows_the_rule(void **state)
{
	struct gorgon_ns *ns = ns_with("libchosen*", NULL);
	void *handle;

	(void)state;
	start("dlopen");
	write_library("liblast.so", NULL, NULL);
	write_library("libgomp-dlopen-outer.so", NAMES("liblast.so"), NULL);
	write_library("libchosen.so", NAMES("liblast.so"), NULL);
	handle = gorgon_dl_open(in_dir("libgomp-dlopen-outer.so"), RTLD_NOW, ns);
	assert_non_null(handle);
	assert_true(is_private(ns, "libgomp-dlopen-outer.so"));
	assert_null(gorgon_dl_open(in_dir("libchosen.so"), RTLD_NOW, ns));
	assert_non_null(strstr(gorgon_dl_error(ns), "but needs liblast.so, which is private"));
	test_ns_destroy(ns);
}

static bool opens_privately(struct gorgon_ns *ns, const char *name, int flags)
{
	void *handle = gorgon_dl_open(in_dir(name), RTLD_NOW | flags, ns);
	bool private;

	assert_non_null(handle);
	gorgon_lock();
	private = gorgon_dl_find_handle(ns, handle) != NULL;
	gorgon_unlock();
	assert_int_not_equal(private, gorgon_system_is_handle(handle));
	return private;
}

// Programs open the path that dl_iterate_phdr() or realpath() has told them: libgomp.so.1.0.0.
static void closure_path_is_judged_by_its_soname(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL), *other = ns_with(NULL, NULL);
	struct gorgon_ns *keep = ns_with(NULL, "libgomp-soname-*");

	(void)state;
	start("soname");
	write_file("real.so.1.0.0", "libgomp-soname-outer.so", NULL, NULL);
	assert_int_equal(symlink("real.so.1.0.0", in_dir("libgomp-soname-outer.so")), 0);
	write_library("libuser.so", NAMES("libgomp-soname-outer.so"), NULL);
	assert_null(gorgon_dl_open(in_dir("real.so.1.0.0"), RTLD_NOW | RTLD_NOLOAD, ns));
	assert_null(gorgon_dl_error(ns));
	assert_ok(open_user(ns));
	assert_false(is_private(ns, "libgomp-soname-outer.so"));
	assert_false(opens_privately(ns, "real.so.1.0.0", RTLD_NOLOAD));
	assert_false(opens_privately(other, "real.so.1.0.0", 0));
	assert_true(opens_privately(keep, "real.so.1.0.0", 0));
	assert_true(opens_privately(keep, "real.so.1.0.0", RTLD_NOLOAD));
	test_ns_destroy(ns);
	test_ns_destroy(other);
	test_ns_destroy(keep);
}

// Neither file is on the list by its own name, but both are by the names under which they are needed (libblas.so.3,
// which is a link to somebody's libmkl_rt.so).
static void closure_path_of_a_file_that_is_shared_is_shared(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL), *other = ns_with(NULL, NULL);
	struct gorgon_ns *keep = ns_with(NULL, "inner.so");

	(void)state;
	start("file");
	write_file("inner.so", "libinner.so", NULL, NULL);
	write_file("outer.so", "libouter.so", NAMES("libgomp-file-inner.so"), NULL);
	assert_int_equal(symlink("inner.so", in_dir("libgomp-file-inner.so")), 0);
	assert_int_equal(symlink("outer.so", in_dir("libgomp-file-outer.so")), 0);
	write_library("libuser.so", NAMES("libgomp-file-outer.so"), NULL);
	assert_ok(open_user(ns));
	assert_false(opens_privately(ns, "outer.so", RTLD_NOLOAD));
	assert_false(opens_privately(ns, "outer.so", 0));
	assert_false(opens_privately(ns, "inner.so", 0));
	assert_ok(open_user(keep));
	assert_true(opens_privately(keep, "inner.so", 0));
	// This namespace needs neither of the two.
	assert_true(opens_privately(other, "inner.so", 0));
	test_ns_destroy(ns);
	test_ns_destroy(other);
	test_ns_destroy(keep);
}

static void closure_blas_without_threads_is_private(void **state)
{
	static const char none[] = "neither starts threads nor needs a library that does";
	struct gorgon_ns *ns = ns_with(NULL, NULL), *share = ns_with("lib*blas.so.3", NULL);

	(void)state;
	start("blas");
	write_library("libblas.so.3", NAMES("libc.so.6"), "dgemm_thread_nn");
	write_library("libcblas.so.3", NAMES("libc.so.6"), "pthread_create");
	write_library("liblapack.so.3", NAMES("libblas.so.3"), NULL);
	// It has buffers, even without threads.
	write_library("libopenblas-serial.so.0", NULL, NULL);
	assert_string_equal(judge(ns, "libblas.so.3", "libblas.so.3"), none);
	assert_string_equal(judge(ns, "libcblas.so.3", "libcblas.so.3"), "none");
	assert_string_equal(judge(ns, "liblapack.so.3", "liblapack.so.3"), none);
	assert_string_equal(judge(ns, "libopenblas-serial.so.0", "libopenblas*.so.0"), "none");
	assert_string_equal(judge(share, "libblas.so.3", "lib*blas.so.3"), "none");
	test_ns_destroy(ns);
	test_ns_destroy(share);
}

// OpenBLAS and ATLAS have such interfaces; also a LAPACK that needs a BLAS which is an interface.
static void closure_interface_of_a_blas_is_shared_with_it(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL, NULL);

	(void)state;
	start("interface");
	write_library("libopenblas.so.0", NULL, NULL);
	write_library("libblas.so.3", NAMES("libopenblas.so.0"), NULL);
	write_library("liblapack.so.3", NAMES("libc.so.6", "libblas.so.3"), NULL);
	assert_string_equal(judge(ns, "liblapack.so.3", "liblapack.so.3"), "none");
	assert_string_equal(judge(ns, "libblas.so.3", "libblas.so.3"), "none");
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closure_all_shared_is_shared),
		cmocka_unit_test(closure_with_a_private_library_is_private),
		cmocka_unit_test(closure_options_of_a_namespace_decide),
		cmocka_unit_test(closure_that_uses_python_is_private),
		cmocka_unit_test(closure_shared_against_the_rule_is_an_error),
		cmocka_unit_test(closure_cycle_ends),
		cmocka_unit_test(closure_files_are_read_once),
		cmocka_unit_test(closure_missing_library_is_the_system_s_to_report),
		cmocka_unit_test(closure_unreadable_library_stays_shared),
		cmocka_unit_test(closure_dlopen_of_private_code_follows_the_rule),
		cmocka_unit_test(closure_path_is_judged_by_its_soname),
		cmocka_unit_test(closure_path_of_a_file_that_is_shared_is_shared),
		cmocka_unit_test(closure_blas_without_threads_is_private),
		cmocka_unit_test(closure_interface_of_a_blas_is_shared_with_it),
	};

	return cmocka_run_group_tests_name("closure", tests, test_warm_up, NULL);
}
