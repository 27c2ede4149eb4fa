// SPDX-License-Identifier: MIT
// Finding the libpython for a python executable, a virtual environment or a libpython's own name.
//
// The answer comes from the named file alone, never from PATH or PYTHONHOME: a
// launcher script may stand on PATH, and mixing one Python's library with another's
// standard library gives failures that nobody can read.
//
//	libpython3.11.so.1.0     itself; the executable is bin/python3.11 of its prefix
//	python3.11               the libpython that it needs, from where its DT_RUNPATH says;
//				 lib/[multiarch/]libpython3.11.so.1.0 of its prefix; the
//				 system's, if it needs one
//	venv/bin/python          a link: as above, for where it leads; the link's own
//				 name stays the executable, so that pyvenv.cfg is found
//	venv/bin/python (copy)   `executable = ...` of pyvenv.cfg, which may be a copy again
//	nothing                  the newest libpython3.N in the system's library cache
//
// Distributions link python3.11 statically and ship the library beside it; both come
// from one build. An executable that needs a libpython may have any name.

#define _GNU_SOURCE
#include "find.h"
#include "base/error.h"
#include "base/lock.h"
#include "image/needs.h"
#include "image/ldcache.h"
#include "base/arch.h"
#include "ns/search.h"
#include "gorgon.h"

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
#define VENV_DEPTH 16 // copies of copies

// The version that the name of a file tells.
struct version {
	unsigned minor;
	bool debug, free_threaded;
};

// "3.11", "3.11d", "3.13td" at @s, and what follows.
static bool parse_version(const char *s, struct version *version, const char **rest)
{
	char *end;
	unsigned long value;

	if (strncmp(s, "3.", 2) || s[2] < '0' || s[2] > '9')
		return false;
	value = strtoul(s + 2, &end, 10);
	if (value > 99)
		return false;
	version->minor = (unsigned)value;
	version->free_threaded = *end == 't';
	end += version->free_threaded;
	version->debug = *end == 'd' || !strncmp(end, "-dbg", 4);
	end += *end == 'd' ? 1 : version->debug ? 4 : 0;
	*rest = end;
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool parse_library(const char *path, struct version *version)
{
	const char *name = base_name(path), *rest;

	return !strncmp(name, "libpython", 9) && parse_version(name + 9, version, &rest) &&
	       !strncmp(rest, ".so", 3);
}

static bool parse_executable(const char *path, struct version *version)
{
	const char *name = base_name(path), *rest;

	return !strncmp(name, "python", 6) && parse_version(name + 6, version, &rest) && !*rest;
}

static struct gorgon_error *check_version(const char *path, const struct version *version)
{
	if (version->minor < MINOR_MIN)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: is CPython 3.%u, expected 3.%u or newer", path,
					   version->minor, MINOR_MIN);
	if (version->free_threaded)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: is a free-threaded CPython, expected one with a GIL", path);
	return NULL;
}

// The directory @levels above a file; "" for the root.
static char *parent_of_found(const char *path, unsigned levels)
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
	char *dir = parent_of_found(python->libpython, 1);
	char *slash;

	if (!dir)
		return &gorgon_error_nomem;
	if (!strcmp(base_name(dir), GORGON_ARCH_MULTIARCH) && (slash = strrchr(dir, '/')))
		*slash = 0;
	if (!strncmp(base_name(dir), "lib", 3) && (slash = strrchr(dir, '/')))
		*slash = 0;
	// Merged /usr: /lib/MULTIARCH is /usr/lib/MULTIARCH.
	if (asprintf(&python->executable, "%s/bin/python3.%u%s", *dir ? dir : "/usr", python->minor,
		     python->debug ? "d" : "") < 0)
		python->executable = NULL;
	free(dir);
	return python->executable ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *find_from_library(const char *path, struct gorgon_python *python)
{
	struct gorgon_error *err;
	struct version version;

	if (!parse_library(path, &version))
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"%s: a shared object whose name is not libpython3.N.so", path);
	if ((err = check_version(path, &version)))
		return err;
	python->minor = version.minor;
	python->debug = version.debug;
	python->libpython = realpath(path, NULL);
	if (!python->libpython)
		return gorgon_error_create_os(errno, "%s", path);
	// A link may lead to a name that says less (libpython3.so -> ...): it does not for
	// CPython's own, whose real name carries the version.
	return fill_from_library(python);
}

