// SPDX-License-Identifier: MIT
// gorgon run --verbose: which files an interpreter has loaded, private or shared, and why.

#define _GNU_SOURCE
#include "tool.h"

#include <argz.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	FILE *out;
	char *text; // the report
	size_t size;
};

// Each file is listed once, and only if it was found.
static bool add_dep(void *ctx, const struct gorgon_dep *dep)
{
	struct list *list = ctx;
	char *line;

	if (!dep->path)
		return true;
	if (asprintf(&line, "%-8s %s (%s%s%s)\n", dep->shared ? "shared" : "private", dep->path,
		     dep->pattern ?: "", dep->pattern ? ": " : "", dep->reason) < 0)
		return false;
	fflush(list->out);
	if (!strstr(list->text, line))
		fputs(line, list->out);
	free(line);
	return true;
}

struct paths {
	char *data; // see argz_add(3)
	size_t size;
};

// The loader's lock is held here, so a file's dependencies are looked up later.
static bool add_path(void *ctx, struct gorgon_object *object)
{
	struct paths *paths = ctx;
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	return !argz_add(&paths->data, &paths->size, info.path);
}

char *loaded_list(struct gorgon_interp *interp, const struct program *program)
{
	struct gorgon_ns_opts opts = program->ns;
	struct gorgon_error *err = NULL;
	struct paths paths = {0};
	struct list list = {0};

	opts.size = sizeof(opts);
	list.out = open_memstream(&list.text, &list.size);
	if (!list.out)
		return NULL;
	gorgon_ns_for_each_object(gorgon_interp_ns(interp), add_path, &paths);
	// The first object is libpython.
	for (char *path = paths.data; path && !err; path = argz_next(paths.data, paths.size, path))
		err = gorgon_deps_for_each(&opts, paths.data, path, add_dep, &list);
	if (err)
		fprintf(list.out, "and more, but: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	free(paths.data);
	fclose(list.out);
	return list.text;
}

void loaded_print(unsigned number, const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *last;
	static unsigned last_number;

	pthread_mutex_lock(&lock);
	if (last && !strcmp(last, text)) {
		fprintf(stderr, "gorgon: interpreter %u has loaded what interpreter %u has\n",
			number, last_number);
	} else {
		fprintf(stderr, "gorgon: interpreter %u has loaded:\n%s", number, text);
		free(last);
		last = strdup(text);
		last_number = number;
	}
	pthread_mutex_unlock(&lock);
}
