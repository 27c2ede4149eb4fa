// SPDX-License-Identifier: MIT gorgon info --deps FILE: the libraries that loading a file would
// bring, private or shared, and why, as a tree; with --names also the names that private libraries
// take from shared ones.

#define _GNU_SOURCE
#include "tool.h"

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 100

static const char *deps_get(struct json_object *from, const char *name)
{
	return json_object_get_string(json_object_object_get(from, name));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// --- the tree ----------------------------------------------------------------------

static bool collect_dep(void *ctx, const struct gorgon_dep *dep)
{
	struct json_object *row = json_object_new_object();

	tool_add_text(row, "name", dep->name);
	tool_add_text(row, "path", dep->path);
	json_object_object_add(row, "shared", json_object_new_boolean(dep->shared));
	tool_add_text(row, "pattern", dep->pattern);
	tool_add_text(row, "reason", dep->reason);
	json_object_object_add(row, "parent", json_object_new_int((int)dep->parent));
	json_object_array_add(ctx, row);
	return true;
}

static void print_row(struct json_object *row, int depth)
{
	bool shared = json_object_get_boolean(json_object_object_get(row, "shared"));
	const char *path = deps_get(row, "path"), *pattern = deps_get(row, "pattern");

	printf("%-8s %*s%s => %s (%s%s%s)\n",
	       !path    ? "missing"
	       : shared ? "shared"
			: "private",
	       2 * depth, "", base_name(deps_get(row, "name")), path ?: "not found", pattern ?: "",
	       pattern ? ": " : "", deps_get(row, "reason"));
}

static void print_tree(struct json_object *rows, size_t index, int depth)
{
	print_row(json_object_array_get_idx(rows, index), depth);
	for (size_t i = index + 1; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if ((size_t)json_object_get_int(json_object_object_get(row, "parent")) == index)
			print_tree(rows, i, depth + 1);
	}
}

// --- names ---------------------------------------------------------------------------

static const char *const sources[] = {
	[GORGON_IMPORT_SYSTEM] = "system",
	[GORGON_IMPORT_REPLACED] = "replaced",
	[GORGON_IMPORT_PROVIDER] = "provider",
	[GORGON_IMPORT_UNRESOLVED] = "unresolved",
};

static bool collect_name(void *ctx, const struct gorgon_import *import)
{
	struct json_object *row = json_object_new_object();

	tool_add_text(row, "name", import->name);
	tool_add_text(row, "version", import->version);
	tool_add_text(row, "object", import->object);
	tool_add_text(row, "source", sources[import->source]);
	tool_add_text(row, "from", import->from);
	json_object_array_add(ctx, row);
	return true;
}

static const char *text(struct json_object *row, const char *name)
{
	return deps_get(row, name) ?: "";
}

// Sorted by source, library and name, so that the names of a library stand together.
static int deps_compare(const void *a, const void *b)
{
	struct json_object *left = *(struct json_object *const *)a;
	struct json_object *right = *(struct json_object *const *)b;
	static const char *const keys[] = {"source", "from", "name", "object"};
	int order = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !order; i++) {
		// All replaced names are in one list, without their reasons.
		if (i == 1 && strcmp(text(left, "source"), "system"))
			continue;
		order = strcmp(text(left, keys[i]), text(right, keys[i]));
	}
	return order;
}

static bool is_library(struct json_object *row, const char *library)
{
	return !strcmp(text(row, "source"), "system") && !strcmp(text(row, "from"), library);
}

// Print the names of a library, filled into lines; returns the index of the row behind them.
// Several objects may refer to a name, which is printed once.
static size_t print_library(struct json_object *rows, size_t start)
{
	const char *library = text(json_object_array_get_idx(rows, start), "from"), *last = "";
	size_t i, column = LINE_SIZE;

	printf("from %s:", library);
	for (i = start; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const char *name = text(row, "name");

		if (!is_library(row, library))
			break;
		if (!strcmp(name, last))
			continue;
		if (column + 1 + strlen(name) > LINE_SIZE)
			column = (size_t)printf("\n ") - 1;
		column += (size_t)printf(" %s", name);
		last = name;
	}
	putchar('\n');
	return i;
}

static void print_names(struct json_object *rows)
{
	const char *last = "";

	for (size_t i = 0; i < json_object_array_length(rows);) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(text(row, "source"), "system")) {
			i = print_library(rows, i);
			continue;
		}
		if (!strcmp(text(row, "source"), "unresolved"))
			printf("unresolved: %s, for %s\n", text(row, "name"), text(row, "object"));
		else if (strcmp(text(row, "name"), last))
			printf("replaced by gorgon: %s (%s)\n", text(row, "name"),
			       text(row, "from"));
		last = text(row, "name");
		i++;
	}
}

// --- the command -------------------------------------------------------------------------

// The argument means what it means to ldd: a file in the current folder or, if there is none, a
// library to search for.
static char *find_file(const char *file)
{
	char *cwd, *path;

	if (strchr(file, '/') || access(file, F_OK))
		return strdup(file);
	cwd = getcwd(NULL, 0);
	if (!cwd || asprintf(&path, "%s/%s", cwd, file) < 0)
		path = NULL;
	free(cwd);
	return path;
}

static struct gorgon_error *deps_collect(const struct deps *deps, const char *path,
					 struct json_object *to)
{
	struct json_object *rows = json_object_new_array(), *names;
	struct gorgon_error *err;

	json_object_object_add(to, "deps", rows);
	err = gorgon_deps_for_each(&deps->ns, deps->libpython, path, collect_dep, rows);
	if (!err && deps->names) {
		names = json_object_new_array();
		json_object_object_add(to, "names", names);
		err = gorgon_imports_for_each(&deps->ns, deps->libpython, path, collect_name,
					      names);
		json_object_array_sort(names, deps_compare);
	}
	return err;
}

static bool is_complete(struct json_object *rows)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		if (!deps_get(json_object_array_get_idx(rows, i), "path"))
			return false;
	return true;
}

int deps_show(const struct deps *deps)
{
	struct json_object *result = json_object_new_object(), *rows, *names;
	char *path = find_file(deps->file);
	struct gorgon_error *err;
	int status;

	if (!path)
		abort();
	err = deps_collect(deps, path, result);
	free(path);
	if (err) {
		json_object_put(result);
		return tool_fail(err, TOOL_FAILED);
	}
	rows = json_object_object_get(result, "deps");
	names = json_object_object_get(result, "names");
	status = !is_complete(rows);
	if (deps->json) {
		puts(json_object_to_json_string_ext(result, JSON_C_TO_STRING_PRETTY));
	} else {
		print_tree(rows, 0, 0);
		if (names)
			print_names(names);
	}
	json_object_put(result);
	return status;
}
