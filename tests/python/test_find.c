// SPDX-License-Identifier: MIT
// loader/python/find.c: from "python" to a libpython.

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY	   "/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1.0"
#define EXECUTABLE "/usr/bin/python" TEST_PYTHON
#define MINOR	   ((unsigned)atoi(strchr(TEST_PYTHON, '.') + 1))

static void assert_found(const char *path, const char *library, const char *executable)
{
	struct gorgon_python python = {0};
	bool same;

	assert_ok(gorgon_python_find(path, &python));
	same = !strcmp(python.libpython, library) && !strcmp(python.executable, executable) &&
	       python.minor == MINOR && !python.debug;
	if (!same)
		print_error("%s: %s, %s, 3.%u%s\n", path, python.libpython, python.executable,
			    python.minor, python.debug ? "d" : "");
	gorgon_python_deinit(&python);
	assert_true(same);
}

static void refuse(const char *path, enum gorgon_error_code code, const char *text)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_python python = {0};

	assert_error(gorgon_python_find(path, &python), code, text);
	assert_null(python.libpython);
	assert_null(python.executable);
	assert_unchanged(&before);
}

static void python_find_null_gives_the_systems_newest(void **state)
{
	struct gorgon_python python = {0};

	(void)state;
	assert_ok(gorgon_python_find(NULL, &python));
	assert_int_equal(access(python.libpython, R_OK), 0);
	assert_non_null(strstr(python.libpython, "/libpython3."));
	assert_non_null(strstr(python.executable, "/bin/python3."));
	assert_true(python.minor >= 11);
	assert_false(python.debug);
	gorgon_python_deinit(&python);
	assert_null(python.libpython);
}

static void python_find_library_is_itself(void **state)
{
	(void)state;
	assert_found(LIBRARY, LIBRARY, EXECUTABLE);
	assert_found("/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1", LIBRARY, EXECUTABLE);
	// Merged /usr: the directory is a link, the name the caller's.
	assert_found("/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON ".so.1.0", LIBRARY, EXECUTABLE);
}

static void python_find_executable_gives_library_of_its_prefix(void **state)
{
	(void)state;
	assert_found(EXECUTABLE, LIBRARY, EXECUTABLE);
	assert_found("/usr/bin/python3", LIBRARY, "/usr/bin/python3");
}

static void python_find_debug_build_is_recognised(void **state)
{
	struct gorgon_python python = {0};

	(void)state;
	if (access(EXECUTABLE "d", X_OK))
		skip_because("python" TEST_PYTHON "-dbg is not installed");
	assert_ok(gorgon_python_find(EXECUTABLE "d", &python));
	assert_true(python.debug);
	assert_string_equal(python.libpython, "/usr/lib/" TEST_MULTIARCH "/libpython" TEST_PYTHON "d.so.1.0");
	gorgon_python_deinit(&python);
}

static void make_venv(const char *dir, const char *option)
{
	assert_int_equal(test_run(EXECUTABLE " -m venv --without-pip %s %s", option,
				  test_temp(dir)), 0);
}

static void python_find_venv_of_links_keeps_its_executable(void **state)
{
	(void)state;
	make_venv("links", "--symlinks");
	assert_found(test_temp("links/bin/python"), LIBRARY, test_temp("links/bin/python"));
	assert_found(test_temp("links/bin/python3"), LIBRARY, test_temp("links/bin/python3"));
}

static void python_find_venv_of_copies_follows_its_configuration(void **state)
{
	(void)state;
	make_venv("copies", "--copies");
	assert_found(test_temp("copies/bin/python"), LIBRARY, test_temp("copies/bin/python"));
}

// The copy has a version in its name, but no library in its prefix.
static void python_find_venv_of_copies_versioned_name_is_found_too(void **state)
{
	const char *path = test_temp("copies/bin/python" TEST_PYTHON);

	(void)state;
	make_venv("copies", "--copies");
	if (access(path, X_OK))
		test_run("cp %s %s", EXECUTABLE, path);
	assert_found(path, LIBRARY, path);
}

static void python_find_venv_of_a_venv_of_copies_follows_both(void **state)
{
	(void)state;
	make_venv("first", "--copies");
	assert_int_equal(test_run("%s -m venv --without-pip --copies %s", test_temp("first/bin/python"),
				  test_temp("second")), 0);
	assert_found(test_temp("second/bin/python"), LIBRARY, test_temp("second/bin/python"));
}

// virtualenv uses other names, and an environment may name itself as its origin.
static void python_find_virtualenv_of_copies_follows_its_configuration(void **state)
{
	static const char text[] = "home = /usr/bin\nversion_info = 3.11.2.final.0\n"
				   "base-executable = " EXECUTABLE "\n";
	char itself[4200];
	int size = snprintf(itself, sizeof(itself), "executable = %s\n", test_temp("v/bin/python"));

	(void)state;
	make_venv("v", "--copies");
	test_write(test_temp("v/pyvenv.cfg"), text, sizeof(text) - 1);
	assert_found(test_temp("v/bin/python"), LIBRARY, test_temp("v/bin/python"));
	test_write(test_temp("v/pyvenv.cfg"), itself, (size_t)size);
	refuse(test_temp("v/bin/python"), GORGON_ERROR_PYTHON, "cannot tell which CPython");
}

static void python_find_venv_without_configuration_is_refused(void **state)
{
	(void)state;
	make_venv("broken", "--copies");
	unlink(test_temp("broken/pyvenv.cfg"));
	refuse(test_temp("broken/bin/python"), GORGON_ERROR_PYTHON,
	       "cannot tell which CPython this is");
}

static void python_find_venv_configuration_with_absent_python_is_refused(void **state)
{
	static const char text[] = "home = /nonexistent\nexecutable = /nonexistent/python3.11\n";

	(void)state;
	make_venv("moved", "--copies");
	test_write(test_temp("moved/pyvenv.cfg"), text, sizeof(text) - 1);
	refuse(test_temp("moved/bin/python"), GORGON_ERROR_PYTHON, "cannot tell which CPython");
}

static void python_find_relative_name_becomes_absolute(void **state)
{
	char *cwd = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir("/usr/bin"), 0);
	assert_found("python" TEST_PYTHON, LIBRARY, EXECUTABLE);
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
}

