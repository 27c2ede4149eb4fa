// SPDX-License-Identifier: MIT
// A host that has more rights than its user (AT_SECURE: a set-user-ID program) takes nothing from the user's environment.
//
// The cases run copies of this program as another user's. A copy is run as `test_secure inside FOLDER`, and its
// exit status says what it has taken from the environment.

#define _GNU_SOURCE
#include "helpers.h"

#include "isolate/folder.h"
#include "ns/search.h"
#include "process/libc/environment.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../jitreg/cache.h"

#define USER 65533

enum { SECURE = 1, SEARCHED = 2, COPIED = 4, CACHED = 8, PRIVATE = 16 };

static int build(void *ctx, uint8_t **bytes, size_t *size)
{
	(void)ctx;
	(void)bytes;
	(void)size;
	return -ECANCELED; // a file was made in the folder, which therefore was trusted
}

// Says what this program takes from the environment, which leads to @folder.
static int run_inside(const char *folder)
{
	struct jitreg_cached cached;
	struct gorgon_error *error;
	const char *copies;
	char *file = NULL;
	int ret = getauxval(AT_SECURE) ? SECURE : 0;

	// The system's linker has taken the first two out of the environment of a privileged program.
	setenv("LD_LIBRARY_PATH", folder, 1);
	setenv("TMPDIR", folder, 1);
	setenv("XDG_CACHE_HOME", folder, 1);
	error = gorgon_search("libsecure.so", NULL, &file);
	if (!error)
		ret |= SEARCHED;
	gorgon_error_destroy(error);
	free(file);
	error = gorgon_folder_get(&copies);
	if (!error && !strncmp(copies, folder, strlen(folder)))
		ret |= COPIED;
	gorgon_error_destroy(error);
	if (jitreg_cache_find("key", 3, NULL, JITREG_CACHE_DEBUG, build, NULL, true, &cached) ==
	    -ECANCELED)
		ret |= CACHED;
	if (gorgon_secure_getenv("LD_LIBRARY_PATH", NULL))
		ret |= PRIVATE;
	return ret;
}

// Runs a copy of this program with these rights as @user, and returns its exit status.
static int run_copy(mode_t mode, uid_t user)
{
	char folder[] = "/tmp/gorgon-secure-XXXXXX", program[64], library[64];
	uint8_t *bytes;
	size_t size;
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(library, sizeof(library), "%s/libsecure.so", folder);
	bytes = test_read("/proc/self/exe", &size);
	test_write(program, bytes, size);
	free(bytes);
	bytes = test_read(test_module("libbasic.so"), &size);
	test_write(library, bytes, size);
	free(bytes);
	assert_int_equal(chmod(folder, 0755) | chown(folder, USER, USER) | chown(program, USER, USER) | chmod(program, mode), 0);
	pid = fork();
	if (!pid) {
		unsetenv("TEST_CASES");
		if (setresgid(user, user, user) || setresuid(user, user, user))
			_exit(100);
		execl(program, program, "inside", folder, NULL);
		_exit(101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	test_run("rm -rf %s", folder);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void environment_of_an_ordinary_host_is_used(void **state)
{
	(void)state;
	if (geteuid())
		skip_because("only root can be other users");
	assert_int_equal(run_copy(0755, USER), SEARCHED | COPIED | CACHED | PRIVATE);
}

static void environment_of_a_privileged_host_is_ignored(void **state)
{
	(void)state;
	if (geteuid())
		skip_because("only root can be other users");
	assert_int_equal(run_copy(04755, USER - 1), SECURE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_of_an_ordinary_host_is_used),
		cmocka_unit_test(environment_of_a_privileged_host_is_ignored),
	};

	if (argc > 2 && !strcmp(argv[1], "inside"))
		return run_inside(argv[2]);
	return cmocka_run_group_tests_name("secure", tests, NULL, NULL);
}
