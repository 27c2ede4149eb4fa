// SPDX-License-Identifier: MIT
// loader/base/provider.c: tables, handles and chains of providers, by themselves and as what a private object is
// bound to; and the options of a single load: where to search, what constructors get.

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <pthread.h>
#include <string.h>

static bool ask(struct gorgon_provider provider, const char *name, const char *version, void **addr)
{
	return provider.find(provider.ctx, name, version, addr);
}

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

	assert_true(ask(gorgon_provider_table(ones), "both", "ANY_VERSION", &addr));
	assert_ptr_equal(addr, first);
	addr = state;
	assert_false(ask(gorgon_provider_table(ones), "two", NULL, &addr));
	assert_false(ask(gorgon_provider_table(ones), "bot", NULL, &addr));
	assert_false(ask(gorgon_provider_table(&ones[2]), "one", NULL, &addr));
	assert_ptr_equal(addr, state); // results are written on success only
}

static void handle_find_asks_the_library(void **state)
{
	void *handle = dlopen(LIBM_SO, RTLD_NOW | RTLD_LOCAL), *addr = state;

	assert_non_null(handle);
	assert_false(ask(gorgon_provider_handle(handle, false), "nothing_at_all", NULL, &addr));
	assert_false(ask(gorgon_provider_handle(handle, false), "cos", "NO_SUCH_VERSION", &addr));
	assert_ptr_equal(addr, state);
	assert_null(dlerror()); // the host's own dlerror()
	assert_true(ask(gorgon_provider_handle(handle, false), "cos", NULL, &addr));
	assert_ptr_equal(addr, dlsym(handle, "cos"));
	assert_true(ask(gorgon_provider_handle(handle, false), "cos", TEST_LIBC_VERSION, &addr));
	assert_ptr_equal(addr, dlsym(handle, "cos"));
	dlclose(handle);
}

static void chain_find_first_answer_counts(void **state)
{
	struct gorgon_provider inner[] = {gorgon_provider_table(twos), {0}};
	struct gorgon_provider chain[] = {gorgon_provider_table(ones),
					  gorgon_provider_chain(inner, false),
					  {0}};
	void *addr = state;

	assert_false(ask(gorgon_provider_chain(chain, false), "three", NULL, &addr));
	assert_ptr_equal(addr, state);
	assert_true(ask(gorgon_provider_chain(chain, false), "both", NULL, &addr));
	assert_ptr_equal(addr, first);
	assert_true(ask(gorgon_provider_chain(chain, false), "two", NULL, &addr));
	assert_ptr_equal(addr, second);
}

// The table has what libundefined.so calls; the library in front of it in the chain does not.
static void object_open_binds_to_what_the_chain_answers(void **state)
{
	struct gorgon_table_entry table[] = {{"nobody_defines_this", (void *)second}, {NULL, NULL}};
	void *handle = dlopen(LIBM_SO, RTLD_NOW | RTLD_LOCAL);
	struct gorgon_provider chain[] = {gorgon_provider_handle(handle, false),
					  gorgon_provider_table(table),
					  {0}};
	struct gorgon_provider provider = gorgon_provider_chain(chain, false);
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_ns *ns;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	assert_int_equal(SYMBOL(test_open(ns, "libundefined.so"), int (*)(void), "undefined_call")(), 2);
	test_ns_destroy(ns);
	dlclose(handle);
}

// --- closing ------------------------------------------------------------------------------

