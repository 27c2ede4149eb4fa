// SPDX-License-Identifier: MIT
// loader/process/environment.c: an environment that belongs to an interpreter, as its programs and functions under
// the C library's names see it.

#define _GNU_SOURCE
#include "calls.h"

#include "process/environment.h"
#include "ns/ns.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct gorgon_ns *ns_with(const char *const *environment)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .environment = environment};
	struct gorgon_ns *ns;

	assert_ok(gorgon_ns_create(&opts, &ns));
	return ns;
}

static struct gorgon_interp *start_with(const char *const *environment)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					     .environment = environment}};

	return test_interp_start(&opts, NULL);
}

// All variables, each followed by a space.
static const char *whole(struct gorgon_ns *ns)
{
	static char text[200];

	text[0] = '\0';
	for (char **entry = *gorgon_environment_list(ns->environment); entry && *entry; entry++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", *entry);
	return text;
}

static void setenv_changes_the_namespaces_only(void **state)
{
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("A=1", "AB=2")), *other = ns_with(NULL);

	(void)state;
	unsetenv("A");
	assert_string_equal(gorgon_getenv("A", ns->environment), "1");
	assert_string_equal(gorgon_secure_getenv("AB", ns->environment), "2");
	assert_null(gorgon_getenv("PATH", ns->environment));
	assert_null(gorgon_getenv("A", other->environment));
	assert_int_equal(gorgon_setenv("A", "x", 0, ns->environment), 0);
	assert_int_equal(gorgon_setenv("AB", "3=4", 1, ns->environment), 0);
	assert_int_equal(gorgon_setenv("C", "", 0, ns->environment), 0);
	assert_string_equal(whole(ns), "A=1 AB=3=4 C= ");
	assert_null(getenv("C"));
	assert_int_equal(gorgon_unsetenv("A", ns->environment), 0);
	assert_int_equal(gorgon_unsetenv("nothing", ns->environment), 0);
	assert_string_equal(whole(ns), "AB=3=4 C= ");
	assert_int_equal(gorgon_setenv("TEST_OF_THE_PROCESS", "5", 1, other->environment), 0);
	assert_string_equal(getenv("TEST_OF_THE_PROCESS"), "5");
	assert_string_equal(gorgon_getenv("TEST_OF_THE_PROCESS", other->environment), "5");
	assert_int_equal(gorgon_unsetenv("TEST_OF_THE_PROCESS", other->environment), 0);
	assert_null(getenv("TEST_OF_THE_PROCESS"));
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

static void setenv_name_that_is_none_is_refused(void **state)
{
	static const char *const names[] = {"", "A=B", NULL};
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("A=1"));

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		errno = 0;
		assert_int_equal(gorgon_setenv(names[i], "x", 1, ns->environment), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(gorgon_unsetenv(names[i], ns->environment), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_string_equal(whole(ns), "A=1 ");
	test_ns_destroy(ns);
}

// putenv() keeps the caller's string, which may change.
static void putenv_string_is_part_of_it(void **state)
{
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("A=1", "B=2"));
	char text[] = "C=3", name[] = "A";

	(void)state;
	assert_int_equal(gorgon_putenv(text, ns->environment), 0);
	text[2] = '4';
	assert_string_equal(whole(ns), "A=1 B=2 C=4 ");
	assert_int_equal(gorgon_putenv(name, ns->environment), 0); // does the same as unsetenv()
	assert_string_equal(whole(ns), "B=2 C=4 ");
	assert_int_equal(gorgon_clearenv(ns->environment), 0);
	assert_string_equal(whole(ns), "");
	assert_null(gorgon_getenv("B", ns->environment));
	assert_int_equal(gorgon_setenv("B", "5", 0, ns->environment), 0);
	assert_string_equal(whole(ns), "B=5 ");
	test_ns_destroy(ns);
}

static void setenv_over_an_array_of_the_programs_leaves_that_alone(void **state)
{
	struct gorgon_ns *ns = ns_with(ENVIRONMENT(NULL));
	char first[] = "X=1", *mine[] = {first, NULL};

	(void)state;
	assert_string_equal(whole(ns), "");
	*gorgon_environment_list(ns->environment) = mine;
	assert_int_equal(gorgon_setenv("Y", "2", 1, ns->environment), 0);
	assert_string_equal(whole(ns), "X=1 Y=2 ");
	assert_null(mine[1]);
	test_ns_destroy(ns);
}

static void setenv_many_variables_are_all_found(void **state)
{
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("LAST=1"));
	char name[20], value[20];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "V%d", i);
			snprintf(value, sizeof(value), "%d", i + round);
			assert_int_equal(gorgon_setenv(name, value, 1, ns->environment), 0);
		}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "V%d", i);
		assert_int_equal(atoi(gorgon_getenv(name, ns->environment)), i + 1);
	}
	assert_string_equal(gorgon_getenv("LAST", ns->environment), "1");
	test_ns_destroy(ns);
}

