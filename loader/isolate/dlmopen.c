// SPDX-License-Identifier: MIT
// Isolation by dlmopen(3): a link namespace of the system's linker for each interpreter.
//
// Everything in it is private, the C library included; only the linker itself is shared. The
// first object, libpython, and what it needs are the global scope of a namespace, so that
// extensions find the C API although they do not name libpython.
//
// All limits are the C library's: there are 16 namespaces; each copy of the C library takes a part
// of the room for initial-exec thread-local variables; RTLD_GLOBAL is not possible; the number of a
// namespace with a library that cannot be unloaded is never free again.
//
// Documentation: dlmopen(3); docs/isolation.md compares the strategies.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"
#include "image/image.h"
#include "base/lock.h"
#include "ns/ns.h"

#include <string.h>

static struct gorgon_error *dlmopen_refuse(const char *what)
{
	return gorgon_refuse("dlmopen", what);
}

static struct gorgon_error *dlmopen_check(const struct gorgon_ns_opts *opts)
{
	if (opts->share && *opts->share)
		return dlmopen_refuse("no library can be shared with the process, all are private");
	if (opts->pool_threads)
		return dlmopen_refuse(
			"sizes of thread pools cannot be told, its C library has the environment");
	if (opts->share_environment)
		return dlmopen_refuse("the environment cannot be the process's, its C library has "
				      "one of its own");
	return gorgon_refuse_options("dlmopen", opts);
}

// The linker's message names a limit. Add what the user can do about it.
static struct gorgon_error *dlmopen_explain(const char *text)
{
	if (strstr(text, "static TLS"))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"dlmopen: %s: every namespace takes of it for its C library; "
			"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=N makes it larger", text);
	if (strstr(text, "no more namespaces"))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"dlmopen: %s: the C library has 16, the process's own is one", text);
	return gorgon_error_create(GORGON_ERROR_MISSING, "%s", text);
}

// For debuggers the linker keeps a list of link namespaces, whose entries outlive the namespaces.
// The list tells whether a namespace is still there. dlmopen() cannot be asked: for a namespace
// that is gone it fails and keeps the linker's lock (glibc 2.36).
static struct gorgon_error *note_link_map(struct gorgon_linked *linked, void **handle)
{
	const struct r_debug_extended *r_debug = (const struct r_debug_extended *)&_r_debug;
	struct link_map *map;

	dlinfo(*handle, RTLD_DI_LMID, &linked->lmid);
	dlinfo(*handle, RTLD_DI_LINKMAP, &map);
	for (; r_debug && r_debug->base.r_version >= 2; r_debug = r_debug->r_next) {
		if (r_debug->base.r_map != map)
			continue;
		linked->r_debug = &r_debug->base;
		return NULL;
	}
	dlclose(*handle);
	return dlmopen_refuse("the C library does not list its namespaces (glibc 2.35 does)");
}

// Check the file: the system's linker does not, and crashes where a file was cut off.
static struct gorgon_error *dlmopen_validate(const char *path)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(path, &image);
	gorgon_image_close(image);
	gorgon_unlock();
	return err;
}

static struct gorgon_error *open_file(struct gorgon_ns *ns, const char *path, int flags,
				      void **handle)
{
	struct gorgon_linked *linked = ns->linked;
	struct gorgon_error *err;
	const char *text;

	if (flags & RTLD_GLOBAL)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: RTLD_GLOBAL is not possible with isolation by dlmopen", path);
	if (strchr(path, '/') && (err = dlmopen_validate(path)))
		return err;
	*handle = dlmopen(linked->handle_count ? linked->lmid : LM_ID_NEWLM, path, flags);
	if (!*handle)
		return (text = dlerror()) ? dlmopen_explain(text) : NULL;
	return linked->handle_count ? NULL : note_link_map(linked, handle);
}

static struct link_map *first_map(const struct gorgon_ns *ns)
{
	return ns->linked->r_debug ? ns->linked->r_debug->r_map : NULL;
}

// The list of each namespace has the system's linker, which is not private: the process has only
// one.
static const char *file_of(const struct gorgon_ns *ns, const struct link_map *map)
{
	const char *slash = strrchr(map->l_name, '/');

	(void)ns;
	return slash && strncmp(slash + 1, "ld-linux", 8) ? map->l_name : NULL;
}

static const struct gorgon_linker linker = {
	.own_libc = true,
	.open = open_file,
	.first_map = first_map,
	.file_of = file_of,
	.create_hooks = gorgon_hooks_create,
	.find_hook = gorgon_hooks_find,
};

static struct gorgon_error *open_python(struct gorgon_ns *ns, const char *path,
					struct gorgon_object **ret)
{
	return gorgon_linked_open(ns, &linker, path, ret);
}

const struct gorgon_isolation gorgon_isolation_dlmopen = {
	.name = "dlmopen",
	.check = dlmopen_check,
	.open = open_python,
	.close = gorgon_linked_close,
	.enter = gorgon_linked_enter,
	.flush = gorgon_linked_flush,
};
