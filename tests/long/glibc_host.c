// SPDX-License-Identifier: MIT
// Runs a program that was linked as a shared object in a namespace of the loader: its main() is called as the program's would be.
//
// usage: glibc_host FILE [ARG...]     the status is that of FILE's main(), 125 when FILE cannot be loaded

#define _GNU_SOURCE
#include <gorgon.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct gorgon_open_opts opts = {.size = sizeof(opts), .flags = GORGON_OPEN_GLOBAL};
	int (*program_main)(int argc, char **argv);
	struct gorgon_object *object;
	struct gorgon_error *error;
	struct gorgon_ns *ns;
	int status;

	if (argc < 2)
		return 125;
	opts.argv = (const char *const *)&argv[1];
	error = gorgon_ns_create(NULL, &ns);
	if (!error)
		error = gorgon_object_open(ns, argv[1], &opts, &object);
	if (error) {
		fprintf(stderr, "%s\n", gorgon_error_message(error));
		gorgon_error_destroy(error);
		return 125;
	}
	program_main = (int (*)(int, char **))gorgon_object_find_symbol(object, "main", NULL);
	if (!program_main) {
		fprintf(stderr, "%s: no main()\n", argv[1]);
		return 125;
	}
	status = program_main(argc - 1, argv + 1);
	fflush(NULL);
	gorgon_object_close(object);
	error = gorgon_ns_destroy(ns);
	if (error) {
		fprintf(stderr, "%s\n", gorgon_error_message(error));
		gorgon_error_destroy(error);
	}
	return status;
}
