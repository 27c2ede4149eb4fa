// SPDX-License-Identifier: MIT
// loader/elf/provider.c: tables, handles and chains, alone and as what a private object is
// bound to.

#define _GNU_SOURCE
#include "helpers.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>

static int first(void)
{
	return 1;
}

static int second(void)
{
	return 2;
}

static struct gorgon_table_entry ones[] = {{"one", (void *)first},
					   {"both", (void *)first},
					   {NULL, NULL}};
static struct gorgon_table_entry twos[] = {{"two", (void *)second},
					   {"both", (void *)second},
					   {NULL, NULL}};

static void table_find_knows_its_names_only(void **state)
{
	void *addr = state;

	assert_true(gorgon_table_find(ones, "both", "ANY_VERSION", &addr));
	assert_ptr_equal(addr, first);
	addr = state;
	assert_false(gorgon_table_find(ones, "two", NULL, &addr));
	assert_false(gorgon_table_find(ones, "bot", NULL, &addr));
	assert_false(gorgon_table_find(&ones[2], "one", NULL, &addr));
	assert_ptr_equal(addr, state); // written on success only
}

static void handle_find_asks_the_library(void **state)
{
	void *handle = dlopen(LIBM_SO, RTLD_NOW | RTLD_LOCAL), *addr = state;

	assert_non_null(handle);
	assert_false(gorgon_handle_find(handle, "nothing_at_all", NULL, &addr));
	assert_false(gorgon_handle_find(handle, "cos", "NO_SUCH_VERSION", &addr));
	assert_ptr_equal(addr, state);
	assert_true(gorgon_handle_find(handle, "cos", NULL, &addr));
	assert_ptr_equal(addr, dlsym(handle, "cos"));
	assert_true(gorgon_handle_find(handle, "cos", "GLIBC_2.2.5", &addr));
	assert_ptr_equal(addr, dlsym(handle, "cos"));
	dlclose(handle);
}

static void chain_find_first_answer_counts(void **state)
{
	struct gorgon_provider inner[] = {{gorgon_table_find, twos}, {0}};
	struct gorgon_provider chain[] = {
		{gorgon_table_find, ones}, {gorgon_chain_find, inner}, {0}};
	void *addr = state;

	assert_false(gorgon_chain_find(chain, "three", NULL, &addr));
	assert_ptr_equal(addr, state);
	assert_true(gorgon_chain_find(chain, "both", NULL, &addr));
	assert_ptr_equal(addr, first);
	assert_true(gorgon_chain_find(chain, "two", NULL, &addr));
	assert_ptr_equal(addr, second);
}

// What libundefined.so calls, from the table behind a library that does not have it.
static void object_open_binds_to_what_the_chain_answers(void **state)
{
	struct gorgon_table_entry table[] = {{"nobody_defines_this", (void *)second}, {NULL, NULL}};
	void *handle = dlopen(LIBM_SO, RTLD_NOW | RTLD_LOCAL);
	struct gorgon_provider chain[] = {
		{gorgon_handle_find, handle}, {gorgon_table_find, table}, {0}};
	struct gorgon_provider provider = {gorgon_chain_find, chain};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_ns *ns;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	assert_int_equal(SYMBOL(test_open(ns, "libundefined.so"), int (*)(void), "undefined_call")(), 2);
	test_ns_destroy(ns);
	dlclose(handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_find_knows_its_names_only),
		cmocka_unit_test(handle_find_asks_the_library),
		cmocka_unit_test(chain_find_first_answer_counts),
		cmocka_unit_test(object_open_binds_to_what_the_chain_answers),
	};

	return cmocka_run_group_tests_name("provider", tests, test_warm_up, NULL);
}
