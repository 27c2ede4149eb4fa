/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_OBJECTS_H
#define GORGON_OBJECTS_H

#include "api.h"
#include "errors.h"
#include "namespaces.h"
#include "providers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- objects: files loaded into a namespace ----------------------------- */

/** Flags of gorgon_object_open(). */
enum gorgon_open_flags {
	/** Its symbols are visible to objects opened later, as with RTLD_GLOBAL. */
	GORGON_OPEN_GLOBAL = 1,
	/** Objects that this call loads look for symbols among themselves before they look at
	 * global objects, as with RTLD_DEEPBIND. */
	GORGON_OPEN_DEEPBIND = 2,
};

/** Options of gorgon_object_open(). */
struct gorgon_open_opts {
	size_t size;	/**< sizeof(struct gorgon_open_opts) */
	unsigned flags; /**< enum gorgon_open_flags */
	/**
	 * Objects of the same namespace in the order in which they are searched, ended by NULL;
	 * or NULL. A symbol that a loaded object does not define itself is looked for in each
	 * listed object, without the dependencies of that, before global objects and the other
	 * objects of this call. A listed object stays loaded as long as something is bound to it.
	 * (A reference whose version names a shared library is bound there first, as always.)
	 */
	struct gorgon_object *const *search;
	/** Asked before the namespace's provider, or NULL. Borrowed during the call. */
	const struct gorgon_provider *provider;
	/** What constructors get as argc, argv and envp, each ended by NULL. NULL for the
	 * process's arguments and environment. Constructors may keep these pointers. */
	const char *const *argv;
	const char *const *envp; /**< as @c argv */
};

/**
 * Load an ELF shared object and its private dependencies into a namespace.
 *
 * The steps are one transaction: read and validate, map, relocate, protect,
 * register with the debugger, commit; then constructors run, dependencies
 * first (gABI chapter 5, "Initialization and Termination Functions").
 *
 * @param      ns     Owner of what is mapped. Borrowed.
 * @param      path   File name; one without a slash is searched as ld.so(8) says.
 * @param      opts   NULL for defaults. They hold for what this call loads: the object, and those
 *                    of its private dependencies that are not loaded yet. Objects that are there
 *                    already stay as they are, and objects that the loaded code opens itself, then
 *                    or later, are loaded without these options. Not used after the call.
 * @param[out] ret    Valid until gorgon_object_close() or gorgon_ns_destroy().
 *                    An object that is loaded already is returned again and
 *                    counted.
 *
 * @return GORGON_ERROR_OS           the file cannot be opened or mapped
 *         GORGON_ERROR_FORMAT       not an ELF shared object, or malformed
 *         GORGON_ERROR_MACHINE      wrong class, byte order or machine
 *         GORGON_ERROR_MISSING      a dependency was not found
 *         GORGON_ERROR_ARGUMENT     options of a wrong size, an unknown flag, an object of
 *                                   another namespace in @c search; a dependency is shared by
 *                                   option and needs a private library
 *         GORGON_ERROR_UNRESOLVED   a symbol was not found: symbol, version, referrer
 *         GORGON_ERROR_UNSUPPORTED  a relocation or TLS model that is not loadable here;
 *                                   a library to be shared that needs a libpython; a
 *                                   namespace that the loader does not isolate (enum
 *                                   gorgon_isolate)
 *
 * Constructors run on the calling thread, outside the lock, and may open
 * further objects. An attached debugger has been told of every object before
 * the first constructor runs. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_object_open(struct gorgon_ns *ns, const char *path, const struct gorgon_open_opts *opts,
		   struct gorgon_object **ret);

/**
 * Undo one gorgon_object_open() of this object; not NULL. The last call finalises and unmaps the
 * object, and dependencies that nothing else uses. As with dlclose(3) an object stays loaded that
 * has the flag DF_1_NODELETE or a GNU_UNIQUE definition in use. An object whose thread_local
 * variables some thread has yet to destroy stays until the first close after that. An object that
 * is closed while destructors run, by a destructor or on another thread, is finalised after these.
 */
GORGON_API void gorgon_object_close(struct gorgon_object *object);

/**
 * Find a symbol in an object, then in its dependencies in breadth-first order,
 * as dlsym(3) does.
 *
 * @param version  NULL for the default version.
 * @return The run-time address; of a thread-local variable, that of the calling thread's. NULL when
 *         there is no such symbol.
 */
GORGON_API void *gorgon_object_find_symbol(struct gorgon_object *object, const char *name,
					   const char *version);

/** What is known of a loaded object. Strings live as long as the object. */
struct gorgon_object_info {
	const char *path;   /**< File it was mapped from. */
	const char *soname; /**< DT_SONAME, or NULL. */
	uint64_t bias;      /**< Run-time address minus link-time address. */
	uint64_t start;     /**< First mapped address. */
	uint64_t end;       /**< One past the last mapped address. */
	const char *debug_path; /**< File with its DWARF, or NULL. */
};

/** Describe an object. */
GORGON_API void gorgon_object_get_info(const struct gorgon_object *object,
				       struct gorgon_object_info *ret);

/**
 * Call @p fn for each object of a namespace in load order, until @p fn returns
 * false. The loader's lock is held: @p fn may look at objects, and must not load or unload.
 */
GORGON_API void gorgon_ns_for_each_object(struct gorgon_ns *ns,
					  bool (*fn)(void *ctx, struct gorgon_object *object),
					  void *ctx);

/**
 * What a library would be in a namespace with these patterns: private, or shared
 * with the process. The answer is by the name alone: when a library is loaded, and
 * it needs a private library, it is private whatever its name says.
 *
 * @param      name    `libfoo.so.1`, or a path of which the last part counts.
 * @param      share,keep_private  As in struct gorgon_ns_opts; may be NULL.
 * @param[out] reason  Set to one static line; may be NULL.
 * @return true when it would be shared.
 */
GORGON_API bool gorgon_policy_is_shared(const char *name, const char *const *share,
					const char *const *keep_private, const char **reason);

/** Call @p fn for each line of the built-in list of shared libraries. The strings are static. */
GORGON_API void gorgon_policy_for_each(void (*fn)(void *ctx, const char *pattern,
						  const char *reason),
				       void *ctx);

#ifdef __cplusplus
}
#endif

#endif
