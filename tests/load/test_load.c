// SPDX-License-Identifier: MIT
// loader/load/load.c, ns.c, object.c, init.c: loading as a transaction, references,
// unloading, constructors and destructors, many copies.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "machine.h"
#include "helpers.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// --- failing loads leave nothing ---------------------------------------------------

// Loads twice: at the first attempt the system's linker may open shared libraries that stay.
static void refuse(const char *path, enum gorgon_error_code code, const char *text)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;
	struct test_snapshot before;

	gorgon_error_destroy(gorgon_object_open(ns, path, NULL, &object));
	before = test_snapshot();
	for (int i = 0; i < 3; i++) {
		assert_error(gorgon_object_open(ns, path, NULL, &object), code, text);
		assert_null(object);
	}
	assert_unchanged(&before);
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), ""); // no constructor ran
}

static void object_open_missing_dependency_names_it_and_its_user(void **state)
{
	const char *path = test_module("libmissing.so");

	(void)state;
	refuse(path, GORGON_ERROR_MISSING, "libnowhere.so");
	refuse(path, GORGON_ERROR_MISSING, "modules/libmissing.so: needs libnowhere.so");
	refuse(path, GORGON_ERROR_MISSING, "$ORIGIN/dep");
}

static void object_open_undefined_symbol_names_it_and_its_referrer(void **state)
{
	(void)state;
	refuse(test_module("libundefined.so"), GORGON_ERROR_UNRESOLVED,
	       "modules/libundefined.so: undefined symbol: nobody_defines_this");
}

static void object_open_undefined_symbol_of_dependency_undoes_the_group(void **state)
{
	(void)state;
	refuse(test_module("libundefined_dep.so"), GORGON_ERROR_UNRESOLVED,
	       "modules/libundefined.so: undefined symbol: nobody_defines_this");
}

static void object_open_undefined_version_names_version_and_library(void **state)
{
	(void)state;
	refuse(test_module("libversion_broken.so"), GORGON_ERROR_UNRESOLVED,
	       "libversion_broken.so: undefined symbol: version_number, "
	       "version V1 of libversion.so");
}

static void object_open_initial_exec_tls_without_room_tells_the_remedy(void **state)
{
	(void)state;
	refuse(test_module("libtls_ie_large.so"), GORGON_ERROR_UNSUPPORTED,
	       "libtls_ie_large.so: no room for 100");
	refuse(test_module("libtls_ie_large.so"), GORGON_ERROR_UNSUPPORTED,
	       "raise glibc.rtld.optional_static_tls in GLIBC_TUNABLES");
}

static void object_open_text_relocations_are_refused(void **state)
{
	(void)state;
	refuse(test_module("libbasic_textrel.so"), GORGON_ERROR_UNSUPPORTED, "DT_TEXTREL");
}

static void object_open_absent_file_is_an_os_error(void **state)
{
	(void)state;
	refuse("/nonexistent/libx.so", GORGON_ERROR_OS, "/nonexistent/libx.so");
}

static void object_open_absent_name_is_missing(void **state)
{
	(void)state;
	refuse("libdoes_not_exist.so.1", GORGON_ERROR_MISSING, "libdoes_not_exist.so.1");
}

static void refuse_built(const char *needed, const struct elf_change *change,
			 enum gorgon_error_code code, const char *text)
{
	struct elf_builder good = {.soname = "libgood.so",
				   .needed = (const char *const[]){needed, NULL},
				   .runpath = "$ORIGIN"};
	struct elf_builder bad = {.soname = "libbad.so"};
	struct elf_file file = elf_build(&good);

	test_write(test_temp("libgood.so"), file.data, file.size);
	elf_file_deinit(&file);
	file = elf_build(&bad);
	elf_apply(&file, change);
	test_write(test_temp("libbad.so"), file.data, file.size);
	elf_file_deinit(&file);
	refuse(test_temp("libgood.so"), code, text);
}

// The search passes over a library for another machine, as ld.so(8) does.
static void object_open_dependency_for_other_machine_is_missing(void **state)
{
	static const struct elf_change change = EHDR(e_machine, TEST_OTHER_MACHINE);

	(void)state;
	refuse_built("libbad.so", &change, GORGON_ERROR_MISSING, "libbad.so");
}

static void object_open_dependency_with_bad_segment_is_refused(void **state)
{
	static const struct elf_change change = LOAD(1, p_flags, PF_R | PF_W | PF_X);

	(void)state;
	refuse_built("libbad.so", &change, GORGON_ERROR_FORMAT,
		     "libbad.so: segment 1: writable and executable");
}

