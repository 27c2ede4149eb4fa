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
#include "base/arch.h"
#include "image/ldcache.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *const default_dirs[] = {
	"/lib/" GORGON_ARCH_MULTIARCH,
	"/usr/lib/" GORGON_ARCH_MULTIARCH,
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

#define LIB_TOKEN "lib/" GORGON_ARCH_MULTIARCH

// Failures that say nothing of the file: it may be the right one.
static bool is_of_process(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == EIO;
}

static int look_at(const char *path, bool *loadable)
{
	unsigned char ident[20];
	uint16_t machine;
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	*loadable = false;
	if (fd < 0)
		return is_of_process(errno) ? errno : 0;
	size = pread(fd, ident, sizeof(ident), 0);
	err = errno;
	close(fd);
	if (size < 0)
		return is_of_process(err) ? err : 0;
	if (size < (ssize_t)sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG))
		return 0;
	memcpy(&machine, ident + 18, 2);
	*loadable = ident[EI_CLASS] == ELFCLASS64 && machine == GORGON_ARCH_MACHINE;
	return 0;
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
static char *search_expand(const char *dir, size_t size, const char *name, const char *object_path)
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

// The steps of a search: each leaves alone what an earlier one has found. errno says that nobody
// could look, which is not the same as not found.

// Take over @file when it is the one.
static int try_file(char *file, char **ret)
{
	bool loadable;
	int err = look_at(file, &loadable);

	if (loadable)
		*ret = file;
	else
		free(file);
	return err;
}

// Try each directory of a colon-separated list.
static int search_path(const char *path, const char *name, const char *object_path, char **ret)
{
	int err = 0;

	while (!err && !*ret && path && *path) {
		size_t size = strcspn(path, ":");
		char *file;

		if (size) {
			file = search_expand(path, size, name, object_path);
			err = file ? try_file(file, ret) : ENOMEM;
		}
		path += size;
		path += *path == ':';
	}
	return err;
}

// DT_RUNPATH switches the object's own DT_RPATH off, and is not inherited.
static int search_rpaths(const char *name, const struct gorgon_requester *requester, char **ret)
{
	int err = 0;

	if (requester && requester->runpath)
		return 0;
	for (const struct gorgon_requester *r = requester; r && !err; r = r->loader)
		if (!r->runpath)
			err = search_path(r->rpath, name, r->path, ret);
	return err;
}

static int search_cache(const char *name, char **ret)
{
	char *file = NULL;
	int err = *ret ? 0 : gorgon_ldcache_find(name, &file);

	return file ? try_file(file, ret) : err;
}

static int search_all(const char *name, const struct gorgon_requester *requester, char **ret)
{
	int err;

	if ((err = search_rpaths(name, requester, ret)) ||
	    (err = search_path(secure_getenv("LD_LIBRARY_PATH"), name, NULL, ret)) ||
	    (requester && (err = search_path(requester->runpath, name, requester->path, ret))) ||
	    (err = search_cache(name, ret)))
		return err;
	for (size_t i = 0; !err && i < sizeof(default_dirs) / sizeof(*default_dirs); i++)
		err = search_path(default_dirs[i], name, NULL, ret);
	return err;
}

static struct gorgon_error *cannot_look(const char *name, int err)
{
	return err == ENOMEM ? &gorgon_error_nomem
			     : gorgon_error_create_os(err, "%s: cannot look for it", name);
}

struct gorgon_error *gorgon_search_path(const char *path, const char *name, const char *origin,
					char **ret)
{
	int err;

	*ret = NULL;
	err = search_path(path, name, origin, ret);
	return err ? cannot_look(name, err) : NULL;
}

// Debuggers and $ORIGIN need names that do not depend on the current directory. Links
// are kept: $ORIGIN is where the name says, as with the system's linker.
static struct gorgon_error *make_absolute(char *file, char **ret)
{
	struct gorgon_error *err = NULL;
	char *cwd;

	if (*file == '/') {
		*ret = file;
		return NULL;
	}
	cwd = getcwd(NULL, 0);
	if (!cwd)
		err = cannot_look(file, errno);
	else if (asprintf(ret, "%s/%s", cwd, file) < 0)
		err = &gorgon_error_nomem;
	free(cwd);
	free(file);
	return err;
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
	int err;

	if (strchr(name, '/')) {
		file = requester ? search_expand(name, strlen(name), NULL, requester->path)
				 : strdup(name);
		return file ? make_absolute(file, ret) : &gorgon_error_nomem;
	}
	if ((err = search_all(name, requester, &file)))
		return cannot_look(name, err);
	return file ? make_absolute(file, ret) : not_found(name, requester);
}
