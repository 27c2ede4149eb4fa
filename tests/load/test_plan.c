// SPDX-License-Identifier: MIT
// loader/load/plan.c: a further copy is bound as the first copy was, unless something about its scope is different.

#define _GNU_SOURCE
#include "helpers.h"

#include "image/plan.h"
#include "ns/ns.h"

TEST_EXPORT __thread int test_host_tls = 51;

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What libuser.so refers to: `chosen`, which is weak, and environ.
#define USER                                                                                       \
	"extern int chosen __attribute__((weak)); extern char **environ; "                          \
	"int *chosen_at(void) { return &chosen; } char ***environ_at(void) { return &environ; }"
#define UNIQUE "template<int n> struct S { static int value; }; template<int n> int S<n>::value = n; extern \"C\" int *at() { return &S<7>::value; }"

static void build(const char *name, const char *language, const char *source, const char *options)
{
	assert_int_equal(test_run("echo '%s' | cc -shared -fPIC -x %s -o %s - %s", source, language, test_temp(name), options), 0);
}

static int set_up(void **state)
{
	(void)state;
	build("libuser.so", "c", USER, "");
	build("libuser_of_loaded.so", "c", USER, "-Dchosen=loaded");
	build("libloaded.so", "c", "int loaded = 3;", "");
	build("libuser_of_promoted.so", "c", USER, "-Dchosen=promoted");
	build("libpromoted.so", "c", "int promoted = 4;", "");
	build("libuser_of_plugin.so", "c", USER, "-Dchosen=of_plugin");
	build("libplugin.so", "c", "int of_plugin = 5;", "");
	build("libother_plugin.so", "c", "int of_other_plugin = 6;", "");
	build("libone.so", "c", "int chosen = 1;", "");
	build("libtwo.so", "c", "int chosen = 2;", "");
	build("libunique_one.so", "c++", UNIQUE, "");
	build("libunique_two.so", "c++", UNIQUE, "");
	assert_int_equal(test_run("cd %s && for n in one two; do echo 'extern int chosen; int *chosen_at(void) { return &chosen; }' | "
				  "cc -shared -fPIC -x c -o libneeds_$n.so - -Wl,--no-as-needed '-Wl,-rpath,$ORIGIN' -L. -l$n; done",
				  test_temp("")), 0);
	sleep(3); // nothing is kept of files that are only just written
	return 0;
}

static struct gorgon_object *open_temp(struct gorgon_ns *ns, const char *name, unsigned flags)
{
	struct gorgon_object *object = NULL;

	assert_ok(gorgon_object_open(ns, test_temp(name), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = flags}, &object));
	return object;
}

// The value of the `chosen` that the object is bound to; 0: it is bound to none.
static int chosen(struct gorgon_object *object)
{
	int *(*at)(void) = (int *(*)(void))gorgon_object_find_symbol(object, "chosen_at", NULL);

	return at() ? *at() : 0;
}

static int chosen_in(struct gorgon_ns *ns, const char *user)
{
	int ret = chosen(open_temp(ns, user, 0));

	test_ns_destroy(ns);
	return ret;
}

// Makes a plan for the ordinary scope, in which nobody defines the name.
static void teach(const char *user)
{
	struct gorgon_ns *ns = test_ns();

	for (int i = 0; i < 3; i++)
		assert_int_equal(chosen_in(test_ns(), user), 0);
	assert_non_null(open_temp(ns, user, 0)->image->plans);
	test_ns_destroy(ns);
}

// An object that was loaded globally has the name first for the next object of the namespace.
static void plan_object_loaded_globally_is_found(void **state)
{
	(void)state;
	teach("libuser.so");
	for (int i = 0; i < 3; i++) { // the third time there is a plan for this scope, too
		struct gorgon_ns *ns = test_ns();

		open_temp(ns, i % 2 ? "libtwo.so" : "libone.so", GORGON_OPEN_GLOBAL);
		assert_int_equal(chosen_in(ns, "libuser.so"), i % 2 ? 2 : 1);
	}
	assert_int_equal(chosen_in(test_ns(), "libuser.so"), 0);
}

