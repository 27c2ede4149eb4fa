// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer, over files: its corpus, or an input that was found. A
// line for each file comes before it, so that the last one printed is the one that did not end.
//
// usage: test_fuzz_NAME [FILE | FOLDER]      (default: tests/fuzz/corpus/NAME)

#define _GNU_SOURCE
#include "fuzz.h"

#include <err.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
	data = malloc(size ?: 1); // of just this size: a sanitizer knows its end
	file = fopen(path, "re");
	if (!data || !file || fread(data, 1, size, file) != size)
		err(1, "%s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	count++;
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = strstr(base_name(argv[0]), "test_fuzz_");
	char *path = format("tests/fuzz/corpus/%s", name ? name + strlen("test_fuzz_") : "");

	LLVMFuzzerInitialize(&argc, &argv);
	if (nftw(argc > 1 ? argv[1] : path, run, 16, FTW_PHYS) < 0)
		err(1, "%s", argc > 1 ? argv[1] : path);
	free(path);
	fprintf(stderr, "%s 1 - every_input_ends\n", count ? "ok" : "not ok");
	return !count;
}
