// SPDX-License-Identifier: MIT
// From "python" to a libpython.
//
// The answer comes from the named file alone, never from PATH or PYTHONHOME: a
// launcher script may stand on PATH, and mixing one Python's library with another's
// standard library gives failures that nobody can read.
//
//	libpython3.11.so.1.0     itself; the executable is bin/python3.11 of its prefix
//	python3.11               lib/[multiarch/]libpython3.11.so.1.0 of its prefix
//	venv/bin/python          a link: as above, for where it leads; the link's own
//				 name stays the executable, so that pyvenv.cfg is found
//	venv/bin/python (copy)   `executable = ...` of pyvenv.cfg
//	nothing                  the newest libpython3.N in the system's library cache
//
// Distributions link python3.11 statically and ship the library beside it; both come
// from one build.

#define _GNU_SOURCE
#include "../elf/error.h"
#include "../elf/search.h"
#include "../gorgon.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINOR_MIN 11
#define MULTIARCH "x86_64-linux-gnu"

// "3.11", "3.11d" at @s: minor version, whether a debug build, and what follows.
static bool parse_version(const char *s, unsigned *minor, bool *debug, const char **rest)
{
	char *end;
	unsigned long value;

	if (strncmp(s, "3.", 2) || s[2] < '0' || s[2] > '9')
		return false;
	value = strtoul(s + 2, &end, 10);
	if (value > 99)
		return false;
	*minor = (unsigned)value;
	*debug = *end == 'd' || !strncmp(end, "-dbg", 4);
	end += *end == 'd' ? 1 : *debug ? 4 : 0;
	*rest = end;
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool parse_library(const char *path, unsigned *minor, bool *debug)
{
	const char *name = base_name(path), *rest;

	return !strncmp(name, "libpython", 9) && parse_version(name + 9, minor, debug, &rest) &&
	       !strncmp(rest, ".so", 3);
}

static bool parse_executable(const char *path, unsigned *minor, bool *debug)
{
	const char *name = base_name(path), *rest;

	return !strncmp(name, "python", 6) && parse_version(name + 6, minor, debug, &rest) && !*rest;
}

static struct gorgon_error *check_minor(const char *path, unsigned minor)
{
	if (minor >= MINOR_MIN)
		return NULL;
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "%s: is CPython 3.%u, expected 3.%u or newer", path, minor,
				   MINOR_MIN);
}

// The directory @levels above a file; "" for the root.
static char *parent(const char *path, unsigned levels)
{
	char *ret = strdup(path);

	while (ret && levels--) {
		char *slash = strrchr(ret, '/');

		if (slash)
			*slash = 0;
	}
	return ret;
}

// Executable of a library: prefix/lib[/multiarch]/libpython... -> prefix/bin/python3.N.
static struct gorgon_error *fill_from_library(struct gorgon_python *python)
{
	char *dir = parent(python->libpython, 1);
	char *slash;

	if (!dir)
		return &gorgon_error_nomem;
	if (!strcmp(base_name(dir), MULTIARCH) && (slash = strrchr(dir, '/')))
		*slash = 0;
	if (!strncmp(base_name(dir), "lib", 3) && (slash = strrchr(dir, '/')))
		*slash = 0;
	// Merged /usr: /lib/x86_64-linux-gnu is /usr/lib/x86_64-linux-gnu.
	if (asprintf(&python->executable, "%s/bin/python3.%u%s", *dir ? dir : "/usr", python->minor,
		     python->debug ? "d" : "") < 0)
		python->executable = NULL;
	free(dir);
	return python->executable ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *from_library(const char *path, struct gorgon_python *python)
{
	struct gorgon_error *err;

	if (!parse_library(path, &python->minor, &python->debug))
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"%s: a shared object whose name is not libpython3.N.so", path);
	if ((err = check_minor(path, python->minor)))
		return err;
	python->libpython = realpath(path, NULL);
	if (!python->libpython)
		return gorgon_error_create_os(errno, "%s", path);
	// A link may lead to a name that says less (libpython3.so -> ...): it does not for
	// CPython's own, whose real name carries the version.
	return fill_from_library(python);
}

// @ret: NULL when there is none.
static struct gorgon_error *find_library(const char *real, unsigned minor, bool debug, char **ret)
{
	static const char *const dirs[] = {"lib/" MULTIARCH, "lib", "lib64"};
	char *prefix = parent(real, 2), *file;

	*ret = NULL;
	if (!prefix)
		return &gorgon_error_nomem;
	for (size_t i = 0; !*ret && i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (asprintf(&file, "%s/%s/libpython3.%u%s.so.1.0", prefix, dirs[i], minor,
			     debug ? "d" : "") < 0) {
			free(prefix);
			return &gorgon_error_nomem;
		}
		if (!access(file, R_OK))
			*ret = file;
		else
			free(file);
	}
	free(prefix);
	return NULL;
}

// `executable = PATH` of an open pyvenv.cfg; @ret: NULL when there is none.
static struct gorgon_error *read_executable(FILE *in, char **ret)
{
	struct gorgon_error *err = NULL;
	char value[PATH_MAX], *line = NULL;
	size_t size = 0;