static bool is_open(const char *module)
{
	void *handle = dlopen(test_module(module), RTLD_NOW | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

static void provider_close_gives_back_what_it_has_taken_over(void **state)
{
	void *kept = dlopen(test_module("libprovider.so"), RTLD_NOW);
	void *taken = dlopen(test_module("libprovider_other.so"), RTLD_NOW);
	struct gorgon_provider inner[] = {
		gorgon_provider_handle(taken, true), {0}};
	struct gorgon_provider chain[] = {
		gorgon_provider_handle(kept, false),
		gorgon_provider_chain(inner, true),
		{0}};
	struct gorgon_provider all = gorgon_provider_chain(chain, true);

	(void)state;
	assert_true(is_open("libprovider.so") && is_open("libprovider_other.so"));
	gorgon_provider_close(&chain[0]); // this provider has nothing to close
	assert_true(is_open("libprovider.so"));
	gorgon_provider_close(&all);
	assert_true(is_open("libprovider.so"));
	assert_false(is_open("libprovider_other.so"));
	dlclose(kept);
	assert_false(is_open("libprovider.so"));
}

// --- thread-local variables -----------------------------------------------------------------

static __thread int host_variable = 5;

static void *address_of_host_variable(void)
{
	return &host_variable;
}

static struct gorgon_tls_table_entry variables[] = {{"test_host_tls", address_of_host_variable},
						    {NULL, NULL}};

// What each thread compares: what a provider says and what private code sees.
struct views {
	const struct gorgon_provider *provider;
	int *(*own)(void); // of the library that a provider wraps, not through the provider
	int *(*host)(void), *(*other)(void); // of private code
};

static void *compare_views(void *arg)
{
	const struct views *views = arg;

	if (gorgon_provider_find_symbol(views->provider, "test_host_tls", NULL) != &host_variable ||
	    gorgon_provider_find_symbol(views->provider, "tls_value", NULL) != views->own())
		return "the provider's variables are not those of this thread";
	if (views->host() != &host_variable || *views->host() != 5)
		return "private code does not see the host's variable";
	if (views->other() != views->own() || *views->other() != 11)
		return "private code does not see the library's variable";
	++*views->host(); // each thread has a variable of its own
	++*views->other();
	return NULL;
}

static void object_open_binds_to_thread_local_variables_of_providers(void **state)
{
	void *handle = dlopen(test_module("libtls.so"), RTLD_NOW | RTLD_LOCAL), *failure;
	struct gorgon_provider chain[] = {gorgon_provider_tls_table(variables),
					  gorgon_provider_handle(handle, false),
					  {0}};
	struct gorgon_provider provider = gorgon_provider_chain(chain, false);
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct views views = {.provider = &provider};
	struct gorgon_object *object;
	struct gorgon_ns *ns;
	pthread_t thread;

	(void)state;
	assert_non_null(handle);
	assert_null(gorgon_provider_find_symbol(&provider, "nothing_at_all", NULL));
	assert_ok(gorgon_ns_create(&opts, &ns));
	object = test_open(ns, "libtls_anyone.so");
	views.own = (int *(*)(void))dlsym(handle, "tls_value_at");
	views.host = SYMBOL(object, int *(*)(void), "tls_user_host");
	views.other = SYMBOL(object, int *(*)(void), "tls_user_private");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&thread, NULL, compare_views, &views), 0);
		pthread_join(thread, &failure);
		if (failure)
			fail_msg("%s", (char *)failure);
	}
	assert_null(compare_views(&views));
	test_ns_destroy(ns);
	dlclose(handle);
}

static void *host_variable_is_own(void *host)
{
	return ((int *(*)(void))host)() == &host_variable ? NULL : "wrong";
}

static void object_open_binds_initial_exec_to_variables_of_the_program(void **state)
{
	struct gorgon_provider provider = gorgon_provider_tls_table(variables);
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_ns *ns;
	pthread_t thread;
	void *failure, *host;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	host = test_symbol(test_open(ns, "libtls_host_ie.so"), "tls_user_host");
	assert_int_equal(pthread_create(&thread, NULL, host_variable_is_own, host), 0);
	pthread_join(thread, &failure);
	assert_null(failure);
	assert_null(host_variable_is_own(host));
	test_ns_destroy(ns);
}

// Finds a variable of a library that was loaded late, which is in another place in each thread.
static bool find_late(void *handle, const char *name, const char *version, void **addr)
{
	return !strcmp(name, "test_host_tls") &&
	       ask(gorgon_provider_handle(handle, false), "tls_value", version, addr);
}

static void object_open_initial_exec_to_a_late_library_is_refused(void **state)
{
	void *handle = dlopen(test_module("libtls.so"), RTLD_NOW | RTLD_LOCAL);
	struct gorgon_provider provider = {.find = find_late, .ctx = handle};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_object *object;
	struct gorgon_ns *ns;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	assert_error(gorgon_object_open(ns, test_module("libtls_host_ie.so"), NULL, &object),
		     GORGON_ERROR_UNSUPPORTED, "test_host_tls: referred to as initial-exec");
	test_ns_destroy(ns);
	dlclose(handle);
}