static void python_find_absent_file_is_an_os_error(void **state)
{
	(void)state;
	refuse("/nonexistent", GORGON_ERROR_OS, "/nonexistent: No such file or directory");
	refuse("", GORGON_ERROR_OS, "No such file");
}

static void python_find_directory_is_refused(void **state)
{
	(void)state;
	refuse("/usr/lib", GORGON_ERROR_FORMAT, "/usr/lib: not a regular file");
}

static void python_find_script_is_refused(void **state)
{
	const char *path = test_temp("python3.11-wrapper");

	(void)state;
	test_write(path, "#!/bin/sh\nexec python3\n", 23);
	refuse(path, GORGON_ERROR_PYTHON,
	       "is a script, expected a python executable or a libpython");
}

static void python_find_text_file_is_refused(void **state)
{
	const char *path = test_temp("python3.11");

	(void)state;
	test_write(path, "hello\n", 6);
	refuse(path, GORGON_ERROR_FORMAT, "not an ELF file (6 bytes)");
}

static void python_find_other_library_is_refused(void **state)
{
	(void)state;
	refuse(test_module("libbasic.so"), GORGON_ERROR_PYTHON,
	       "whose name is not libpython3.N.so");
}

static void python_find_other_executable_is_refused(void **state)
{
	(void)state;
	refuse("/bin/true", GORGON_ERROR_PYTHON, "neither a libpython nor an executable named");
}

static void python_find_old_version_is_refused(void **state)
{
	const char *path = test_temp("libpython3.9.so.1.0");

	(void)state;
	test_run("cp %s %s", test_module("libbasic.so"), path);
	refuse(path, GORGON_ERROR_UNSUPPORTED, "is CPython 3.9, expected 3.11 or newer");
}

static void python_find_free_threaded_python_is_refused(void **state)
{
	const char *library = test_temp("libpython3.13t.so.1.0");
	const char *executable = test_temp("python3.14td");

	(void)state;
	test_run("cp %s %s", test_module("libbasic.so"), library);
	test_run("cp /usr/bin/true %s", executable);
	refuse(library, GORGON_ERROR_UNSUPPORTED, "is a free-threaded CPython, expected one with");
	refuse(executable, GORGON_ERROR_UNSUPPORTED, "is a free-threaded CPython, expected one with");
}

// An executable that is linked with a libpython says so, whatever it is called.
static void python_find_executable_that_needs_a_libpython_may_have_any_name(void **state)
{
	const char *path = test_temp("snake");

	(void)state;
	test_run("cp %s %s", test_module("../host_python"), path);
	assert_found(path, LIBRARY, path);
	// The libpython that it needs counts, not its name.
	test_run("cp %s %s", path, test_temp("python3.12"));
	assert_found(test_temp("python3.12"), LIBRARY, test_temp("python3.12"));
}

// The executables of python-build-standalone name their libpython by a path in DT_NEEDED, and have no DT_RUNPATH.
static void python_find_executable_that_needs_a_libpython_beside_it(void **state)
{
	const char *library = test_temp("built/lib/libpython" TEST_PYTHON ".so.1.0");
	const char *path = test_temp("built/bin/snake");

	(void)state;
	test_run("mkdir -p %s %s", test_temp("built/lib"), test_temp("built/bin"));
	test_run("echo | cc -shared -x c -o %s -Wl,-soname,'$ORIGIN/../lib/libpython" TEST_PYTHON ".so.1.0' -",
		 library);
	test_run("echo 'int main(void) { return 0; }' | cc -x c -o %s - -x none -Wl,--no-as-needed %s", path,
		 library);
	assert_found(path, library, path);
}