// The libpython in lib of a prefix; @ret is NULL if there is none.
static struct gorgon_error *find_in_prefix(const char *real, const struct version *version,
					   char **ret)
{
	static const char *const dirs[] = {"lib/" GORGON_ARCH_MULTIARCH, "lib", "lib64"};
	char *prefix = parent_of_found(real, 2), *file;
	struct gorgon_error *err = NULL;

	*ret = NULL;
	if (!prefix)
		return &gorgon_error_nomem;
	for (size_t i = 0; !*ret && !err && i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (asprintf(&file, "%s/%s/libpython3.%u%s.so.1.0", prefix, dirs[i], version->minor,
			     version->debug ? "d" : "") < 0) {
			err = &gorgon_error_nomem;
			continue;
		}
		if (!access(file, R_OK)) {
			*ret = file;
			continue;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			err = gorgon_error_create_os(errno, "%s", file);
		free(file);
	}
	free(prefix);
	return err;
}

static struct gorgon_error *found_unknown(const char *path)
{
	return gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"%s: cannot tell which CPython this is: neither a libpython nor an "
		"executable named python3.N",
		path);
}

// Distributions have the library in a package of its own; a Python that is built needs an option.
static struct gorgon_error *found_no_library(const char *path, const char *real,
					     const struct version *version)
{
	char *prefix = parent_of_found(real, 2);
	bool distribution = prefix && (!*prefix || !strcmp(prefix, "/usr"));
	char package[48];
	struct gorgon_error *err;

	if (!prefix)
		return &gorgon_error_nomem;
	snprintf(package, sizeof(package), "libpython3.%u%s", version->minor,
		 version->debug ? "-dbg" : "");
	err = gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"%s: found no libpython3.%u%s.so.1.0 in lib, lib/" GORGON_ARCH_MULTIARCH
		" or lib64 of %s; install %s%s",
		path, version->minor, version->debug ? "d" : "", *prefix ? prefix : "/",
		distribution ? "the distribution's " : "",
		distribution ? package
			     : "a Python that was configured with --enable-shared (pyenv: "
			       "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install)");
	free(prefix);
	return err;
}

// The libpython beside an executable that is not linked to one.
static struct gorgon_error *find_beside(const char *path, const char *real,
					struct gorgon_python *python)
{
	struct gorgon_error *err;
	struct version version;

	if (!parse_executable(real, &version))
		return found_unknown(path);
	if ((err = check_version(path, &version)))
		return err;
	python->minor = version.minor;
	python->debug = version.debug;
	if ((err = find_in_prefix(real, &version, &python->libpython)))
		return err;
	return python->libpython ? NULL : found_no_library(path, real, &version);
}

// The libpython of an executable that needs @name and looks for it in @search_path. The system's
// library comes last: LD_LIBRARY_PATH and the cache may know another build of that version.
static struct gorgon_error *find_needed(const char *path, const char *real, const char *name,
					const char *search_path, struct gorgon_python *python)
{
	struct gorgon_error *err;
	struct version version;
	char *file;

	parse_library(name, &version);
	if ((err = check_version(path, &version)))
		return err;
	python->minor = version.minor;
	python->debug = version.debug;
	if ((err = gorgon_search_path(search_path, name, real, &file)))
		return err;
	if (!file && (err = find_in_prefix(real, &version, &file)))
		return err;
	if (!file) {
		gorgon_lock();
		err = gorgon_search(name, NULL, &file);
		gorgon_unlock();
	}
	if (err)
		return err;
	python->libpython = realpath(file, NULL); // $ORIGIN/../lib
	if (!python->libpython)
		err = gorgon_error_create_os(errno, "%s", file);
	free(file);
	return err;
}