static void object_open_other_machine_is_refused(void **state)
{
	struct elf_file file = elf_build(&(struct elf_builder){0});

	(void)state;
	elf_apply(&file, &(struct elf_change)EHDR(e_machine, TEST_OTHER_MACHINE));
	test_write(test_temp("libarm.so"), file.data, file.size);
	elf_file_deinit(&file);
	refuse(test_temp("libarm.so"), GORGON_ERROR_MACHINE, TEST_REFUSES_OTHER);
}

// Objects that were loaded before go on working.
static void object_open_failure_keeps_loaded_objects_usable(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *basic = test_open(ns, "libbasic.so"), *object;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("libundefined.so"), NULL, &object),
		     GORGON_ERROR_UNRESOLVED, "nobody_defines_this");
	assert_int_equal(SYMBOL(basic, int (*)(int, int), "basic_sum")(20, 22), 42);
	test_ns_destroy(ns);
	test_notes();
}

// --- options -----------------------------------------------------------------------

static void open_unknown_flag_is_refused(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("libbasic.so"), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL | 8}, &object),
		     GORGON_ERROR_ARGUMENT, "flags are 0x9, expected at most 0x3");
	test_ns_destroy(ns);
}

static void ns_create_unknown_size_is_refused(void **state)
{
	struct gorgon_ns_opts opts = {.size = 9};
	struct gorgon_ns *ns = NULL;

	(void)state;
	assert_error(gorgon_ns_create(&opts, &ns), GORGON_ERROR_ARGUMENT,
		     "gorgon_ns_opts: size is 9, expected");
	assert_null(ns);
}

static void ns_id_is_never_reused(void **state)
{
	struct gorgon_ns *ns = test_ns();
	uint64_t id = gorgon_ns_id(ns);

	(void)state;
	test_ns_destroy(ns);
	ns = test_ns();
	assert_true(gorgon_ns_id(ns) > id);
	test_ns_destroy(ns);
}

static void ns_destroy_null_is_ignored(void **state)
{
	(void)state;
	assert_ok(gorgon_ns_destroy(NULL));
}

static void note_line(void *ctx, const char *line)
{
	(void)line;
	++*(int *)ctx;
}

// Section headers are damaged: the object can be loaded but has no symfile, and the host is told.
static void ns_create_log_receives_what_could_not_be_registered(void **state)
{
	int lines = 0;
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .log = note_line, .log_ctx = &lines};
	struct gorgon_ns *ns = NULL;
	struct gorgon_object *object;
	struct gorgon_object_info info;
	size_t size;
	uint8_t *data = test_read(test_module("libbasic.so"), &size);
	uint64_t shoff = UINT64_MAX / 2;

	(void)state;
	memcpy(data + offsetof(Elf64_Ehdr, e_shoff), &shoff, 8);
	test_write(test_temp("libnosections.so"), data, size);
	free(data);
	assert_ok(gorgon_ns_create(&opts, &ns));
	assert_ok(gorgon_object_open(ns, test_temp("libnosections.so"), NULL, &object));
	gorgon_object_get_info(object, &info);
	assert_int_equal(SYMBOL(object, int (*)(int, int), "basic_sum")(1, 2), 3);
	test_ns_destroy(ns);
	test_notes();
	if (!lines)
		skip_because("this libjitreg copes with damaged section headers");
	assert_int_equal(lines, 1);
}

// --- copies, references ------------------------------------------------------------------

static void object_open_two_namespaces_have_distinct_data(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	int *value[2];
	int (*next[2])(void);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_object *object = test_open(ns[i], "libbasic.so");

		value[i] = SYMBOL(object, int *, "basic_value");
		next[i] = SYMBOL(object, int (*)(void), "basic_next");
	}
	assert_ptr_not_equal(value[0], value[1]);
	assert_ptr_not_equal((void *)next[0], (void *)next[1]);
	next[0]();
	next[0]();
	next[1]();
	assert_int_equal(*value[0], 43);
	assert_int_equal(*value[1], 42);
	test_ns_destroy(ns[0]);
	assert_int_equal(next[1](), 43);
	test_ns_destroy(ns[1]);
	assert_unchanged(&before);
	assert_string_equal(test_notes(), "+basic +basic -basic -basic ");
}