static void plan_global_objects_in_another_order(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gorgon_ns *ns = test_ns();

		open_temp(ns, i % 2 ? "libtwo.so" : "libone.so", GORGON_OPEN_GLOBAL);
		open_temp(ns, i % 2 ? "libone.so" : "libtwo.so", GORGON_OPEN_GLOBAL);
		assert_int_equal(chosen_in(ns, "libuser.so"), i % 2 ? 2 : 1);
	}
}

// libneeds_one.so is loaded by itself, and with a program that brings another definition first.
static void plan_other_dependencies(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gorgon_ns *ns = test_ns();

		if (i % 2)
			open_temp(ns, "libneeds_two.so", GORGON_OPEN_GLOBAL);
		assert_int_equal(chosen(open_temp(ns, "libneeds_one.so", 0)), i % 2 ? 2 : 1);
		test_ns_destroy(ns);
	}
}

static void plan_provider_is_asked_each_time(void **state)
{
	int first = 11, second = 12;
	struct gorgon_table_entry table[] = {{"chosen", &first}, {0}};
	struct gorgon_provider provider = gorgon_provider_table(table);
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};

	(void)state;
	teach("libuser.so");
	for (int i = 0; i < 4; i++) {
		struct gorgon_ns *ns = NULL;

		table[0].addr = i % 2 ? &second : &first;
		assert_ok(gorgon_ns_create(&opts, &ns));
		assert_int_equal(chosen_in(ns, "libuser.so"), i % 2 ? 12 : 11);
	}
	for (int i = 0; i < 2; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_open_opts open = {.size = sizeof(open), .provider = &provider};
		struct gorgon_object *object = NULL;

		assert_ok(gorgon_object_open(ns, test_temp("libuser.so"), &open, &object));
		assert_int_equal(chosen(object), 12);
		test_ns_destroy(ns);
	}
	assert_int_equal(chosen_in(test_ns(), "libuser.so"), 0);
}

// In a namespace with an environment of its own `environ` is a variable of ours.
static void plan_other_replacements(void **state)
{
	const char *const environment[] = {"PLAN=private", NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts)};

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gorgon_ns *ns = NULL;
		char **list;

		opts.environment = i % 2 ? environment : NULL;
		opts.share_environment = !opts.environment;
		assert_ok(gorgon_ns_create(&opts, &ns));
		list = *SYMBOL(open_temp(ns, "libuser.so", 0), char ***(*)(void), "environ_at")();
		assert_true(i % 2 ? !strcmp(list[0], environment[0]) : list == environ);
		test_ns_destroy(ns);
	}
}

// The host has loaded the library. It stays global, because the system's linker keeps a library in which somebody
// has found a name.
static void plan_library_of_the_system_loaded_globally_is_found(void **state)
{
	(void)state;
	teach("libuser_of_loaded.so");
	assert_non_null(dlopen(test_temp("libloaded.so"), RTLD_NOW | RTLD_GLOBAL));
	for (int i = 0; i < 3; i++)
		assert_int_equal(chosen_in(test_ns(), "libuser_of_loaded.so"), 3);
}

// The system's linker does not count this as a load.
static void plan_library_of_the_system_made_global_is_found(void **state)
{
	void *handle = dlopen(test_temp("libpromoted.so"), RTLD_NOW | RTLD_LOCAL);

	(void)state;
	assert_non_null(handle);
	teach("libuser_of_promoted.so");
	assert_ptr_equal(dlopen(test_temp("libpromoted.so"), RTLD_NOW | RTLD_GLOBAL), handle);
	assert_int_equal(chosen_in(test_ns(), "libuser_of_promoted.so"), 4);
}