static bool is_libpython(const char *name)
{
	struct version version;

	return parse_library(name, &version);
}

// The libpython of an executable; @real is its name without links.
static struct gorgon_error *find_library(const char *path, const char *real,
					 struct gorgon_python *python)
{
	struct gorgon_error *err;
	char *name, *search_path;

	if ((err = gorgon_needs_find(real, is_libpython, &name, &search_path)))
		return err;
	err = name ? find_needed(path, real, name, search_path, python)
		   : find_beside(path, real, python);
	free(name);
	free(search_path);
	return err;
}

// The executable from which a virtual environment was made, as its pyvenv.cfg says; @ret is NULL if
// the file does not say it. venv and virtualenv use different names for this entry.
static struct gorgon_error *read_executable(FILE *in, char **ret)
{
	struct gorgon_error *err = NULL;
	char value[PATH_MAX], *line = NULL;
	size_t size = 0;

	while (!err && !*ret && getline(&line, &size, in) > 0)
		if ((sscanf(line, " executable = %4095[^\n]", value) == 1 ||
		     sscanf(line, " base-executable = %4095[^\n]", value) == 1) &&
		    !(*ret = strdup(value)))
			err = &gorgon_error_nomem;
	free(line);
	return err;
}

// The executable that pyvenv.cfg, one level above bin/, names: for environments that were made
// with copies instead of links.
static struct gorgon_error *venv_executable(const char *path, char **ret)
{
	char *dir = parent_of_found(path, 2), *file = NULL;
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

// The executable that was there before any virtual environment, without links.
static struct gorgon_error *base_executable(const char *path, char **ret)
{
	char *real = realpath(path, NULL), *name = strdup(path), *next, *next_real;
	struct gorgon_error *err = NULL;

	if (!real || !name)
		err = real ? &gorgon_error_nomem : gorgon_error_create_os(errno, "%s", path);
	for (unsigned i = 0; !err && i < VENV_DEPTH; i++) {
		// First, because a copy may be called python3.11 and is not in its prefix.
		if ((err = venv_executable(name, &next)))
			break;
		next_real = next ? realpath(next, NULL) : NULL;
		if (!next_real || !strcmp(next_real, real)) {
			free(next_real);
			free(next);
			break;
		}
		free(name);
		free(real);
		name = next;
		real = next_real;
	}
	free(name);
	if (err)
		free(real);
	else
		*ret = real;
	return err;
}

// The ELF type of a file, or an error that says what it is instead.
static struct gorgon_error *classify_found(const char *path, uint16_t *type)
{
	unsigned char head[18] = {0};
	struct stat st;
	ssize_t size = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), number = 0;

	if (fd < 0)
		return gorgon_error_create_os(errno, "%s", path);
	if (fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && (size = pread(fd, head, sizeof(head), 0)) < 0))
		number = errno;
	close(fd);
	if (number)
		return gorgon_error_create_os(number, "%s", path);
	if (!S_ISREG(st.st_mode))
		return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: not a regular file", path);
	if (size >= 2 && !memcmp(head, "#!", 2))
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"%s: is a script, expected a python executable or a libpython", path);
	if (size < (ssize_t)sizeof(head) || memcmp(head, ELFMAG, SELFMAG))
		return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: not an ELF file (%lld bytes)",
					   path, (long long)st.st_size);
	memcpy(type, head + 16, 2);
	return NULL;
}