static void object_open_again_gives_the_same_object_and_counts(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *first = test_open(ns, "libbasic.so");
	struct gorgon_object *second = test_open(ns, "libbasic.so");

	(void)state;
	assert_ptr_equal(first, second);
	assert_string_equal(test_notes(), "+basic ");
	gorgon_object_close(first);
	assert_string_equal(test_notes(), "");
	assert_int_equal(SYMBOL(second, int (*)(int, int), "basic_sum")(1, 1), 2);
	gorgon_object_close(second);
	assert_string_equal(test_notes(), "-basic ");
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "");
}

// The same file by another name is the same object.
static void object_open_by_link_gives_the_same_object(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *first = test_open(ns, "libbasic.so"), *second = NULL;
	const char *link = test_temp("libother.so");

	(void)state;
	unlink(link);
	assert_int_equal(symlink(test_module("libbasic.so"), link), 0);
	assert_ok(gorgon_object_open(ns, link, NULL, &second));
	assert_ptr_equal(first, second);
	test_ns_destroy(ns);
	test_notes();
}

static void object_close_last_reference_unloads_with_dependencies(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct test_snapshot before = test_snapshot();
	struct gorgon_object *object = test_open(ns, "libtop.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(void), "top_get")(), 123);
	assert_string_equal(test_notes(), "+bottom1 +bottom2 +middle1 +middle2 +top1 +top2 ");
	gorgon_object_close(object);
	assert_string_equal(test_notes(), "-top2 -top1 -middle2 -middle1 -bottom2 -bottom1 ");
	assert_unchanged(&before);
	test_ns_destroy(ns);
}

static void object_close_dependency_in_use_stays(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *top = test_open(ns, "libtop.so");
	struct gorgon_object *both = test_open(ns, "libboth.so");

	(void)state;
	assert_int_equal(SYMBOL(both, int (*)(void), "both_get")(), 127);
	test_notes();
	gorgon_object_close(top);
	assert_string_equal(test_notes(), "-top2 -top1 ");
	assert_int_equal(SYMBOL(both, int (*)(void), "both_get")(), 127);
	gorgon_object_close(both);
	assert_string_equal(test_notes(), "-both2 -both1 -middle2 -middle1 -bottom2 -bottom1 ");
	test_ns_destroy(ns);
}

static void object_close_global_object_goes(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = NULL;

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("libbasic.so"), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL}, &object));
	gorgon_object_close(object);
	assert_string_equal(test_notes(), "+basic -basic ");
	test_ns_destroy(ns);
}

static void object_open_cycle_loads_and_unloads(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct test_snapshot before = test_snapshot();
	struct gorgon_object *object = test_open(ns, "libcycle_a.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(int), "cycle_a")(7), 7);
	assert_int_equal(SYMBOL(object, int (*)(int), "cycle_b")(8), 8);
	gorgon_object_close(object);
	assert_unchanged(&before);
	test_ns_destroy(ns);
}

static void ns_destroy_runs_destructors_in_reverse_order(void **state)
{
	struct gorgon_ns *ns = test_ns();

	(void)state;
	test_open(ns, "libbasic.so");
	test_open(ns, "libtop.so");
	test_notes();
	test_ns_destroy(ns);
	assert_string_equal(test_notes(),
			    "-top2 -top1 -middle2 -middle1 -bottom2 -bottom1 -basic ");
}

// --- loading from constructors and destructors ----------------------------------------------

static void object_open_constructor_may_load(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct test_snapshot before = test_snapshot();
	struct gorgon_object *object = test_open(ns, "libnested.so");

	(void)state;
	assert_string_equal(test_notes(), "+nested +basic =nested ");
	assert_int_equal(*SYMBOL(object, int *, "nested_result"), 5);
	gorgon_object_close(object);
	assert_string_equal(test_notes(), "-nested ~nested -basic ");
	assert_unchanged(&before);
	test_ns_destroy(ns);
}

static void object_open_constructor_may_open_its_own_library(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libself.so");

	(void)state;
	assert_int_equal(*SYMBOL(object, int *, "self_seen"), 1);
	test_ns_destroy(ns);
}

static void object_close_destructor_may_load(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libfini_open.so");

	(void)state;
	gorgon_object_close(object);
	assert_string_equal(test_notes(), "-fini_open +basic ");
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "-basic ");
}

static void ns_destroy_destructor_may_load(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns = test_ns();

	(void)state;
	test_open(ns, "libfini_open.so");
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "-fini_open +basic -basic ");
	assert_unchanged(&before);
}

// --- description --------------------------------------------------------------------------------