static void object_open_constructors_get_it(void **state)
{
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("A=1"));
	struct gorgon_object *object = test_open(ns, "libinit.so");

	(void)state;
	assert_ptr_equal(SYMBOL(object, char **(*)(void), "init_envp")(),
			 *gorgon_environment_list(ns->environment));
	test_ns_destroy(ns);
	test_notes();
}

static void start_environments_differ_per_interpreter(void **state)
{
	struct gorgon_interp *one = start_with(ENVIRONMENT("WHO=one", "PYTHONPATH=/of/one"));
	struct gorgon_interp *two = start_with(ENVIRONMENT("WHO=two")), *plain;

	(void)state;
	setenv("WHO", "process", 1);
	plain = start();
	run(one, "import os, sys\n"
		 "assert dict(os.environ) == {'WHO': 'one', 'PYTHONPATH': '/of/one'}, os.environ\n"
		 "assert sys.path[0] == '/of/one', sys.path\n"
		 "os.environ['MORE'] = 'of one'\n");
	run(two, "import os, sys\n"
		 "assert dict(os.environ) == {'WHO': 'two'}, os.environ\n"
		 "assert '/of/one' not in sys.path\n");
	run(plain, "import os\n"
		   "assert os.environ['WHO'] == 'process' and 'MORE' not in os.environ\n");
	assert_null(getenv("MORE"));
	destroy(one);
	destroy(two);
	destroy(plain);
	unsetenv("WHO");
}

// C code of the interpreter, and programs that it starts, see what Python sets.
static void start_environment_reaches_c_code_and_programs(void **state)
{
	struct gorgon_interp *interp = start_with(ENVIRONMENT("WHO=one", "PATH=/usr/bin:/bin"));

	(void)state;
	setenv("WHO", "process", 1);
	run(interp,
	    "import ctypes, os, subprocess\n"
	    "c = ctypes.CDLL(None)\n"
	    "c.getenv.restype = ctypes.c_char_p\n"
	    "assert c.getenv(b'WHO') == b'one'\n"
	    "os.environ['MORE'] = 'of one'\n"
	    "assert c.getenv(b'MORE') == b'of one'\n"
	    "first = ctypes.POINTER(ctypes.c_char_p).in_dll(c, 'environ')\n"
	    "assert first[0] == b'WHO=one', first[0]\n"
	    "show = 'echo $WHO, $MORE'\n"
	    "assert subprocess.check_output(['sh', '-c', show]) == b'one, of one\\n'\n"
	    "assert os.popen(show).read() == 'one, of one\\n'\n"
	    "assert os.system('test \"$WHO, $MORE\" = \"one, of one\"') == 0\n"
	    "assert os.waitstatus_to_exitcode(os.system('exit 7')) == 7\n"
	    "assert c.system(None) != 0\n");
	destroy(interp);
	unsetenv("WHO");
}