// Both libraries of the host come and go as plug-ins do; the second one has the name.
static void plan_outlives_what_the_host_opens(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_plan *plan;
	void *plugin;

	(void)state;
	teach("libuser_of_plugin.so");
	plan = open_temp(ns, "libuser_of_plugin.so", 0)->image->plans;
	for (int i = 0; i < 3; i++) {
		plugin = dlopen(test_temp(i == 1 ? "libplugin.so" : "libother_plugin.so"), RTLD_NOW | RTLD_LOCAL);
		assert_non_null(plugin);
		assert_int_equal(chosen_in(test_ns(), "libuser_of_plugin.so"), 0);
		dlclose(plugin);
		assert_int_equal(chosen_in(test_ns(), "libuser_of_plugin.so"), 0);
		assert_ptr_equal(open_temp(ns, "libuser_of_plugin.so", 0)->image->plans, plan);
		assert_null(plan->next);
	}
	// The name was looked up each time since, so a library that becomes global without being counted is found.
	plugin = dlopen(test_temp("libplugin.so"), RTLD_NOW | RTLD_LOCAL);
	assert_int_equal(chosen_in(test_ns(), "libuser_of_plugin.so"), 0);
	assert_ptr_equal(dlopen(test_temp("libplugin.so"), RTLD_NOW | RTLD_GLOBAL), plugin);
	assert_int_equal(chosen_in(test_ns(), "libuser_of_plugin.so"), 5);
	test_ns_destroy(ns);
}

// The first definition in the namespace serves everybody, whichever library has it.
static void plan_unique_names_are_bound_by_namespace(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *first = open_temp(ns, i % 2 ? "libunique_two.so" : "libunique_one.so", 0);
		struct gorgon_object *second = open_temp(ns, i % 2 ? "libunique_one.so" : "libunique_two.so", 0);
		int *(*at[2])(void) = {(int *(*)(void))gorgon_object_find_symbol(first, "at", NULL),
				       (int *(*)(void))gorgon_object_find_symbol(second, "at", NULL)};

		assert_ptr_equal(at[0](), at[1]());
		assert_true((uint64_t)(uintptr_t)at[0]() - first->start < first->end - first->start);
		assert_true(first->nodelete);
		test_ns_destroy(ns);
	}
}

// An object stays as long as another object is bound to it, with or without a plan.
static void plan_what_is_bound_to_stays(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *one = open_temp(ns, "libone.so", GORGON_OPEN_GLOBAL);
		struct gorgon_object *user = open_temp(ns, "libuser.so", 0);

		gorgon_object_close(one);
		assert_int_equal(chosen(user), 1);
		test_ns_destroy(ns);
	}
}

// One library refers to two versions of a name, another to thread-local variables, of a private object and of the
// program.
static void plan_versions_and_thread_local_variables(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *versions = test_open(ns, "libversion_user.so"), *tls = test_open(ns, "libtls_user.so");
		int *host = SYMBOL(tls, int *(*)(void), "tls_user_host")(), *private = SYMBOL(tls, int *(*)(void), "tls_user_private")();

		assert_int_equal(SYMBOL(versions, int (*)(void), "version_user_old")(), 1);
		assert_int_equal(SYMBOL(versions, int (*)(void), "version_user_new")(), 2);
		assert_ptr_equal(host, &test_host_tls);
		assert_ptr_equal(private, gorgon_object_find_symbol(tls, "tls_value", NULL));
		test_ns_destroy(ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(plan_object_loaded_globally_is_found),
		fresh_unit_test(plan_global_objects_in_another_order),
		fresh_unit_test(plan_other_dependencies),
		fresh_unit_test(plan_provider_is_asked_each_time),
		fresh_unit_test(plan_other_replacements),
		fresh_unit_test(plan_library_of_the_system_loaded_globally_is_found),
		fresh_unit_test(plan_library_of_the_system_made_global_is_found),
		fresh_unit_test(plan_outlives_what_the_host_opens),
		fresh_unit_test(plan_unique_names_are_bound_by_namespace),
		fresh_unit_test(plan_what_is_bound_to_stays),
		fresh_unit_test(plan_versions_and_thread_local_variables),
	};

	return cmocka_run_group_tests_name("plan", tests, set_up, NULL);
}
