// SPDX-License-Identifier: MIT
// gorgon_rewrite() as a command, for tests over many files:
//
//	rewrite [--soname NAME] [--runpath PATH] [--add NAME]... [--replace OLD=NEW]... FROM TO
//
// Status 1 and the error's message when it fails.

#define _GNU_SOURCE
#include "copy/rewrite.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 64

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"soname", required_argument, NULL, 's'}, {"runpath", required_argument, NULL, 'r'},
		{"add", required_argument, NULL, 'a'},	  {"replace", required_argument, NULL, 'n'},
		{0},
	};
	struct gorgon_rewrite_name replace[NAMES_MAX + 1] = {0};
	const char *add[NAMES_MAX + 1] = {0};
	struct gorgon_rewrite_opts opts = {.replace = replace, .add = add};
	size_t replace_count = 0, add_count = 0;
	struct gorgon_error *err;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's') {
			opts.soname = optarg;
		} else if (option == 'r') {
			opts.runpath = optarg;
		} else if (option == 'a' && add_count < NAMES_MAX) {
			add[add_count++] = optarg;
		} else if (option == 'n' && replace_count < NAMES_MAX && strchr(optarg, '=')) {
			replace[replace_count].from = strsep(&optarg, "=");
			replace[replace_count++].to = optarg;
		} else {
			return 2;
		}
	}
	if (argc - optind != 2)
		return 2;
	err = gorgon_rewrite(argv[optind], argv[optind + 1], &opts);
	if (!err)
		return 0;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	return 1;
}
