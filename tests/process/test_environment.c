// SPDX-License-Identifier: MIT
// loader/process/libc/environment.c: an environment that belongs to an interpreter, as its programs
// and functions under the C library's names see it.

#define _GNU_SOURCE
#include "calls.h"

#include "process/libc/environment.h"
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

static struct gorgon_ns *ns_sharing(void)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share_environment = true};
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
	struct gorgon_ns *ns = ns_with(ENVIRONMENT("A=1", "AB=2")), *other = ns_sharing();

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
	struct gorgon_interp *one = start_with(ENVIRONMENT("WHO=one", "PYTHONPATH=/of/one", "LC_ALL=C.UTF-8"));
	struct gorgon_interp *two = start_with(ENVIRONMENT("WHO=two", "LC_ALL=C")), *plain;

	(void)state;
	setenv("WHO", "process", 1);
	plain = start();
	run(one, "import os, sys\n"
		 "assert dict(os.environ) == {'WHO': 'one', 'PYTHONPATH': '/of/one', 'LC_ALL': 'C.UTF-8'}, os.environ\n"
		 "assert sys.path[0] == '/of/one', sys.path\n"
		 "os.environ['MORE'] = 'of one'\n");
	run(two, "import os, sys\n"
		 "assert dict(os.environ) == {'WHO': 'two', 'LC_ALL': 'C'}, os.environ\n"
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
	struct gorgon_ns *ns = ns_sharing();
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

// A program that starts may need an old array of the process's; when none starts, old arrays are freed.
static void setenv_again_and_again_in(struct gorgon_ns *ns)
{
	size_t before = 0;

	for (int i = 0; i < 20000; i++) {
		assert_int_equal(gorgon_setenv("NOW_AND_THEN", i % 2 ? "1" : "2", 1, ns->environment), 0);
		assert_int_equal(gorgon_unsetenv("NOW_AND_THEN", ns->environment), 0);
		if (i == 1000)
			before = mallinfo2().uordblks;
	}
	assert_in_range(mallinfo2().uordblks, 0, before + 4096);
	test_ns_destroy(ns);
}

static void setenv_again_and_again_needs_no_more_memory(void **state)
{
	(void)state;
	setenv_again_and_again_in(ns_with(NULL));
	setenv_again_and_again_in(ns_sharing());
}

// Each begins with a copy of the process's, and what it or the host changes nobody else sees.
static void create_environment_is_a_copy_of_the_processs(void **state)
{
	struct gorgon_ns *one, *two;

	(void)state;
	setenv("OF_THE_HOST", "1", 1);
	one = ns_with(NULL);
	setenv("OF_THE_HOST", "2", 1);
	two = ns_with(NULL);
	assert_string_equal(gorgon_getenv("OF_THE_HOST", one->environment), "1");
	assert_string_equal(gorgon_getenv("OF_THE_HOST", two->environment), "2");
	for (size_t i = 0; environ[i]; i++)
		assert_string_equal((*gorgon_environment_list(two->environment))[i], environ[i]);
	assert_int_equal(gorgon_setenv("OF_THE_HOST", "3", 1, one->environment), 0);
	assert_int_equal(gorgon_unsetenv("OF_THE_HOST", two->environment), 0);
	assert_string_equal(getenv("OF_THE_HOST"), "2");
	assert_string_equal(gorgon_getenv("OF_THE_HOST", one->environment), "3");
	assert_null(gorgon_getenv("OF_THE_HOST", two->environment));
	unsetenv("OF_THE_HOST");
	test_ns_destroy(one);
	test_ns_destroy(two);
}

static void create_given_and_shared_environment_is_refused(void **state)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .environment = ENVIRONMENT("A=1"), .share_environment = true};
	struct gorgon_ns *ns;

	(void)state;
	assert_error(gorgon_ns_create(&opts, &ns), GORGON_ERROR_ARGUMENT, "share_environment");
}

// A variable that is hidden is found once the namespace's code has set it.
static void hide_lasts_until_the_variable_is_set(void **state)
{
	struct gorgon_ns *ns;

	(void)state;
	setenv("HIDDEN", "process", 1);
	ns = ns_with(NULL);
	gorgon_environment_hide(ns->environment, "HIDDEN");
	assert_null(gorgon_getenv("HIDDEN", ns->environment));
	assert_int_equal(gorgon_setenv("HIDDEN", "own", 1, ns->environment), 0);
	assert_string_equal(gorgon_getenv("HIDDEN", ns->environment), "own");
	unsetenv("HIDDEN");
	test_ns_destroy(ns);
}

