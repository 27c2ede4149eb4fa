// SPDX-License-Identifier: MIT
// What the subcommands of `gorgon` share.

#define _GNU_SOURCE
#include "tool.h"

#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tool_fail(struct gorgon_error *err, int status)
{
	fprintf(stderr, "gorgon: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	return status;
}

int tool_usage(const char *format, ...)
{
	va_list args;

	fputs("gorgon: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (gorgon --help)\n", stderr);
	return TOOL_USAGE;
}

// The real name of a directory that has our gdb scripts in it, or NULL.
static char *script_dir_at(const char *format, const char *dir)
{
	char *path, *real, *package;
	bool found = false;

	if (asprintf(&path, format, dir) < 0)
		return NULL;
	real = realpath(path, NULL);
	free(path);
	if (real && asprintf(&package, "%s/gdb/gorgon_gdb", real) >= 0) {
		found = !access(package, R_OK);
		free(package);
	}
	if (found)
		return real;
	free(real);
	return NULL;
}

char *tool_script_dir(void)
{
	char exe[PATH_MAX], *ret = NULL;
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (size <= 0)
		return NULL;
	exe[size] = 0;
	// Installed: PREFIX/bin/gorgon and PREFIX/share/gorgon. In a checkout: somewhere
	// above build/gorgon. Else where this program was configured for.
	dirname(exe);
	ret = script_dir_at("%s/../share/gorgon", exe);
	for (char *dir = exe; !ret && strcmp(dir, "/"); dir = dirname(dir))
		ret = script_dir_at("%s", dir);
	return ret ?: script_dir_at("%s", GORGON_DATADIR);
}
