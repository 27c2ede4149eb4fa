// SPDX-License-Identifier: MIT gorgon cache: the files that are kept for debuggers, in gorgon/
// below $XDG_CACHE_HOME or ~/.cache.
//
// Processes and debuggers make such files when they need them: companions, which have the lines and
// variables of a library (jitreg/cache.c), sources (jitreg/source.c), indexes of gdb's scripts
// (gdb/), files of lldb's scripts (lldb/). A process that uses a file of the first kind holds a
// lock on it (flock(2)), and `gorgon cache --clear` keeps such a file.

#define _GNU_SOURCE
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OPEN_FILES_MAX 16 // of nftw(3)

enum {
	OPT_CLEAR = 256,
	OPT_JSON,
};

struct options {
	bool clear, json;
};

struct kind {
	const char *folder; // below gorgon/
	const char *what;
	uint64_t files, bytes, busy, failed;
};

// Static, because nftw(3) passes no argument to its function. The first kind has all files that no
// other kind has.
static struct {
	struct kind kinds[4];
	size_t root_size; // of the folder's name, with its slash
	bool clear;
	int errnum; // of the last file that could not be removed
} state = {.kinds = {
	{"", "lines and variables of libraries, for debuggers", 0, 0, 0, 0},
	{"gdb", "indexes of debug information, for gdb", 0, 0, 0, 0},
	{"lldb", "what lldb's scripts have made", 0, 0, 0, 0},
	{"sources", "Python code that is in no file, for debuggers", 0, 0, 0, 0},
}};

enum {
	KIND_COUNT = sizeof(state.kinds) / sizeof(*state.kinds),
};

char *cache_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *ret = NULL;

	if (cache && *cache == '/'
		    ? asprintf(&ret, "%s/gorgon", cache) < 0
		    : !home || *home != '/' || asprintf(&ret, "%s/.cache/gorgon", home) < 0)
		return NULL;
	return ret;
}

static const char missing[] = "there is no such folder, and it cannot be made";

// As jitreg/cache.c judges the folder (@own) and the one above it. NULL: it is good. @is_full: of
// its disk; or NULL, where nothing is to be made in it.
static const char *judge(const char *folder, bool own, bool *is_full)
{
	mode_t others = S_IWOTH | S_IWGRP;
	struct statvfs fs;
	struct stat st;

	if (own ? lstat(folder, &st) : stat(folder, &st))
		return missing;
	if (!S_ISDIR(st.st_mode) || (is_full && access(folder, W_OK | X_OK)))
		return "you cannot write there";
	if (st.st_uid != geteuid() && (own || st.st_uid))
		return "it is another user's";
	if (!own)
		others = st.st_mode & S_ISVTX ? 0 : st.st_gid == getegid() ? S_IWOTH : others;
	if (st.st_mode & others)
		return "others can write there";
	if (is_full)
		*is_full = !statvfs(folder, &fs) && !fs.f_bavail;
	return NULL;
}

// The folder is made with the first file in it, and so is the folder above it.
static const char *find_problem(char *folder)
{
	bool is_full = false;
	const char *why = judge(folder, true, &is_full);
	bool is_there = why != missing;

	for (unsigned above = 0; above < 2 && (above ? why == missing : !why || !is_there);
	     above++) {
		char *slash = strrchr(folder, '/');

		if (slash == folder)
			return missing;
		*slash = 0;
		why = judge(folder, false, is_there ? NULL : &is_full);
	}
	return why ?: is_full ? "the disk is full" : NULL;
}

char *cache_problem(void)
{
	char *folder = cache_folder(), *copy = folder ? strdup(folder) : NULL, *ret = NULL;
	const char *why = copy ? find_problem(copy)
			       : "neither HOME nor XDG_CACHE_HOME is a folder's full name";

	if (why && asprintf(&ret, "%s%s%s: above eight interpreters gdb shows names and no lines",
			    folder ?: "", folder ? ": " : "", why) < 0)
		abort();
	free(folder);
	free(copy);
	return ret;
}

static struct kind *find_kind(const char *path)
{
	for (size_t i = 1; i < KIND_COUNT; i++) {
		size_t size = strlen(state.kinds[i].folder);

		if (!strncmp(path, state.kinds[i].folder, size) && path[size] == '/')
			return &state.kinds[i];
	}
	return &state.kinds[0];
}