static bool collect(void *ctx, struct gorgon_object *object)
{
	struct gorgon_object_info info;
	char *text = ctx;

	gorgon_object_get_info(object, &info);
	strcat(strcat(text, info.soname), " ");
	return true;
}

static bool stop_at_first(void *ctx, struct gorgon_object *object)
{
	(void)object;
	++*(int *)ctx;
	return false;
}

static void ns_for_each_object_visits_in_load_order_until_told(void **state)
{
	struct gorgon_ns *ns = test_ns();
	char text[256] = "";
	int visits = 0;

	(void)state;
	test_open(ns, "libtop.so");
	test_open(ns, "libbasic.so");
	gorgon_ns_for_each_object(ns, collect, text);
	assert_string_equal(text, "libtop.so libmiddle.so libbottom.so libbasic.so ");
	gorgon_ns_for_each_object(ns, stop_at_first, &visits);
	assert_int_equal(visits, 1);
	test_ns_destroy(ns);
	test_notes();
}

static void object_get_info_describes_the_mapping(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	struct gorgon_object_info info;
	uint64_t value = (uintptr_t)SYMBOL(object, void *, "basic_value");

	(void)state;
	gorgon_object_get_info(object, &info);
	assert_string_equal(info.path, test_module("libbasic.so"));
	assert_string_equal(info.soname, "libbasic.so");
	assert_true(value >= info.start && value < info.end);
	assert_int_equal(info.bias, info.start); // linked at 0
	test_ns_destroy(ns);
	test_notes();
}

static void object_find_symbol_looks_in_dependencies_too(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libtop.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(void), "bottom_get")(), 1);
	assert_null(gorgon_object_find_symbol(object, "nobody_defines_this", NULL));
	test_open(ns, "libbasic.so");
	// The function is a dependency's.
	assert_null(gorgon_object_find_symbol(object, "basic_sum", NULL));
	test_ns_destroy(ns);
	test_notes();
}

static void object_find_symbol_version_is_exact(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libversion.so");
	int (*one)(void) = (int (*)(void))gorgon_object_find_symbol(object, "version_number", "V1");
	int (*two)(void) = (int (*)(void))gorgon_object_find_symbol(object, "version_number", NULL);

	(void)state;
	assert_int_equal(one(), 1);
	assert_int_equal(two(), 2);
	assert_null(gorgon_object_find_symbol(object, "version_number", "V9"));
	test_ns_destroy(ns);
}

// --- many ---------------------------------------------------------------------------------------

#define COPIES 64

static void object_open_many_copies_are_all_distinct(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns[COPIES];
	int *value[COPIES];

	(void)state;
	for (int i = 0; i < COPIES; i++) {
		ns[i] = test_ns();
		value[i] = SYMBOL(test_open(ns[i], "libbasic.so"), int *, "basic_value");
		*value[i] = i;
	}
	for (int i = 0; i < COPIES; i++)
		assert_int_equal(*value[i], i);
	for (int i = 0; i < COPIES; i++)
		test_ns_destroy(ns[i]);
	assert_unchanged(&before);
	test_notes();
}

// The files of all copies cost one descriptor each, not one per copy.
static int load_and_unload_many_times(void *arg)
{
	struct rlimit limit = {24, 24};
	struct gorgon_ns *ns[COPIES];
	struct gorgon_object *object;

	(void)arg;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < COPIES / 4; i++) {
			if (gorgon_ns_create(NULL, &ns[i]) ||
			    gorgon_object_open(ns[i], test_module("libtop.so"), NULL, &object) ||
			    gorgon_object_open(ns[i], test_module("libcatch.so"), NULL, &object) ||
			    gorgon_object_open(ns[i], test_module("libmissing.so"), NULL,
					       &object) == NULL)
				return 2;
		}
		for (int i = 0; i < COPIES / 4; i++)
			if (gorgon_ns_destroy(ns[i]))
				return 3;
	}
	return 0;
}

static void object_open_loops_under_low_descriptor_limit(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(load_and_unload_many_times, NULL), 0);
}

static int load_without_descriptors(void *arg)
{
	struct rlimit limit = {3, 3};
	struct gorgon_ns *ns = arg;
	struct gorgon_object *object;
	struct gorgon_error *err;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	err = gorgon_object_open(ns, test_module("libbasic.so"), NULL, &object);
	return gorgon_error_errno(err) == EMFILE ? 0 : 2;
}

static void object_open_no_descriptor_left_is_an_os_error(void **state)
{
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_int_equal(test_in_child(load_without_descriptors, ns), 0);
	test_ns_destroy(ns);
}

