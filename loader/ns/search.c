// SPDX-License-Identifier: MIT
// From a library's name to a file. The order is ld.so(8)'s:
//
//	a name with a slash is a path;
//	DT_RPATH of the requester and of the objects that brought it in, each unless
//	it has DT_RUNPATH; LD_LIBRARY_PATH (not in a privileged process); DT_RUNPATH of
//	the requester; /etc/ld.so.cache; the default directories.
//
// $ORIGIN, $LIB and $PLATFORM are expanded. A file of the right name that is no ELF
// object for this machine is passed over, as the system's linker does.

#define _GNU_SOURCE
#include "search.h"
#include "image/arch.h"
#include "base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *const default_dirs[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
	"/usr/lib",
};

#define LIB_TOKEN "lib/x86_64-linux-gnu"

static bool is_loadable(const char *path)
{
	unsigned char ident[20];
	uint16_t machine;
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	size = pread(fd, ident, sizeof(ident), 0);
	close(fd);
	if (size < (ssize_t)sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG))
		return false;
	memcpy(&machine, ident + 18, 2);
	return ident[EI_CLASS] == ELFCLASS64 && machine == GORGON_ARCH_MACHINE;
}

// Directory of an object's file, "." when its name has none.
static void append_origin(FILE *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		fwrite(path, 1, slash == path ? 1 : (size_t)(slash - path), out);
	else
		fputc('.', out);
}

// One element of a search path with its tokens replaced, then "/" and @name.
static char *expand(const char *dir, size_t size, const char *name, const char *object_path)
{
	char *ret = NULL;
	size_t ret_size;
	FILE *out = open_memstream(&ret, &ret_size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < size;) {
		static const char *const tokens[] = {"ORIGIN", "LIB", "PLATFORM"};
		size_t used = 0;

		for (unsigned t = 0; dir[i] == '$' && t < 3 && !used; t++) {
			size_t length = strlen(tokens[t]);
			bool brace = i + 1 < size && dir[i + 1] == '{';
			size_t at = i + 1 + brace;

			if (at + length + brace > size || strncmp(dir + at, tokens[t], length) ||
			    (brace && dir[at + length] != '}'))
				continue;
			used = 1 + length + 2u * brace;
			if (t == 0 && object_path)
				append_origin(out, object_path);
			else if (t == 1)
				fputs(LIB_TOKEN, out);
			else if (t == 2)
				fputs((const char *)getauxval(AT_PLATFORM) ?: "", out);
		}
		if (!used) {
			fputc(dir[i], out);
			used = 1;
		}
		i += used;
	}
	if (name)
		fprintf(out, "/%s", name);
	if (fclose(out)) {
		free(ret);
		return NULL;
	}
	return ret;
}

// The steps of a search: each leaves alone what an earlier one has found. False: no
// memory, which is not the same as not found.

// Try each directory of a colon-separated list.
static bool search_path(const char *path, const char *name, const char *object_path, char **ret)
{
	while (!*ret && path && *path) {
		size_t size = strcspn(path, ":");
		char *file;

		if (size) {
			file = expand(path, size, name, object_path);
			if (!file)
				return false;
			if (is_loadable(file))
				*ret = file;
			else
				free(file);
		}
		path += size;
		path += *path == ':';
	}
	return true;
}

// DT_RUNPATH switches the object's own DT_RPATH off, and is not inherited.
static bool search_rpaths(const char *name, const struct gorgon_requester *requester, char **ret)
{
	if (requester && requester->runpath)
		return true;
	for (const struct gorgon_requester *r = requester; r; r = r->loader)
		if (!r->runpath && !search_path(r->rpath, name, r->path, ret))
			return false;
	return true;
}

static bool search_cache(const char *name, char **ret)
{
	char *file = NULL;

	if (*ret)
		return true;
	if (!gorgon_ldcache_find(name, &file))
		return false;
	if (file && is_loadable(file))
		*ret = file;
	else
		free(file);
	return true;
}

static bool search_all(const char *name, const struct gorgon_requester *requester, char **ret)
{
	if (!search_rpaths(name, requester, ret) ||
	    !search_path(secure_getenv("LD_LIBRARY_PATH"), name, NULL, ret) ||
	    (requester && !search_path(requester->runpath, name, requester->path, ret)) ||
	    !search_cache(name, ret))
		return false;
	for (size_t i = 0; i < sizeof(default_dirs) / sizeof(*default_dirs); i++)
		if (!search_path(default_dirs[i], name, NULL, ret))
			return false;
	return true;
}

bool gorgon_search_path(const char *path, const char *name, const char *origin, char **ret)
{
	*ret = NULL;
	return search_path(path, name, origin, ret);
}

// Debuggers and $ORIGIN need names that do not depend on the current directory. Links
// are kept: $ORIGIN is where the name says, as with the system's linker.
static struct gorgon_error *make_absolute(char *file, char **ret)
{
	char *cwd, *absolute = NULL;

	if (*file == '/') {
		*ret = file;
		return NULL;
	}
	cwd = getcwd(NULL, 0);
	if (!cwd || asprintf(&absolute, "%s/%s", cwd, file) < 0)
		absolute = NULL;
	free(cwd);
	free(file);
	*ret = absolute;
	return absolute ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *not_found(const char *name, const struct gorgon_requester *requester)
{
	const char *path = requester ? requester->runpath ?: requester->rpath : NULL;

	return gorgon_error_create(GORGON_ERROR_MISSING,
				   "%s: not found in %s%sLD_LIBRARY_PATH, /etc/ld.so.cache and the "
				   "default directories",
				   name, path ?: "", path ? ", " : "");
}

struct gorgon_error *gorgon_search(const char *name, const struct gorgon_requester *requester,
				   char **ret)
{
	char *file = NULL;

	if (strchr(name, '/')) {
		file = requester ? expand(name, strlen(name), NULL, requester->path) : strdup(name);
		return file ? make_absolute(file, ret) : &gorgon_error_nomem;
	}
	if (!search_all(name, requester, &file))
		return &gorgon_error_nomem;
	return file ? make_absolute(file, ret) : not_found(name, requester);
}