	while (!err && !*ret && getline(&line, &size, in) > 0)
		if (sscanf(line, " executable = %4095[^\n]", value) == 1 && !(*ret = strdup(value)))
			err = &gorgon_error_nomem;
	free(line);
	return err;
}

// That of the pyvenv.cfg one level above bin/, for environments that were made with
// copies instead of links.
static struct gorgon_error *venv_executable(const char *path, char **ret)
{
	char *dir = parent(path, 2), *file = NULL;
	struct gorgon_error *err = NULL;
	FILE *in;

	*ret = NULL;
	if (!dir || asprintf(&file, "%s/pyvenv.cfg", dir) < 0) {
		free(dir);
		return &gorgon_error_nomem;
	}
	in = fopen(file, "re");
	if (in) {
		err = read_executable(in, ret);
		fclose(in);
	}
	free(file);
	free(dir);
	return err;
}

static struct gorgon_error *no_library(const char *path, unsigned minor, bool debug)
{
	return gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"%s: found no libpython3.%u%s.so.1.0 in lib, lib/" MULTIARCH
		" or lib64 of its prefix; install the distribution's libpython3.%u%s, or a Python "
		"that was configured with --enable-shared",
		path, minor, debug ? "d" : "", minor, debug ? "-dbg" : "");
}

static struct gorgon_error *from_executable(const char *path, struct gorgon_python *python)
{
	char *real = realpath(path, NULL), *from_venv, *base;
	struct gorgon_error *err;

	if (!real)
		return gorgon_error_create_os(errno, "%s", path);
	// First, because a copy may be called python3.11 and is not in its prefix.
	if ((err = venv_executable(path, &from_venv))) {
		free(real);
		return err;
	}
	base = from_venv ? realpath(from_venv, NULL) : NULL;
	free(from_venv);
	if (base) {
		free(real);
		real = base;
	}
	if (!parse_executable(real, &python->minor, &python->debug)) {
		free(real);
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"%s: cannot tell which CPython this is: neither a libpython nor an "
			"executable named python3.N",
			path);
	}
	err = check_minor(path, python->minor);
	if (!err)
		err = find_library(real, python->minor, python->debug, &python->libpython);
	if (!err && !python->libpython)
		err = no_library(path, python->minor, python->debug);
	free(real);
	if (err)
		return err;
	// Made absolute, links kept: pyvenv.cfg lies beside the link.
	if (*path == '/') {
		python->executable = strdup(path);
	} else {
		char *cwd = getcwd(NULL, 0);

		if (!cwd || asprintf(&python->executable, "%s/%s", cwd, path) < 0)
			python->executable = NULL;
		free(cwd);
	}
	return python->executable ? NULL : &gorgon_error_nomem;
}

// What kind of file: ELF type, or an error that says what it is instead.
static struct gorgon_error *classify(const char *path, uint16_t *type)
{
	unsigned char head[18] = {0};
	struct stat st;
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return gorgon_error_create_os(errno, "%s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: not a regular file", path);
	}
	size = pread(fd, head, sizeof(head), 0);
	close(fd);
	if (size >= 2 && !memcmp(head, "#!", 2))
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"%s: is a script, expected a python executable or a libpython", path);
	if (size < (ssize_t)sizeof(head) || memcmp(head, ELFMAG, SELFMAG))
		return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: not an ELF file (%lld bytes)", path,
					   (long long)st.st_size);
	memcpy(type, head + 16, 2);
	return NULL;
}

struct newest {
	unsigned minor;
	char *path;
};

static bool keep_newest(void *ctx, const char *name, const char *path)
{
	struct newest *newest = ctx;
	unsigned minor;
	bool debug;
	char *copy;

	if (!parse_library(name, &minor, &debug) || debug || minor < MINOR_MIN ||
	    minor <= newest->minor || access(path, R_OK) || !(copy = strdup(path)))
		return true;
	free(newest->path);
	*newest = (struct newest){minor, copy};
	return true;
}

static struct gorgon_error *from_system(struct gorgon_python *python)
{
	struct newest newest = {0};
	struct gorgon_error *err;

	gorgon_ldcache_for_each(keep_newest, &newest);
	if (!newest.path)
		return gorgon_error_create(
			GORGON_ERROR_MISSING,
			"no libpython3.%u.so.1.0 or newer in /etc/ld.so.cache; install the "
			"distribution's libpython3.%u, or name a python",
			MINOR_MIN, MINOR_MIN);
	err = from_library(newest.path, python);
	free(newest.path);
	return err;
}

struct gorgon_error *gorgon_python_find(const char *path, struct gorgon_python *ret)
{
	struct gorgon_python python = {0};
	struct gorgon_error *err;
	uint16_t type = ET_NONE;
	unsigned minor;
	bool debug;

	if (!path) {
		err = from_system(&python);
	} else if (!(err = classify(path, &type))) {
		// A position-independent python3.N is ET_DYN as well: the name decides.
		bool library = parse_library(path, &minor, &debug) ||
			       (type == ET_DYN && strstr(base_name(path), ".so"));

		err = library ? from_library(path, &python) : from_executable(path, &python);
	}
	if (err)
		gorgon_python_deinit(&python);
	else
		*ret = python;
	return err;
}

void gorgon_python_deinit(struct gorgon_python *python)
{
	free(python->libpython);
	free(python->executable);
	*python = (struct gorgon_python){0};
}
