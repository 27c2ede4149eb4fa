// SPDX-License-Identifier: MIT
// gorgon info: which CPython, where its debug information is, what is shared, and the
// line that makes a debugger find our scripts. With --deps FILE see deps.c.

#define _GNU_SOURCE
#include "tool.h"

#include <jitreg.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	[JITREG_DEBUG_NAMES] = "names only",
	[JITREG_DEBUG_BUILD_ID] = "detached, by build-id",
	[JITREG_DEBUG_SELF] = "in the library",
	[JITREG_DEBUG_LINK] = "detached, by debug link",
};

static void add_debug(struct json_object *to, const char *library)
{
	struct jitreg_debug debug;
	char hex[2 * JITREG_BUILD_ID_MAX + 1] = "";
	int err = jitreg_find_debug(library, -1, &debug);

	if (err) {
		tool_add_text(to, "debug", strerror(-err));
		return;
	}
	for (size_t i = 0; i < debug.build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", debug.build_id[i]);
	tool_add_text(to, "build_id", *hex ? hex : NULL);
	if (debug.names_path)
		tool_add_text(to, "debug", "a copy of the file, in the cache");
	else
		tool_add_text(to, "debug", debug.reason ?: kinds[debug.kind]);
	tool_add_text(to, "debug_file", debug.names_path ?: debug.path);
	jitreg_debug_deinit(&debug);
}

static void add_scripts(struct json_object *to)
{
	char *dir = tool_script_dir(), *line;

	if (!dir) {
		tool_add_text(to, "scripts", NULL);
		return;
	}
	tool_add_text(to, "scripts", dir);
	line = tool_text("source %s/gdb/gorgon.py", dir);
	tool_add_text(to, "gdb", line);
	free(line);
	line = tool_text("command script import %s/lldb/gorgon.py", dir);
	tool_add_text(to, "lldb", line);
	free(line);
	free(dir);
}

static void add_cache(struct json_object *to)
{
	char *folder = cache_folder(), *problem = cache_problem();

	tool_add_text(to, "cache", folder);
	tool_add_text(to, "cache_problem", problem);
	free(problem);
	free(folder);
}

static void add_lines(struct json_object *to, const struct chosen *chosen)
{
	char *problem = python_lines_problem(chosen);

	tool_add_text(to, "python_lines_problem", problem);
	free(problem);
}

static void add_pattern(void *ctx, const char *pattern, const char *reason)
{
	struct json_object *row = json_object_new_object();

	tool_add_text(row, "pattern", pattern);
	tool_add_text(row, "reason", reason);
	json_object_array_add(ctx, row);
}

// The number of mappings is the first limit that a process with thousands of libraries meets
// (loader/base/mappings.c).
static void add_mappings(struct json_object *to)
{
	FILE *in = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long limit;

	if (in && fscanf(in, "%lu", &limit) == 1)
		json_object_object_add(to, "max_map_count", json_object_new_uint64(limit));
	if (in)
		fclose(in);
}

static struct json_object *info_collect(const struct chosen *chosen)
{
	const struct gorgon_python *python = &chosen->python;
	struct json_object *ret = json_object_new_object(), *shared = json_object_new_array();
	char version[32];

	snprintf(version, sizeof(version), "3.%u%s", python->minor,
		 python->debug ? " (debug build)" : "");
	tool_add_text(ret, "gorgon", GORGON_VERSION);
	tool_add_text(ret, "libpython", python->libpython);
	tool_add_text(ret, "executable", python->executable);
	tool_add_text(ret, "why", chosen->why);
	tool_add_text(ret, "version", version);
	add_debug(ret, python->libpython);
	add_lines(ret, chosen);
	add_scripts(ret);
	add_cache(ret);
	add_mappings(ret);
	gorgon_policy_for_each(add_pattern, shared);
	json_object_object_add(ret, "shared", shared);
	return ret;
}

static const char *info_get(struct json_object *from, const char *name)
{
	struct json_object *value = json_object_object_get(from, name);

	return value ? json_object_get_string(value) : "none";
}

static void info_print(struct json_object *info)
{
	struct json_object *shared = json_object_object_get(info, "shared");

	printf("libpython    %s\n", info_get(info, "libpython"));
	printf("executable   %s\n", info_get(info, "executable"));
	printf("why this one %s\n", info_get(info, "why"));
	printf("version      %s\n", info_get(info, "version"));
	printf("build-id     %s\n", info_get(info, "build_id"));
	printf("debug info   %s\n", info_get(info, "debug"));
	printf("debug file   %s\n", info_get(info, "debug_file"));
	printf("Python lines %s\n", json_object_object_get(info, "python_lines_problem")
					    ? info_get(info, "python_lines_problem")
					    : "with --python-lines=on");
	printf("scripts      %s\n", info_get(info, "scripts"));
	printf("  in ~/.gdbinit, or at the prompt:   %s\n", info_get(info, "gdb"));
	printf("  in ~/.lldbinit, or at the prompt:  %s\n", info_get(info, "lldb"));
	if (json_object_object_get(info, "cache_problem"))
		printf("cache        %s\n", info_get(info, "cache_problem"));
	else
		printf("cache        %s\n", info_get(info, "cache"));
	printf("mappings     a process may have %s (sysctl vm.max_map_count); when three quarters "
	       "are used\n"
	       "             libraries give up RELRO and the separation of constants from text\n",
	       info_get(info, "max_map_count"));
	puts("shared with the process (all other libraries are private):");
	for (size_t i = 0; i < json_object_array_length(shared); i++) {
		struct json_object *row = json_object_array_get_idx(shared, i);

		printf("  %-22s %s\n", info_get(row, "pattern"), info_get(row, "reason"));
	}
}

enum {
	OPT_PYTHON = 256,
	OPT_JSON,
	OPT_DEPS,
	OPT_NAMES,
	OPT_SHARE,
	OPT_PRIVATE,
};

static const struct argp_option options[] = {
	{"python", OPT_PYTHON, "NAME", 0,
	 "The python executable, by its name in PATH or its file, or libpython to look at", 0},
	{"json", OPT_JSON, NULL, 0, "Print it as JSON", 0},
	{"deps", OPT_DEPS, "FILE", 0,
	 "Print which libraries loading a module or library would bring, private or shared, and "
	 "why",
	 0},
	{"names", OPT_NAMES, NULL, 0,
	 "With --deps: print also which names private code takes from shared libraries, and which "
	 "names "
	 "gorgon replaces",
	 0},
	{"share", OPT_SHARE, "GLOB", 0, "With --deps: as with `gorgon run`", 0},
	{"private", OPT_PRIVATE, "GLOB", 0, "With --deps: as with `gorgon run`", 0},
	{0},
};

struct given {
	struct deps deps;
	const char *python;
	struct words share, keep_private;
};

static int info_parse(int key, char *arg, struct argp_state *state)
{
	struct given *given = state->input;

	switch (key) {
	case OPT_PYTHON:
		given->python = arg;
		return 0;
	case OPT_JSON:
		given->deps.json = true;
		return 0;
	case OPT_DEPS:
		given->deps.file = arg;
		return 0;
	case OPT_NAMES:
		given->deps.names = true;
		return 0;
	case OPT_SHARE:
		words_add(&given->share, arg);
		return 0;
	case OPT_PRIVATE:
		words_add(&given->keep_private, arg);
		return 0;
	case ARGP_KEY_ARG:
		return tool_usage("info: %s: unexpected argument", arg);
	case ARGP_KEY_END:
		if (!given->deps.file &&
		    (given->deps.names || given->share.count || given->keep_private.count))
			return tool_usage(
				"info: --names, --share and --private go with --deps FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int info_show(const struct chosen *chosen, bool json)
{
	struct json_object *info = info_collect(chosen);

	if (json)
		puts(json_object_to_json_string_ext(info, JSON_C_TO_STRING_PRETTY));
	else
		info_print(info);
	json_object_put(info);
	return 0;
}

int tool_info(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = info_parse,
		.doc = "Says which CPython `gorgon run` takes, where its debug information is, "
		       "which lines make debuggers find our "
		       "scripts, and which libraries are shared with the process."
		       "\vExit status: 0; 1 when --deps has not found a library; 2 wrong usage; 3 "
		       "no CPython.",
	};
	struct given given = {0};
	struct chosen chosen;
	int status = tool_parse(&argp, 0, argc, argv, &given);

	given.deps.ns = (struct gorgon_ns_opts){.size = sizeof(given.deps.ns),
						.share = given.share.list,
						.keep_private = given.keep_private.list};
	if (!status && !(status = python_take(given.python, false, &chosen))) {
		given.deps.libpython = chosen.python.libpython;
		status = given.deps.file ? deps_show(&given.deps)
					 : info_show(&chosen, given.deps.json);
		python_deinit(&chosen);
	}
	free(given.share.list);
	free(given.keep_private.list);
	return status;
}