static void python_find_damaged_executable_is_refused(void **state)
{
	const char *path = test_temp("python3.11");
	size_t size;
	uint8_t *data = test_read(test_module("../host_python"), &size);
	Elf64_Phdr *ph = (Elf64_Phdr *)(data + ((Elf64_Ehdr *)data)->e_phoff);
	Elf64_Dyn *dyn;

	(void)state;
	while (ph->p_type != PT_DYNAMIC)
		ph++;
	test_write(path, data, sizeof(Elf64_Ehdr));
	refuse(path, GORGON_ERROR_FORMAT, path);
	test_write(path, data, (size_t)ph->p_offset);
	refuse(path, GORGON_ERROR_FORMAT, path);
	for (dyn = (Elf64_Dyn *)(data + ph->p_offset); dyn->d_tag != DT_NEEDED;)
		dyn++;
	dyn->d_un.d_val = 1u << 30;
	test_write(path, data, size);
	refuse(path, GORGON_ERROR_FORMAT, "a name of PT_DYNAMIC is not in DT_STRTAB");
	((Elf64_Ehdr *)data)->e_machine = TEST_OTHER_MACHINE;
	test_write(path, data, size);
	refuse(path, GORGON_ERROR_MACHINE, "e_machine " TEST_OTHER_NUMBER);
	free(data);
}

// A python that was built without --enable-shared.
static void python_find_static_python_tells_what_to_install(void **state)
{
	(void)state;
	mkdir(test_temp("static"), 0700);
	mkdir(test_temp("static/bin"), 0700);
	test_run("cp " EXECUTABLE " %s", test_temp("static/bin/python" TEST_PYTHON));
	refuse(test_temp("static/bin/python" TEST_PYTHON), GORGON_ERROR_PYTHON,
	       "found no libpython" TEST_PYTHON ".so.1.0");
	refuse(test_temp("static/bin/python" TEST_PYTHON), GORGON_ERROR_PYTHON,
	       "/static; install a Python that was configured with --enable-shared");
}

// To find a libpython, not all of the file is read; to load it, all of it is.
static void interp_create_truncated_libpython_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	const char *path = test_temp("libpython" TEST_PYTHON ".so.1.0");
	struct gorgon_interp *interp = NULL;
	struct test_snapshot before = test_snapshot();
	size_t size;
	uint8_t *data = test_read(LIBRARY, &size);

	(void)state;
	test_write(path, data, size / 2);
	free(data);
	opts.python = path;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_FORMAT, path);
	assert_null(interp);
	assert_unchanged(&before);
}

// The library has the right name and no Python in it.
static void interp_create_library_without_python_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	const char *path = test_temp("libpython" TEST_PYTHON ".so.1.0");
	struct gorgon_interp *interp = NULL;
	struct test_snapshot before = test_snapshot();

	(void)state;
	unlink(path);
	test_run("cp %s %s", test_module("libbasic.so"), path);
	opts.python = path;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_PYTHON,
		     "has no Py_BytesMain: not a libpython");
	assert_int_equal(gorgon_interp_count(), 0);
	assert_unchanged(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_find_null_gives_the_systems_newest),
		cmocka_unit_test(python_find_library_is_itself),
		cmocka_unit_test(python_find_executable_gives_library_of_its_prefix),
		cmocka_unit_test(python_find_debug_build_is_recognised),
		cmocka_unit_test(python_find_venv_of_links_keeps_its_executable),
		cmocka_unit_test(python_find_venv_of_copies_follows_its_configuration),
		cmocka_unit_test(python_find_venv_of_copies_versioned_name_is_found_too),
		cmocka_unit_test(python_find_venv_of_a_venv_of_copies_follows_both),
		cmocka_unit_test(python_find_virtualenv_of_copies_follows_its_configuration),
		cmocka_unit_test(python_find_venv_without_configuration_is_refused),
		cmocka_unit_test(python_find_venv_configuration_with_absent_python_is_refused),
		cmocka_unit_test(python_find_relative_name_becomes_absolute),
		cmocka_unit_test(python_find_absent_file_is_an_os_error),
		cmocka_unit_test(python_find_directory_is_refused),
		cmocka_unit_test(python_find_script_is_refused),
		cmocka_unit_test(python_find_text_file_is_refused),
		cmocka_unit_test(python_find_other_library_is_refused),
		cmocka_unit_test(python_find_other_executable_is_refused),
		cmocka_unit_test(python_find_old_version_is_refused),
		cmocka_unit_test(python_find_free_threaded_python_is_refused),
		cmocka_unit_test(python_find_executable_that_needs_a_libpython_may_have_any_name),
		cmocka_unit_test(python_find_executable_that_needs_a_libpython_beside_it),
		cmocka_unit_test(python_find_damaged_executable_is_refused),
		cmocka_unit_test(python_find_static_python_tells_what_to_install),
		cmocka_unit_test(interp_create_truncated_libpython_is_refused),
		cmocka_unit_test(interp_create_library_without_python_is_refused),
	};

	return cmocka_run_group_tests_name("find", tests, test_warm_up, NULL);
}