// The namespace has the process's environment.
static void setenv_in_the_processs_environment_keeps_what_the_host_has(void **state)
{
	static char *before[1000]; // the host's own setenv() frees its array
	struct gorgon_ns *ns = ns_with(NULL);
	char text[] = "PUT_HERE=1", *found;

	(void)state;
	for (size_t i = 0; environ[i]; i++) {
		assert_in_range(i, 0, sizeof(before) / sizeof(*before) - 2);
		before[i] = strdup(environ[i]);
	}
	setenv("OF_THE_HOST", "1", 1);
	assert_int_equal(gorgon_setenv("OF_THE_HOST", "2", 0, ns->environment), 0);
	assert_string_equal(getenv("OF_THE_HOST"), "1");
	assert_int_equal(gorgon_setenv("OF_THE_HOST", "2", 1, ns->environment), 0);
	found = getenv("OF_THE_HOST");
	assert_string_equal(found, "2");
	assert_int_equal(gorgon_setenv("SET_HERE", "3", 1, ns->environment), 0);
	setenv("SET_BY_THE_HOST_LATER", "4", 1);
	assert_int_equal(gorgon_putenv(text, ns->environment), 0);
	assert_string_equal(getenv("SET_HERE"), "3");
	assert_string_equal(getenv("SET_BY_THE_HOST_LATER"), "4");
	memset(text, 'x', sizeof(text) - 1); // a library that has such a string may be unloaded
	assert_string_equal(getenv("PUT_HERE"), "1");
	assert_int_equal(gorgon_unsetenv("SET_HERE", ns->environment), 0);
	assert_int_equal(gorgon_unsetenv("PUT_HERE", ns->environment), 0);
	assert_null(getenv("SET_HERE"));
	assert_null(getenv("PUT_HERE"));
	assert_int_equal(gorgon_setenv("A=B", "5", 1, ns->environment), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(gorgon_clearenv(ns->environment), 0);
	assert_null(getenv("OF_THE_HOST"));
	assert_string_equal(found, "2");
	environ = before;
	test_ns_destroy(ns);
}

// A program that starts may need an old array; when none starts, old arrays are freed.
static void setenv_again_and_again_needs_no_more_memory(void **state)
{
	struct gorgon_ns *ns = ns_with(NULL);
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(gorgon_setenv("NOW_AND_THEN", i % 2 ? "1" : "2", 1, ns->environment), 0);
		assert_int_equal(gorgon_unsetenv("NOW_AND_THEN", ns->environment), 0);
		if (i == 1000)
			before = mallinfo2().uordblks;
	}
	assert_in_range(mallinfo2().uordblks, 0, before + 4096);
	test_ns_destroy(ns);
}

// Runs in a child, which becomes the program.
static int become_program(void *arg)
{
	(void)arg;
	setenv("WHO", "process", 1);
	run(start_with(ENVIRONMENT("WHO=one")),
	    "import os\n"
	    "os.execv('/bin/sh', ['sh', '-c', 'test \"$WHO\" = one && exit 9'])\n");
	return 1;
}

static void start_environment_is_the_next_programs(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(become_program, NULL), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setenv_changes_the_namespaces_only),
		cmocka_unit_test(setenv_name_that_is_none_is_refused),
		cmocka_unit_test(putenv_string_is_part_of_it),
		cmocka_unit_test(setenv_over_an_array_of_the_programs_leaves_that_alone),
		cmocka_unit_test(setenv_many_variables_are_all_found),
		cmocka_unit_test(object_open_constructors_get_it),
		cmocka_unit_test(start_environments_differ_per_interpreter),
		cmocka_unit_test(start_environment_reaches_c_code_and_programs),
		cmocka_unit_test(start_environment_is_the_next_programs),
		cmocka_unit_test(setenv_in_the_processs_environment_keeps_what_the_host_has),
		cmocka_unit_test(setenv_again_and_again_needs_no_more_memory),
	};

	return cmocka_run_group_tests_name("environment", tests, test_warm_up, NULL);
}