static void object_open_function_as_thread_local_variable_is_refused(void **state)
{
	struct gorgon_table_entry table[] = {{"test_host_tls", (void *)first}, {"tls_value", (void *)first}, {NULL, NULL}};
	struct gorgon_provider provider = gorgon_provider_table(table);
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .provider = &provider};
	struct gorgon_object *object;
	struct gorgon_ns *ns;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	// The message may name either variable: the linker decides which relocation comes first.
	assert_error(gorgon_object_open(ns, test_module("libtls_anyone.so"), NULL, &object),
		     GORGON_ERROR_UNSUPPORTED, "thread-local symbol t");
	test_ns_destroy(ns);
}

// --- options of one load ----------------------------------------------------------------------

// liblate.so asks for global_answer(), which several libraries and a provider have.
static int late_answer(struct gorgon_ns *ns, const struct gorgon_open_opts *opts)
{
	struct gorgon_object *object;
	int answer;

	assert_ok(gorgon_object_open(ns, test_module("liblate.so"), opts, &object));
	answer = SYMBOL(object, int (*)(void), "late_answer")();
	gorgon_object_close(object);
	return answer;
}

static void object_open_searches_its_list_in_order_then_others(void **state)
{
	struct gorgon_table_entry table[] = {{"global_answer", (void *)second}, {NULL, NULL}};
	struct gorgon_provider provider = gorgon_provider_table(table);
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *a = test_open(ns, "libprovider.so"), *global;
	struct gorgon_object *b = test_open(ns, "libprovider_other.so");
	struct gorgon_object *none = test_open(ns, "libbasic.so");
	struct gorgon_object *a_first[] = {none, a, b, NULL}, *b_first[] = {b, a, NULL};
	struct gorgon_object *nothing[] = {none, NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .search = a_first};

	(void)state;
	assert_int_equal(late_answer(ns, &opts), 43);
	opts.search = b_first;
	assert_int_equal(late_answer(ns, &opts), 8);
	opts.provider = &provider; // after private objects
	assert_int_equal(late_answer(ns, &opts), 8);
	opts.search = nothing;
	assert_int_equal(late_answer(ns, &opts), 3);
	assert_ok(gorgon_object_open(ns, test_module("libprovider.so"), &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL}, &global));
	assert_int_equal(late_answer(ns, &opts), 43);
	opts.search = b_first; // searched before the namespace's own folders
	assert_int_equal(late_answer(ns, &opts), 8);
	test_ns_destroy(ns);
}

static void object_open_provider_of_the_load_comes_before_the_namespaces(void **state)
{
	struct gorgon_table_entry one[] = {{"global_answer", (void *)first}, {NULL, NULL}};
	struct gorgon_table_entry two[] = {{"global_answer", (void *)second}, {NULL, NULL}};
	struct gorgon_provider outer = gorgon_provider_table(one);
	struct gorgon_provider inner = gorgon_provider_table(two);
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts), .provider = &outer};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .provider = &inner};
	struct gorgon_ns *ns;

	(void)state;
	assert_ok(gorgon_ns_create(&ns_opts, &ns));
	assert_int_equal(late_answer(ns, &opts), 3);
	assert_int_equal(late_answer(ns, NULL), 2);
	test_ns_destroy(ns);
}

static void object_open_searched_objects_stay_while_bound_to(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *provider = test_open(ns, "libprovider.so"), *object;
	struct gorgon_object *search[] = {provider, NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .search = search};

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("liblate.so"), &opts, &object));
	gorgon_object_close(provider);
	assert_int_equal(SYMBOL(object, int (*)(void), "late_answer")(), 43);
	assert_int_equal(test_snapshot().objects, 2);
	gorgon_object_close(object);
	assert_int_equal(test_snapshot().objects, 0);
	test_ns_destroy(ns);
}

