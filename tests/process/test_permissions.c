// SPDX-License-Identifier: MIT
// loader/process/permissions.c: interpreters with and without permissions in one process.

#define _GNU_SOURCE
#include "calls.h"

static struct gorgon_interp *start_denied(unsigned deny)
{
	const struct gorgon_ns_opts ns = {.size = sizeof(ns), .deny = deny};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns};

	return test_interp_start(&opts, NULL);
}

#define FORK "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"

#define EXEC "import os\nos.execve('/nowhere', ['x'], {})"

// How a library was bound is remembered, but not for interpreters to which something else is denied.
static void what_is_denied_is_each_interpreters_own(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		struct gorgon_interp *free_one = start_denied(0), *denied = start_denied(GORGON_DENY_FORK | GORGON_DENY_EXEC);

		assert_raised(gorgon_interp_run_string(denied, FORK, NULL), "PermissionError", "Operation not permitted");
		assert_raised(gorgon_interp_run_string(denied, EXEC, NULL), "PermissionError", "Operation not permitted");
		run(free_one, FORK);
		assert_raised(gorgon_interp_run_string(free_one, EXEC, NULL), "FileNotFoundError", "/nowhere");
		destroy(denied);
		destroy(free_one);
	}
}

static void unknown_flag_is_refused(void **state)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .deny = 0x40};
	struct gorgon_ns *ns;

	(void)state;
	assert_error(gorgon_ns_create(&opts, &ns), GORGON_ERROR_ARGUMENT, "gorgon_ns_opts: deny is 0x40");
}

// A host that gives a list of extensions and forgets the flag would believe that the others are denied.
static void list_of_extensions_without_the_flag_is_refused(void **state)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .extensions = (const char *const[]){"_json.*", NULL}};
	struct gorgon_ns *ns;

	(void)state;
	assert_error(gorgon_ns_create(&opts, &ns), GORGON_ERROR_ARGUMENT,
		     "extensions is a list, and deny is 0x0, expected GORGON_DENY_EXTENSIONS in it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_denied_is_each_interpreters_own),
		cmocka_unit_test(unknown_flag_is_refused),
		cmocka_unit_test(list_of_extensions_without_the_flag_is_refused),
	};

	return cmocka_run_group_tests_name("permissions", tests, test_warm_up, NULL);
}
