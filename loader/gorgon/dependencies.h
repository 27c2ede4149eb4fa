/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_DEPENDENCIES_H
#define GORGON_DEPENDENCIES_H

#include "api.h"
#include "errors.h"
#include "objects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dependencies: what a load would bring ------------------------------ */

/** One library of a closure; see gorgon_deps_for_each(). Strings live during the call. */
struct gorgon_dep {
	unsigned index;      /**< Of this entry, from 0 in the order of the calls. */
	unsigned parent;     /**< Entry that brought it in; its own for the first. */
	const char *name;    /**< As the parent calls it (DT_NEEDED); the first: as asked for. */
	const char *path;    /**< File it was found at, or NULL: not found. */
	bool shared;         /**< With the process; otherwise private. */
	const char *pattern; /**< Line of the built-in list, or option, that names it; or NULL. */
	const char *reason;  /**< One line: why private or shared; where was looked if not found. */
};

/**
 * What loading a file would bring: the file, and breadth first each library that it
 * needs, once. Decided by what gorgon_object_open() decides by. Files are read; nothing
 * is mapped to run, nothing is opened by the system.
 *
 * @param opts  Of the namespace it would be loaded into; NULL for defaults.
 * @param base  A library that is there before it, as libpython is before an extension:
 *              what both need is the same object. NULL for none.
 * @param path  As for gorgon_object_open(). A file whose name is shared is shown as
 *              shared, which is what dlopen() of private code would make of it.
 * @param fn    Called for each, until it returns false. The loader's lock is held.
 *
 * @return every error of gorgon_object_open() up to relocation, for @p base and for the
 *         file itself; for its dependencies only those that are not about a missing
 *         or unreadable file, which is an entry without a path. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_deps_for_each(const struct gorgon_ns_opts *opts, const char *base, const char *path,
		     bool (*fn)(void *ctx, const struct gorgon_dep *dep), void *ctx);

/** Where a name comes from that a private object does not find in private objects. */
enum gorgon_import_source {
	GORGON_IMPORT_SYSTEM = 0,     /**< a shared library, or the program itself */
	GORGON_IMPORT_REPLACED = 1,   /**< a function of this library, in place of the system's */
	GORGON_IMPORT_PROVIDER = 2,   /**< the host's struct gorgon_provider */
	GORGON_IMPORT_UNRESOLVED = 3, /**< nobody: loading would fail */
};

/** One name that crosses; see gorgon_imports_for_each(). Strings live during the call. */
struct gorgon_import {
	const char *object;  /**< Path of the private object that refers to it. */
	const char *name;
	const char *version; /**< That it asks for, or NULL. */
	enum gorgon_import_source source;
	const char *from;    /**< SYSTEM: path of the library. REPLACED: the reason. Else NULL. */
};

/**
 * The names that the private objects of a file's closure would take from outside, by
 * the look-up that a load does. For that the shared libraries are opened, as a load
 * would open them, and stay open; nothing private is mapped. Weak references that
 * nobody answers are left out.
 *
 * @param opts,base,path  As for gorgon_deps_for_each().
 * @param fn              Called for each name of each object, until it returns false.
 *                        The loader's lock is held.
 *
 * @return every error of gorgon_object_open() up to relocation. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_imports_for_each(const struct gorgon_ns_opts *opts, const char *base, const char *path,
			bool (*fn)(void *ctx, const struct gorgon_import *import), void *ctx);

#ifdef __cplusplus
}
#endif

#endif
