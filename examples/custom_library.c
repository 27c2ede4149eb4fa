// SPDX-License-Identifier: MIT
// A host's own library over CPython, loaded privately into two interpreters: each copy of the
// library has the Python that it was loaded beside. The argument is the library. Prints
//
//	host_log: name
//	host_log: 1 / 0
//	first: spam, division by zero
//	host_log: name
//	host_log: 1 / 0
//	second: eggs, division by zero

#include <gorgon.h>

#include <stdio.h>
#include <stdlib.h>

#include "runner.h"

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

void host_log(const char *expression)
{
	printf("host_log: %s\n", expression);
}

static struct gorgon_table_entry table[] = {{"host_log", (void *)host_log}, {NULL, NULL}};

static void run(const char *which, const char *program, const char *library)
{
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts)};
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};
	struct gorgon_provider provider = gorgon_provider_table(table);
	bool (*evaluate)(const char *, char *, size_t);
	struct gorgon_interp *interp;
	struct gorgon_object *object;
	char name[100], error[100];

	ns_opts.provider = &provider;
	check(gorgon_interp_create(&opts, &interp));
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_string(interp, program, NULL));
	check(gorgon_object_open(gorgon_interp_ns(interp), library, NULL, &object));
	evaluate = (bool (*)(const char *, char *, size_t))gorgon_object_find_symbol(
		object, "runner_evaluate", NULL);
	evaluate("name", name, sizeof(name));
	evaluate("1 / 0", error, sizeof(error));
	printf("%s: %s, %s\n", which, name, error);
	check(gorgon_interp_destroy(interp));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: custom_library LIBRARY\n");
		return 2;
	}
	run("first", "name = 'spam'", argv[1]);
	run("second", "name = 'eggs'", argv[1]);
	return 0;
}