// Made absolute, links kept: pyvenv.cfg lies beside the link.
static struct gorgon_error *make_absolute(const char *path, char **ret)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

	if (*path != '/' && !cwd)
		return gorgon_error_create_os(errno, "%s: the current folder", path);
	if (asprintf(ret, "%s%s%s", cwd ?: "", cwd ? "/" : "", path) < 0)
		*ret = NULL;
	free(cwd);
	return *ret ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *find_from_executable(const char *path, struct gorgon_python *python)
{
	struct gorgon_error *err;
	uint16_t type;
	char *real;

	if ((err = base_executable(path, &real)))
		return err;
	if (!(err = classify_found(real, &type)))
		err = find_library(path, real, python);
	free(real);
	return err ?: make_absolute(path, &python->executable);
}

struct newest {
	unsigned minor;
	char *path;
	int err; // errno of a library that could not be looked at
};

static bool keep_newest_found(void *ctx, const char *name, const char *path)
{
	struct newest *newest = ctx;
	struct version version;

	if (!parse_library(name, &version) || version.debug || version.free_threaded ||
	    version.minor < MINOR_MIN || version.minor <= newest->minor)
		return true;
	if (access(path, R_OK)) {
		// the list may be older than what is there
		newest->err = errno == ENOENT || errno == EACCES ? 0 : errno;
		return !newest->err;
	}
	free(newest->path);
	*newest = (struct newest){version.minor, strdup(path), 0};
	return newest->path != NULL;
}

// The version of /usr/bin/python3, whose libpython can be installed.
static unsigned distributions_minor(void)
{
	char *real = realpath("/usr/bin/python3", NULL);
	struct version version;
	bool known = real && parse_executable(real, &version) && version.minor >= MINOR_MIN;

	free(real);
	return known ? version.minor : MINOR_MIN;
}

static struct gorgon_error *find_in_system(struct gorgon_python *python)
{
	struct newest newest = {0};
	struct gorgon_error *err;
	int number = gorgon_ldcache_for_each(keep_newest_found, &newest);

	if (number || newest.err) {
		free(newest.path);
		return gorgon_error_create_os(number ?: newest.err,
					      "/etc/ld.so.cache: cannot look for a libpython");
	}
	if (newest.minor && !newest.path)
		return &gorgon_error_nomem;
	if (!newest.path)
		return gorgon_error_create(
			GORGON_ERROR_MISSING,
			"no libpython3.%u.so.1.0 or newer in /etc/ld.so.cache; install the "
			"distribution's libpython3.%u, or name a python",
			MINOR_MIN, distributions_minor());
	err = find_from_library(newest.path, python);
	free(newest.path);
	return err;
}

struct gorgon_error *gorgon_python_find(const char *path, struct gorgon_python *ret)
{
	struct gorgon_python python = {0};
	struct gorgon_error *err;
	uint16_t type = ET_NONE;
	struct version version;

	if (!path) {
		err = find_in_system(&python);
	} else if (!(err = classify_found(path, &type))) {
		// A position-independent python3.N is ET_DYN as well: the name decides.
		bool library = parse_library(path, &version) ||
			       (type == ET_DYN && strstr(base_name(path), ".so"));

		err = library ? find_from_library(path, &python)
			      : find_from_executable(path, &python);
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

// Debian's and pyenv's lib/python3.11 of the prefix, Fedora's lib64/python3.11 beside the library.
bool gorgon_python_is_whole(const struct gorgon_python *python)
{
	char *dir = parent_of_found(python->libpython, 1), *slash, *file;
	bool whole = false;

	if (dir && !strcmp(base_name(dir), GORGON_ARCH_MULTIARCH) && (slash = strrchr(dir, '/')))
		*slash = 0;
	for (unsigned i = 0; dir && !whole && i < 2; i++) {
		if (asprintf(&file, "%s/%spython3.%u/os.py", dir, i ? "../lib/" : "",
			     python->minor) < 0)
			break;
		whole = !access(file, R_OK);
		free(file);
	}
	free(dir);
	return whole;
}