struct work {
	struct gorgon_ns *shared;
	int failures;
};

static void *load_in_thread(void *arg)
{
	struct work *work = arg;

	for (int i = 0; i < 40; i++) {
		struct gorgon_ns *own = NULL;
		struct gorgon_object *a = NULL, *b = NULL;
		struct gorgon_error *err;

		if ((err = gorgon_ns_create(NULL, &own)) ||
		    (err = gorgon_object_open(own, test_module("libtop.so"), NULL, &a)) ||
		    (err = gorgon_object_open(work->shared, test_module("libnested.so"), NULL, &b))) {
			gorgon_error_destroy(err);
			__atomic_fetch_add(&work->failures, 1, __ATOMIC_RELAXED);
			continue;
		}
		if (((int (*)(void))gorgon_object_find_symbol(a, "top_get", NULL))() != 123 ||
		    *(int *)gorgon_object_find_symbol(b, "nested_result", NULL) != 5)
			__atomic_fetch_add(&work->failures, 1, __ATOMIC_RELAXED);
		gorgon_object_close(b);
		gorgon_error_destroy(gorgon_ns_destroy(own));
	}
	return NULL;
}

static void object_open_from_many_threads_is_ordered(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct work work = {.shared = test_ns()};
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_in_thread, &work), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(work.failures, 0);
	test_ns_destroy(work.shared);
	test_notes();
	assert_int_equal(test_snapshot().objects, before.objects);
	assert_int_equal(test_snapshot().jit_entries, before.jit_entries);
	assert_int_equal(test_snapshot().file_maps, before.file_maps);
	assert_int_equal(test_snapshot().fds, before.fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(object_open_two_namespaces_have_distinct_data),
		cmocka_unit_test(object_open_again_gives_the_same_object_and_counts),
		cmocka_unit_test(object_open_by_link_gives_the_same_object),
		cmocka_unit_test(object_close_last_reference_unloads_with_dependencies),
		cmocka_unit_test(object_close_dependency_in_use_stays),
		cmocka_unit_test(object_close_global_object_goes),
		cmocka_unit_test(object_open_cycle_loads_and_unloads),
		cmocka_unit_test(ns_destroy_runs_destructors_in_reverse_order),
		cmocka_unit_test(object_open_constructor_may_load),
		cmocka_unit_test(object_open_constructor_may_open_its_own_library),
		cmocka_unit_test(object_close_destructor_may_load),
		cmocka_unit_test(ns_destroy_destructor_may_load),
		cmocka_unit_test(ns_for_each_object_visits_in_load_order_until_told),
		cmocka_unit_test(object_get_info_describes_the_mapping),
		cmocka_unit_test(object_find_symbol_looks_in_dependencies_too),
		cmocka_unit_test(object_find_symbol_version_is_exact),
		cmocka_unit_test(object_open_many_copies_are_all_distinct),
		cmocka_unit_test(object_open_loops_under_low_descriptor_limit),
		cmocka_unit_test(object_open_from_many_threads_is_ordered),
		cmocka_unit_test(open_unknown_flag_is_refused),
		cmocka_unit_test(ns_create_unknown_size_is_refused),
		cmocka_unit_test(ns_create_log_receives_what_could_not_be_registered),
		cmocka_unit_test(ns_id_is_never_reused),
		cmocka_unit_test(ns_destroy_null_is_ignored),
		cmocka_unit_test(object_open_missing_dependency_names_it_and_its_user),
		cmocka_unit_test(object_open_undefined_symbol_names_it_and_its_referrer),
		cmocka_unit_test(object_open_undefined_symbol_of_dependency_undoes_the_group),
		cmocka_unit_test(object_open_undefined_version_names_version_and_library),
		cmocka_unit_test(object_open_initial_exec_tls_without_room_tells_the_remedy),
		cmocka_unit_test(object_open_text_relocations_are_refused),
		cmocka_unit_test(object_open_absent_file_is_an_os_error),
		cmocka_unit_test(object_open_absent_name_is_missing),
		cmocka_unit_test(object_open_dependency_for_other_machine_is_missing),
		cmocka_unit_test(object_open_dependency_with_bad_segment_is_refused),
		cmocka_unit_test(object_open_other_machine_is_refused),
		cmocka_unit_test(object_open_failure_keeps_loaded_objects_usable),
		cmocka_unit_test(object_open_no_descriptor_left_is_an_os_error),
	};

	return cmocka_run_group_tests_name("load", tests, test_warm_up, NULL);
}
