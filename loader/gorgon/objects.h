/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
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
	/** Objects that this brings look among themselves before they look at global ones,
	 * as with RTLD_DEEPBIND. */
	GORGON_OPEN_DEEPBIND = 2,
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
 * @param      flags  enum gorgon_open_flags.
 * @param[out] ret    Valid until gorgon_object_close() or gorgon_ns_destroy().
 *                    An object that is loaded already is returned again and
 *                    counted.
 *
 * @return GORGON_ERROR_OS           the file cannot be opened or mapped
 *         GORGON_ERROR_FORMAT       not an ELF shared object, or malformed
 *         GORGON_ERROR_MACHINE      wrong class, byte order or machine
 *         GORGON_ERROR_MISSING      a dependency was not found
 *         GORGON_ERROR_ARGUMENT     a dependency is shared by option and needs a private one
 *         GORGON_ERROR_UNRESOLVED   a symbol was not found: symbol, version, referrer
 *         GORGON_ERROR_UNSUPPORTED  a relocation or TLS model that is not loadable here;
 *                                   a library to be shared that needs a libpython
 *         GORGON_ERROR_NOMEM
 *
 * Constructors run on the calling thread, outside the lock, and may open
 * further objects. An attached debugger has been told of every object before
 * the first constructor runs. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_object_open(struct gorgon_ns *ns, const char *path, unsigned flags,
		   struct gorgon_object **ret);

/** Options of gorgon_object_open_with(). */
struct gorgon_open_opts {
	size_t size;	/**< sizeof(struct gorgon_open_opts) */
	unsigned flags; /**< enum gorgon_open_flags */
	/**
	 * Objects of the same namespace in the order in which they are searched, ended by NULL;
	 * or NULL. What an object does not define itself is looked for in each of these, without
	 * their dependencies, before global objects and what else this call loads. They stay
	 * loaded as long as something is bound to them. (A reference whose version names a
	 * shared library is bound there first, as always.)
	 */
	struct gorgon_object *const *search;
	/** Asked before the namespace's provider, or NULL. */
	const struct gorgon_provider *provider;
	/** What constructors get as argc, argv and envp, each ended by NULL. NULL for the
	 * process's arguments and environment. Constructors may keep these pointers. */
	const char *const *argv;
	const char *const *envp;
};

/**
 * gorgon_object_open() with options for what this call loads: the object, and its private
 * dependencies that are not loaded yet. What is loaded stays as it is, and what its code
 * opens itself, then or later, is loaded without them.
 *
 * @param opts  NULL for defaults. Not used after the call.
 * @return every error of gorgon_object_open(), and GORGON_ERROR_ARGUMENT (options of a wrong size,
 *         an object of another namespace in @c search). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_object_open_with(struct gorgon_ns *ns, const char *path,
			const struct gorgon_open_opts *opts, struct gorgon_object **ret);

/**
 * Give back one gorgon_object_open(). With the last one the object, and
 * dependencies that nothing else uses, are finalised and unmapped. As with
 * dlclose(3) an object stays that must (DF_1_NODELETE, a GNU_UNIQUE definition in
 * use), and one whose thread_local variables some thread has yet to destroy stays
 * until the next close after that. What is closed while destructors run, by one of
 * them or on another thread, is finalised after those.
 */
GORGON_API void gorgon_object_close(struct gorgon_object *object);

/**
 * Find a symbol in an object, then in its dependencies in breadth-first order,
 * as dlsym(3) does. The address of a thread-local symbol is the calling
 * thread's.
 *
 * @param version  NULL for the default version.
 * @return NULL when there is none.
 */
GORGON_API void *gorgon_object_find_symbol(struct gorgon_object *object, const char *name,
					   const char *version);

/** What is known of a loaded object. Pointers live as long as the object. */
struct gorgon_object_info {
	const char *path;   /**< File it was mapped from. */
	const char *soname; /**< DT_SONAME, or NULL. */
	uint64_t bias;      /**< Run-time address minus link-time address. */
	uint64_t start;     /**< First mapped address. */
	uint64_t end;       /**< One past the last. */
	const char *debug_path; /**< File with its DWARF, or NULL. */
};

/** Describe an object. */
GORGON_API void gorgon_object_get_info(const struct gorgon_object *object,
				       struct gorgon_object_info *ret);

/**
 * Call @p fn for each object of a namespace in load order, until it returns
 * false. The loader's lock is held: @p fn must not load or unload.
 */
GORGON_API void gorgon_ns_for_each_object(struct gorgon_ns *ns,
					  bool (*fn)(void *ctx, struct gorgon_object *object),
					  void *ctx);

/**
 * What a library name would be in a namespace with these patterns: private, or
 * shared with the process. By the name alone: a library that would be shared is
 * private all the same when it needs one that is private.
 *
 * @param      name    `libfoo.so.1`, or a path of which the last part counts.
 * @param      share,keep_private  As in struct gorgon_ns_opts; may be NULL.
 * @param[out] reason  One line, static; may be NULL.
 * @return true when it would be shared.
 */
GORGON_API bool gorgon_policy_is_shared(const char *name, const char *const *share,
					const char *const *keep_private, const char **reason);

/** Call @p fn for each line of the built-in list of shared libraries. */
GORGON_API void gorgon_policy_for_each(void (*fn)(void *ctx, const char *pattern,
						  const char *reason),
				       void *ctx);

#ifdef __cplusplus
}
#endif

#endif