static bool is_busy(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ret = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return ret;
}

static int cache_visit(const char *path, const struct stat *st, int type, struct FTW *place)
{
	struct kind *kind;

	if (!place->level)
		return 0;
	if (type == FTW_DP || type == FTW_DNR) {
		if (state.clear)
			rmdir(path); // a folder with a file in use stays
		return 0;
	}
	kind = find_kind(path + state.root_size);
	kind->files++;
	kind->bytes += (uint64_t)st->st_blocks * 512;
	if (!state.clear)
		return 0;
	if (is_busy(path)) {
		kind->busy++;
	} else if (unlink(path)) {
		kind->failed++;
		state.errnum = errno;
	}
	return 0;
}

static void cache_print(const char *folder, bool clear)
{
	uint64_t files = 0, busy = 0, failed = 0;

	printf("%s\n", folder);
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct kind *kind = &state.kinds[i];

		printf("%8lu files %8.1f MiB  %s\n", kind->files, (double)kind->bytes / (1 << 20),
		       kind->what);
		files += kind->files;
		busy += kind->busy;
		failed += kind->failed;
	}
	if (!clear)
		return;
	printf("removed: %lu of %lu files", files - busy - failed, files);
	if (busy)
		printf("; %lu are in use", busy);
	putchar('\n');
	if (failed)
		fprintf(stderr, "gorgon: cache: %lu files of %s cannot be removed: %s\n", failed,
			folder, strerror(state.errnum));
}

static void print_json(const char *folder)
{
	struct json_object *result = json_object_new_object(), *list = json_object_new_array();

	tool_add_text(result, "folder", folder);
	json_object_object_add(result, "kinds", list);
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct kind *kind = &state.kinds[i];
		struct json_object *row = json_object_new_object();
		uint64_t removed = state.clear ? kind->files - kind->busy - kind->failed : 0;

		tool_add_text(row, "what", kind->what);
		json_object_object_add(row, "files", json_object_new_uint64(kind->files));
		json_object_object_add(row, "bytes", json_object_new_uint64(kind->bytes));
		json_object_object_add(row, "removed", json_object_new_uint64(removed));
		json_object_object_add(row, "in_use", json_object_new_uint64(kind->busy));
		json_object_array_add(list, row);
	}
	puts(json_object_to_json_string_ext(result, JSON_C_TO_STRING_PRETTY));
	json_object_put(result);
}

static int cache_parse(int key, char *arg, struct argp_state *argp)
{
	struct options *given = argp->input;

	if (key == ARGP_KEY_ARG)
		return tool_usage("cache: %s: unexpected argument", arg);
	if (key != OPT_CLEAR && key != OPT_JSON)
		return ARGP_ERR_UNKNOWN;
	given->clear |= key == OPT_CLEAR;
	given->json |= key == OPT_JSON;
	return 0;
}

int tool_cache(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"clear", OPT_CLEAR, NULL, 0,
		 "Remove files that nobody uses now; they are made again when they are needed", 0},
		{"json", OPT_JSON, NULL, 0, "Print it as JSON", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = cache_parse,
		.doc = "Shows the files that are kept for debuggers, in gorgon/ below "
		       "$XDG_CACHE_HOME or ~/.cache."
		       "\vExit status: 0; 1 when a file could not be removed; 2 wrong usage."};
	struct options given = {0};
	int status = tool_parse(&argp, 0, argc, argv, &given);
	char *folder;

	if (status)
		return status;
	if (!(folder = cache_folder()))
		return tool_usage("cache: neither XDG_CACHE_HOME nor HOME is a folder's full name");
	state.root_size = strlen(folder) + 1;
	state.clear = given.clear;
	// Without the folder all numbers are zero.
	if (nftw(folder, cache_visit, OPEN_FILES_MAX, FTW_PHYS | FTW_DEPTH) && errno != ENOENT) {
		fprintf(stderr, "gorgon: cache: %s: %s\n", folder, strerror(errno));
		free(folder);
		return 1;
	}
	if (given.json)
		print_json(folder);
	else
		cache_print(folder, given.clear);
	free(folder);
	return state.errnum ? 1 : 0;
}
