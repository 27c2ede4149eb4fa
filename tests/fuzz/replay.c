// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer, over files: its corpus, or an input that was found. Each file's name is
// printed first, so that the last name is that of the file that did not end.
//
// usage: test_fuzz_NAME [FILE | FOLDER]      (default: tests/fuzz/corpus/NAME)

#define _GNU_SOURCE
#include "fuzz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <err.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int count;

static int run(const char *path, const struct stat *st, int type,
	       struct FTW *walk __attribute__((unused)))
{
	size_t size = (size_t)st->st_size;
	uint8_t *data;
	FILE *file;

	if (type != FTW_F)
		return 0;
	fprintf(stderr, "# %s\n", path);
	data = malloc(size ?: 1); // of just this size, so that a sanitizer sees its end
	file = fopen(path, "re");
	if (!data || !file || fread(data, 1, size, file) != size)
		err(1, "%s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	count++;
	return 0;
}

static const char *program;

static void every_input_ends(void **state)
{
	const char *name = strstr(program, "test_fuzz_");
	char path[128];
	int terminal = dup(STDOUT_FILENO);

	(void)state;
	snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", name ? name + strlen("test_fuzz_") : "");
	LLVMFuzzerInitialize(NULL, NULL); // sends what the target prints to /dev/null
	if (nftw(path, run, 16, FTW_PHYS) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	fflush(stdout);
	if (terminal < 0 || dup2(terminal, STDOUT_FILENO) < 0)
		err(1, "dup2");
	close(terminal);
	assert_int_not_equal(count, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_input_ends)};

	program = argv[0];
	if (argc <= 1)
		return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
	LLVMFuzzerInitialize(&argc, &argv);
	if (nftw(argv[1], run, 16, FTW_PHYS) < 0)
		err(1, "%s", argv[1]);
	return !count;
}