static void object_open_thread_local_variables_are_searched_too(void **state)
{
	struct gorgon_provider provider = gorgon_provider_tls_table(variables);
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *tls = test_open(ns, "libtls.so"), *object;
	struct gorgon_object *search[] = {tls, NULL};
	struct gorgon_open_opts opts = {
		.size = sizeof(opts), .search = search, .provider = &provider};

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("libtls_anyone.so"), &opts, &object));
	assert_ptr_equal(SYMBOL(object, int *(*)(void), "tls_user_private")(),
			 SYMBOL(tls, int *(*)(void), "tls_value_at")());
	assert_ptr_equal(gorgon_object_find_symbol(tls, "tls_value", NULL),
			 SYMBOL(tls, int *(*)(void), "tls_value_at")());
	assert_ptr_equal(SYMBOL(object, int *(*)(void), "tls_user_host")(), &host_variable);
	test_ns_destroy(ns);
}

static void object_open_constructors_get_what_the_options_say(void **state)
{
	static const char *const argv[] = {"spam", "--eggs", NULL}, *const envp[] = {"A=1", NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .argv = argv, .envp = envp};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("libinit.so"), &opts, &object));
	test_notes();
	SYMBOL(object, void (*)(void), "init_probe")();
	assert_string_equal(test_notes(), "argc=2 name=0 end=1 envp=0 ");
	assert_ptr_equal(SYMBOL(object, char **(*)(void), "init_argv")(), argv);
	assert_ptr_equal(SYMBOL(object, char **(*)(void), "init_envp")(), envp);
	gorgon_object_close(object);
	assert_ok(gorgon_object_open(ns, test_module("libinit.so"), NULL, &object));
	test_notes();
	SYMBOL(object, void (*)(void), "init_probe")();
	assert_string_equal(test_notes(), "argc=1 name=1 end=1 envp=1 ");
	test_ns_destroy(ns);
	test_notes();
}

// The constructor of another library opens libinit.so, without options, before it would be libinit.so's turn.
static void object_open_constructors_get_what_their_load_says(void **state)
{
	static const char *const argv[] = {"spam", "--eggs", NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .argv = argv};
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *user, *init;

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("libinit_user.so"), &opts, &user));
	assert_string_equal(test_notes(), "+nested +DT_INIT +early +late =nested +init_user1 +init_user2 ");
	init = test_open(ns, "libinit.so");
	assert_ptr_equal(SYMBOL(init, char **(*)(void), "init_argv")(), argv);
	test_ns_destroy(ns);
	test_notes();
}

static void object_open_with_wrong_options_is_refused(void **state)
{
	struct gorgon_ns *ns = test_ns(), *other = test_ns();
	struct gorgon_object *search[] = {test_open(ns, "libbasic.so"),
					  test_open(other, "libbasic.so"), NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .search = search};
	struct gorgon_object *object;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("liblate.so"), &opts, &object),
		     GORGON_ERROR_ARGUMENT, "libbasic.so of namespace");
	opts = (struct gorgon_open_opts){.size = 1};
	assert_error(gorgon_object_open(ns, test_module("liblate.so"), &opts, &object),
		     GORGON_ERROR_ARGUMENT, "gorgon_open_opts: size is 1, expected");
	test_ns_destroy(other);
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_find_knows_its_names_only),
		cmocka_unit_test(handle_find_asks_the_library),
		cmocka_unit_test(chain_find_first_answer_counts),
		cmocka_unit_test(object_open_binds_to_what_the_chain_answers),
		cmocka_unit_test(provider_close_gives_back_what_it_has_taken_over),
		cmocka_unit_test(object_open_binds_to_thread_local_variables_of_providers),
		cmocka_unit_test(object_open_binds_initial_exec_to_variables_of_the_program),
		cmocka_unit_test(object_open_initial_exec_to_a_late_library_is_refused),
		cmocka_unit_test(object_open_function_as_thread_local_variable_is_refused),
		cmocka_unit_test(object_open_searches_its_list_in_order_then_others),
		cmocka_unit_test(object_open_provider_of_the_load_comes_before_the_namespaces),
		cmocka_unit_test(object_open_searched_objects_stay_while_bound_to),
		cmocka_unit_test(object_open_thread_local_variables_are_searched_too),
		cmocka_unit_test(object_open_constructors_get_what_the_options_say),
		cmocka_unit_test(object_open_constructors_get_what_their_load_says),
		cmocka_unit_test(object_open_with_wrong_options_is_refused),
	};

	return cmocka_run_group_tests_name("provider", tests, test_warm_up, NULL);
}
