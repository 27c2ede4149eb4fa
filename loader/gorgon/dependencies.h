/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
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
	unsigned index;      /**< Number of this entry, from 0 in the order of the calls. */
	unsigned parent;     /**< Number of the entry that needs it; 0 for the first entry. */
	const char *name;    /**< As the parent calls it (DT_NEEDED); the first: as asked for. */
	const char *path;    /**< File it was found at, or NULL: not found. */
	bool shared;         /**< With the process; otherwise private. */
	const char *pattern; /**< Line of the built-in list, or option, that names it; or NULL. */
	/** One line: why it is private or shared; not found: where was looked. */
	const char *reason;
};

/**
 * List what loading a file would bring: the file, and breadth first each library that it
 * needs, once. The rules are those of gorgon_object_open(). Files are read; no code is
 * mapped, and the system's linker opens nothing.
 *
 * @param opts  Options of the namespace that the file would be loaded into; NULL for defaults.
 * @param base  A library that would be loaded before the file, as libpython is before an
 *              extension: a library that both need is one object. NULL for none.
 * @param path  As for gorgon_object_open(). A file whose name is shared is shown as
 *              shared, as dlopen() of private code would treat it.
 * @param fn    Called for each entry, until it returns false. The loader's lock is held:
 *              @p fn must not call this library.
 *
 * @return every error of gorgon_object_open() up to relocation, for @p base and for the
 *         file itself. A dependency that is missing or cannot be read is no error but an
 *         entry without a path. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_deps_for_each(const struct gorgon_ns_opts *opts, const char *base, const char *path,
		     bool (*fn)(void *ctx, const struct gorgon_dep *dep), void *ctx);

/** Who answers a name that no private object defines. */
enum gorgon_import_source {
	GORGON_IMPORT_SYSTEM = 0,     /**< a shared library, or the program itself */
	GORGON_IMPORT_REPLACED = 1,   /**< a function of this library, in place of the system's */
	GORGON_IMPORT_PROVIDER = 2,   /**< the host's struct gorgon_provider */
	GORGON_IMPORT_UNRESOLVED = 3, /**< nobody: loading would fail */
};

/** A name that is taken from outside; see gorgon_imports_for_each(). Strings live during the call.
 */
struct gorgon_import {
	const char *object;  /**< Path of the private object that refers to it. */
	const char *name;    /**< the symbol that the object asks for */
	const char *version; /**< The version that the object asks for, or NULL. */
	enum gorgon_import_source source; /**< who defines it */
	/** SYSTEM: path of the library. REPLACED: the reason. Otherwise NULL. */
	const char *from;
};

/**
 * List the names that the file and its private dependencies would take from outside, by
 * the look-up that a load does. For that the shared libraries are opened, as a load
 * would open them, and stay open; no private library is mapped. Weak references that
 * nobody answers are left out.
 *
 * @param opts,base,path  As for gorgon_deps_for_each().
 * @param fn              Called for each name of each object, until it returns false.
 *                        The loader's lock is held: @p fn must not call this library.
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