// A program that is looked for in PATH is looked for in the interpreter's: by functions that take a list, and with variadic ones.
static void start_path_is_the_interpreters(void **state)
{
	struct gorgon_interp *interp;

	(void)state;
	setenv("WHO", "process", 1);
	interp = start_with(NULL);
	run(interp,
	    "import ctypes, os, tempfile\n"
	    "c = ctypes.CDLL(None, use_errno=True)\n"
	    "folder, denied = tempfile.mkdtemp(), tempfile.mkdtemp()\n"
	    "name = 'gorgon-program'\n"
	    "for place, mode in (denied, 0o644), (folder, 0o755):\n"
	    "    with open(os.open(f'{place}/{name}', os.O_CREAT | os.O_WRONLY, mode), 'w') as file:\n"
	    "        file.write('#!/bin/sh\\ntest \"$1 $WHO\" = \"word own\" && exit 7\\n')\n"
	    "os.environ.update(WHO='own', PATH=f'/nowhere:{denied}:{folder}:/bin:/usr/bin')\n"
	    "words = (ctypes.c_char_p * 3)(name.encode(), b'word', None)\n"
	    "def status(start):\n"
	    "    pid = os.fork()\n"
	    "    if not pid:\n"
	    "        start()\n"
	    "        os._exit(ctypes.get_errno() & 0x7f or 1)\n"
	    "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
	    "full, bare = f'{folder}/{name}'.encode(), name.encode()\n"
	    "assert status(lambda: c.execvp(bare, words)) == 7\n"
	    "assert status(lambda: c.execv(full, words)) == 7\n"
	    "def spawned():\n"
	    "    pid = os.posix_spawnp(name, [name, 'word'], os.environ)\n"
	    "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
	    "assert spawned() == 7\n"
	    "os.environ['PATH'] = denied\n"
	    "assert status(lambda: c.execvp(bare, words)) == 13\n"
	    "os.environ['PATH'] = ''\n"
	    "assert status(lambda: c.execvp(bare, words)) == 2\n"
	    "os.chdir(folder)\n"
	    "assert status(lambda: c.execvp(bare, words)) == 7\n"
	    "del os.environ['PATH']\n"
	    "words = (ctypes.c_char_p * 4)(b'sh', b'-c', b'exit 5', None)\n"
	    "assert status(lambda: c.execvp(b'sh', words)) == 5\n");
	destroy(interp);
	unsetenv("WHO");
}

// The locale of the name "" is what the interpreter's environment says.
static void start_empty_locale_is_the_environments(void **state)
{
	struct gorgon_interp *interp;

	(void)state;
	setenv("LC_ALL", "C", 1);
	interp = start_with(NULL);
	run(interp,
	    "import locale, os\n"
	    "for name in 'C.UTF-8', 'C':\n"
	    "    os.environ['LC_ALL'] = name\n"
	    "    assert locale.setlocale(locale.LC_ALL, '') == name\n"
	    "os.environ.update(LC_ALL='', LANG='C', LC_TIME='C.UTF-8')\n"
	    "whole = locale.setlocale(locale.LC_ALL, '')\n"
	    "assert 'LC_TIME=C.UTF-8' in whole and 'LC_CTYPE=C;' in whole, whole\n"
	    "os.environ['LANG'] = 'no_SUCH'\n"
	    "try:\n"
	    "    locale.setlocale(locale.LC_CTYPE, '')\n"
	    "except locale.Error:\n"
	    "    pass\n"
	    "else:\n"
	    "    assert False\n"
	    "assert locale.setlocale(locale.LC_ALL) == whole\n");
	destroy(interp);
	unsetenv("LC_ALL");
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
		cmocka_unit_test(create_environment_is_a_copy_of_the_processs),
		cmocka_unit_test(create_given_and_shared_environment_is_refused),
		cmocka_unit_test(hide_lasts_until_the_variable_is_set),
		cmocka_unit_test(start_path_is_the_interpreters),
		cmocka_unit_test(start_empty_locale_is_the_environments),
	};

	return cmocka_run_group_tests_name("environment", tests, test_warm_up, NULL);
}
