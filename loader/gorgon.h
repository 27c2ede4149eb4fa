/* SPDX-License-Identifier: MIT */
/**
 * @file
 * gorgon: many private copies of CPython, and of unmodified C extensions, in one
 * process, all of them visible to GDB and LLDB.
 *
 * Words: a *namespace* is one private world; an *object* is one ELF file loaded
 * into it; a *provider* answers symbol names; an *interpreter* is a namespace
 * with a libpython in it, numbered from 0, numbers never reused in a process.
 *
 * Rules that hold for the whole file
 * - Errors: a fallible function returns NULL on success or an error object that
 *   the caller releases with gorgon_error_destroy(). Results come through the
 *   last argument, written on success only. After a failure nothing stays
 *   mapped, registered or open that was not before the call.
 * - Threads: any thread may call any function, unless the function says
 *   otherwise. One process-wide lock orders loading, unloading and look-ups;
 *   constructors, destructors and Python code run outside it. Do not call from
 *   a constructor of a library that the system is loading at that moment: it
 *   holds the system's own loader lock, which comes after ours.
 * - Fork: the lock is taken around fork(); the child keeps every namespace.
 *   Of the interpreters only the one whose thread forked can go on running.
 * - Signals: nothing here is async-signal-safe but gorgon_waitpid() with WNOHANG.
 * - Strings that are passed in are copied. Addresses are run-time addresses.
 * - The library never prints and never ends the process.
 * - Structures of options and figures start with their own size, which the caller sets to
 *   sizeof; everything else zero means defaults. They may grow at the end in later versions.
 *   What a shorter structure of an older caller does not have is the default. In a longer one
 *   of a newer caller the bytes that this library does not know must be zero, or the call
 *   fails with GORGON_ERROR_ARGUMENT; figures that it does not know are set to zero.
 */
#ifndef GORGON_H
#define GORGON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORGON_VERSION_MAJOR 0
#define GORGON_VERSION_MINOR 1
#define GORGON_VERSION_PATCH 0

#define GORGON_API __attribute__((visibility("default")))
#define GORGON_MUST_CHECK __attribute__((warn_unused_result))

struct gorgon_error;
struct gorgon_ns;
struct gorgon_object;
struct gorgon_interp;
struct gorgon_array;
struct gorgon_pool;
struct gorgon_job;
struct gorgon_value;

/** Version of the library that runs: major << 16 | minor << 8 | patch. */
GORGON_API unsigned gorgon_version(void);

/* ---- errors: what went wrong, as an object ------------------------------ */

/** What kind of thing went wrong. Values never change; new ones go last. */
enum gorgon_error_code {
	GORGON_OK = 0,
	GORGON_ERROR_NOMEM = 1,      /**< no memory */
	GORGON_ERROR_OS = 2,         /**< a system call failed; errno is kept */
	GORGON_ERROR_FORMAT = 3,     /**< not a loadable object, or it contradicts itself */
	GORGON_ERROR_MACHINE = 4,    /**< an object for another machine or class */
	GORGON_ERROR_MISSING = 5,    /**< a file or a dependency was not found */
	GORGON_ERROR_UNRESOLVED = 6, /**< a symbol was not found */
	GORGON_ERROR_UNSUPPORTED = 7, /**< valid, but outside of what this version loads */
	GORGON_ERROR_PYTHON = 8,     /**< no usable CPython, or it refused to start */
	GORGON_ERROR_BUSY = 9,       /**< still in use: threads run in it, or a wrong state */
	GORGON_ERROR_ARGUMENT = 10,  /**< the caller's arguments are wrong */
	GORGON_ERROR_EXCEPTION = 11, /**< Python code raised; see gorgon_error_exception() */
	GORGON_ERROR_CANCELLED = 12, /**< a job that the host no longer wanted */
};

/** Code of @p err; GORGON_OK for NULL. */
GORGON_API enum gorgon_error_code gorgon_error_code(const struct gorgon_error *err);
/** One line without a final full stop: object, what, found, expected. Lives as long as @p err. */
GORGON_API const char *gorgon_error_message(const struct gorgon_error *err);
/** The errno value of GORGON_ERROR_OS, otherwise 0. */
GORGON_API int gorgon_error_errno(const struct gorgon_error *err);

/** A Python exception as text, in UTF-8. */
struct gorgon_exception {
	const char *type;      /**< `ValueError`, `json.decoder.JSONDecodeError` */
	const char *message;   /**< str() of it; may be empty, may have several lines */
	const char *traceback; /**< what python3 would print; ends with a newline */
};

/** The exception of GORGON_ERROR_EXCEPTION, otherwise NULL. Lives as long as @p err. Since 0.1. */
GORGON_API const struct gorgon_exception *gorgon_error_exception(const struct gorgon_error *err);
/** Release an error. NULL is ignored. */
GORGON_API void gorgon_error_destroy(struct gorgon_error *err);

/* ---- providers: names that the host gives to private code --------------- */

/**
 * A table of host functions, or anything else that can answer a symbol name.
 * Asked for names that no private object defines, before the system is asked.
 */
struct gorgon_provider {
	/**
	 * @param      ctx      As given below.
	 * @param      name     The symbol.
	 * @param      version  Its version, or NULL.
	 * @param[out] addr     Set when found. Of a thread-local variable: that of the calling
	 *                      thread, in which the variable of all others is recognised.
	 * @return true when found. Called with the loader's lock held: it must
	 *         not call back into this library.
	 */
	bool (*find)(void *ctx, const char *name, const char *version, void **addr);
	void *ctx;
	/** Gives back what @c ctx holds; see gorgon_provider_close(). May be NULL. */
	void (*close)(void *ctx);
};

/**
 * Ask a provider for a name, in any thread.
 *
 * @param version  NULL for the default version.
 * @return The address, of a thread-local variable the calling thread's; NULL when there is
 *         none. Since 0.1.
 */
GORGON_API void *gorgon_provider_find_symbol(const struct gorgon_provider *provider,
					     const char *name, const char *version);

/**
 * Call the provider's @c close, if it has one. For the host to call when no namespace uses it
 * any more: namespaces borrow providers, and several may have the same. Since 0.1.
 */
GORGON_API void gorgon_provider_close(const struct gorgon_provider *provider);

/** A name and its address, for gorgon_table_find(). */
struct gorgon_table_entry {
	const char *name; /**< NULL after the last */
	void *addr;
};

/**
 * The @c find of a provider that is a table: its @c ctx is an array of struct
 * gorgon_table_entry, which ends with a NULL name. Versions play no part. Since 0.1.
 */
GORGON_API bool gorgon_table_find(void *ctx, const char *name, const char *version, void **addr);

/** A thread-local variable of the host, for gorgon_tls_table_find(). */
struct gorgon_tls_table_entry {
	const char *name;   /**< NULL after the last */
	void *(*addr)(void); /**< returns the address of the calling thread's */
};

/**
 * The @c find of a provider that is a table of thread-local variables: its @c ctx is an array
 * of struct gorgon_tls_table_entry, which ends with a NULL name. Since 0.1.
 */
GORGON_API bool gorgon_tls_table_find(void *ctx, const char *name, const char *version,
				      void **addr);

/**
 * The @c find of a provider that is a library of the system's: its @c ctx is a handle of
 * dlopen(3), which must be open as long as the provider is used. The library's dependencies
 * are asked, too, as dlsym(3) does. Its thread-local variables are found like its functions;
 * code that refers to one as initial-exec can be loaded only if the library was there when the
 * program started.
 *
 * The handle stays the host's, unless gorgon_handle_close() is the provider's @c close.
 * Since 0.1.
 */
GORGON_API bool gorgon_handle_find(void *ctx, const char *name, const char *version, void **addr);

/** The @c close of a provider that has taken a handle over: dlclose(3). Since 0.1. */
GORGON_API void gorgon_handle_close(void *ctx);

/**
 * The @c find of several providers, which are asked in their order: its @c ctx is an array of
 * struct gorgon_provider, which ends with one whose @c find is NULL. Since 0.1.
 */
GORGON_API bool gorgon_chain_find(void *ctx, const char *name, const char *version, void **addr);

/** The @c close of such a provider: closes each of them, the last one first. Since 0.1. */
GORGON_API void gorgon_chain_close(void *ctx);

/* ---- debugging: what gdb and lldb are told ------------------------------ */

/*
 * Every private object is described to debuggers through GDB's JIT interface: plain gdb and
 * lldb set breakpoints by name and show backtraces in all copies. `gorgon info` prints the line
 * that enables the scripts which add the rest; gorgon-symdump(1) answers without a debugger.
 * What they all read is in debug_root.h.
 */

/** What debuggers are told about private objects. */
enum gorgon_debug_mode {
	/** as FULL with up to 8 namespaces and 400 objects in the process; beyond that as LAZY */
	GORGON_DEBUG_AUTO = 0,
	GORGON_DEBUG_FULL = 1, /**< a symfile for each object, referring to its DWARF */
	/** one symfile for all objects of a namespace once it has loaded nothing for a while:
	 * names and unwind data. Debuggers' scripts attach DWARF to the copies that matter.
	 * 32 namespaces side by side that have loaded the same have one together; with AUTO
	 * when there are more than 128 */
	GORGON_DEBUG_LAZY = 3,
	GORGON_DEBUG_OFF = 2,  /**< nothing through the JIT interface; the debug root remains */
};

/* ---- namespaces: private worlds ----------------------------------------- */

/** Options of gorgon_ns_create(). */
struct gorgon_ns_opts {
	size_t size; /**< sizeof(struct gorgon_ns_opts) */
	/** NULL-terminated shell patterns of library names (`libfoo.so.1`, no folders) to take from the
	 * system although they would be private by default. NULL for none. A library can be
	 * shared only with all that it needs: to load one of these that needs a private
	 * library is GORGON_ERROR_ARGUMENT. So is the name of a libpython. */
	const char *const *share;
	/** The opposite; wins over @c share. A pattern that takes in the C library, the dynamic
	 * linker or a sanitizer's runtime ("*", "libc*") is GORGON_ERROR_ARGUMENT. */
	const char *const *keep_private;
	/** Answers names before the system does. NULL for none. Must outlive the namespace. */
	const struct gorgon_provider *provider;
	enum gorgon_debug_mode debug;
	/** Receives a debug line now and then (no newline). NULL for silence. Called with locks
	 * held, the loader's or those of private code, and by several threads at once: calls
	 * nothing of this library. */
	void (*log)(void *ctx, const char *line);
	void *log_ctx;
	/** Receives what private code writes to descriptors 1 and 2 through write().
	 * Returns what write() would; NULL writes as usual. Called without any lock, from
	 * whichever thread writes. */
	ssize_t (*write_output)(void *ctx, int fd, const void *data, size_t size);
	void *write_ctx;
	/** Keep signals from its code: handlers that it installs are remembered and never
	 * run. By default a signal reaches every interpreter that handles it, on the
	 * interpreter's main thread, and the host's own handler. */
	bool no_signals;
	/** The environment that its code begins with, `NAME=value` each, ended by NULL; copied.
	 * NULL for the process's, which all such namespaces have in common. With one of its
	 * own, getenv(3), setenv(3), `environ` and programs that its code starts (execv(3),
	 * execvp(3), system(3)) know that one alone, so os.environ and variables like
	 * PYTHONPATH differ from interpreter to interpreter. What the C library and shared
	 * libraries read themselves is the process's: TZ, LANG, TMPDIR, sizes of a shared
	 * BLAS's thread pool. */
	const char *const *environment;
	/** Threads that pools of its libraries (BLAS, OpenMP) are told to have, through
	 * OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and the like where the environment does not
	 * set them. 0: the processors divided by the number of namespaces that exist when a
	 * library asks. Libraries that are shared with the process read the environment
	 * themselves. */
	unsigned pool_threads;
	/** Arenas of its CPython's object allocator, from the third one on, share large pages, two
	 * of them one of 2 MiB: an import of numpy has half the page faults and takes some 4% less
	 * time, for half a MiB more of memory. Where the kernel has no large pages for who asks
	 * (`transparent_hugepage` is `never`) nothing changes. */
	bool large_arenas;
};

/**
 * Create an empty namespace.
 *
 * @param      opts  NULL for defaults.
 * @param[out] ret   To be released with gorgon_ns_destroy().
 * @return GORGON_ERROR_NOMEM, GORGON_ERROR_OS (no memory map left),
 *         GORGON_ERROR_ARGUMENT (options of a wrong size, a pattern that cannot be obeyed). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_ns_create(const struct gorgon_ns_opts *opts, struct gorgon_ns **ret);

/**
 * Finalise everything in the namespace in the order of exit(3): thread_local
 * variables of the calling thread, what was registered with atexit() and the like,
 * static C++ objects among it, across libraries, the last first, then destructors in
 * reverse order of initialisation. Tell the debugger, unmap and free it.
 *
 * Pointers into its objects are invalid afterwards. The caller sees to it that
 * no code of the namespace is running. Threads that private code has started
 * and that live on after its destructors make this fail.
 *
 * @return GORGON_ERROR_BUSY while such threads exist (it waits half a second for
 *         those that are about to end). Destructors have run then, everything
 *         stays mapped, and the call may be repeated. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_ns_destroy(struct gorgon_ns *ns);

/** Identity of a namespace in this process, as debuggers show it; never reused. */
GORGON_API uint64_t gorgon_ns_id(const struct gorgon_ns *ns);

/* ---- what is kept for the next interpreter ------------------------------ */

/** What is kept unless gorgon_keep() says something else. @{ */
#define GORGON_KEEP_FILE_BYTES	 (UINT64_C(256) << 20)
#define GORGON_KEEP_MEMORY_BYTES (UINT64_C(32) << 20)
#define GORGON_KEEP_SECONDS	 300u
/** @} */

/**
 * Limits of what the process keeps of libraries that no namespace has any more. What was read of
 * them, how their symbols were bound, and what debuggers are told of them is kept, so that to
 * replace the only interpreter costs what a second one beside it does. It is of the file as it was:
 * one that has changed (its device, inode, size, or the times of its last modification and status
 * change) is read again.
 *
 * Nothing of it keeps a descriptor. As long as a file is kept its contents stay on disk although it
 * is deleted, and its file system cannot be unmounted.
 *
 * @param file_bytes    Of libraries' files that stay mapped read-only: of address space, and of
 *                      pages that are the page cache's. Those that were used last. 0: none.
 * @param memory_bytes  Of what debuggers are told. 0: nothing.
 * @param seconds       Since it was used. What is older goes when something is loaded or
 *                      unloaded, or by gorgon_trim(). Since 0.1.
 */
GORGON_API void gorgon_keep(uint64_t file_bytes, uint64_t memory_bytes, unsigned seconds);

/** Drop all that is kept, at once. What comes next is kept again. Since 0.1. */
GORGON_API void gorgon_trim(void);

/** What is kept at this moment; see gorgon_kept_get_stats(). */
struct gorgon_kept_stats {
	size_t size;	       /**< sizeof(struct gorgon_kept_stats), set by the caller */
	uint64_t file_count;   /**< libraries that no namespace has */
	uint64_t file_bytes;   /**< of their files */
	uint64_t symfile_count; /**< what debuggers are told: one for each library, and for sets of them */
	uint64_t memory_bytes; /**< of it */
};

/** @return GORGON_ERROR_ARGUMENT: a structure of a wrong size. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_kept_get_stats(struct gorgon_kept_stats *ret);

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

/* ---- interpreters: private copies of CPython ---------------------------- */

/** A CPython that was found; see gorgon_python_find(). */
struct gorgon_python {
	char *libpython;   /**< Absolute name of the library. */
	char *executable;  /**< What sys.executable will be; also argv[0]. */
	unsigned minor;    /**< 11 for CPython 3.11. */
	bool debug;        /**< A debug build (Py_DEBUG, `d` in the library's name). */
};

/**
 * Find the libpython that belongs to a path.
 *
 * @param      path  A python executable (a virtual environment's too), a
 *                   libpython, or NULL for the newest that the system's library
 *                   cache has. PATH and PYTHONHOME play no part. An executable
 *                   that needs a libpython may have any name, others must be
 *                   called python3.N.
 * @param[out] ret   To be released with gorgon_python_deinit().
 * @return GORGON_ERROR_MISSING, GORGON_ERROR_FORMAT, GORGON_ERROR_MACHINE,
 *         GORGON_ERROR_PYTHON (an executable without libpython: the message says
 *         what to install), GORGON_ERROR_UNSUPPORTED (older than 3.11, or
 *         free-threaded), GORGON_ERROR_OS, GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_python_find(const char *path,
								     struct gorgon_python *ret);
/** Release the strings of a struct gorgon_python. */
GORGON_API void gorgon_python_deinit(struct gorgon_python *python);

/** How the libraries of an interpreter are made private. docs/isolation.md compares. */
enum gorgon_isolate {
	GORGON_ISOLATE_LOADER = 0, /**< this library's loader */
	/** a link namespace of the system's, see dlmopen(3): 15 at most. Everything is private,
	 * the C library too, so @c share, @c provider, @c pool_threads and @c debug of struct
	 * gorgon_ns_opts are refused; debuggers know the objects from the system's linker. */
	GORGON_ISOLATE_DLMOPEN = 1,
	/** copies of the files of private libraries, in a folder under TMPDIR, which the system's
	 * linker loads; @c provider and @c debug of struct gorgon_ns_opts are refused, and
	 * a process that has a Python in its global scope. */
	GORGON_ISOLATE_COPY = 2,
};

/**
 * Whose descriptors, current directory, umask and record locks an interpreter has.
 *
 * One of its own has what it would have as a process after execve(2): copies of the descriptors
 * that its starter has, but for those that are close-on-exec. What it opens, closes, moves or
 * locks from then on is its own affair, and what the host opens is not there. At its end all of
 * it is closed. Threads that it starts share it; so does what the host's functions do that run on
 * its threads. See clone(2), CLONE_FILES and CLONE_FS. Where a filter of system calls forbids
 * unshare(2) (containers have such), it has descriptors of its own and the host's current
 * directory and umask.
 */
enum gorgon_files {
	/**
	 * Its own for programs: gorgon_interp_main() runs on a thread of ours while the calling one
	 * waits, and so do a pool's jobs. The host's where functions of the host run on the
	 * interpreter's threads: with @c write_output, @c provider or @c progress set, and for
	 * gorgon_interp_start() on a thread of the host.
	 */
	GORGON_FILES_AUTO = 0,
	/** The host's. Record locks keep interpreters and the host apart all the same. */
	GORGON_FILES_SHARED = 1,
	/**
	 * Its own, and the calling thread's for good: for a thread of the host that does nothing
	 * else. Later calls into the interpreter come from that thread.
	 */
	GORGON_FILES_THREAD = 2,
};

/** Options of gorgon_interp_create(). */
struct gorgon_interp_opts {
	size_t size;          /**< sizeof(struct gorgon_interp_opts) */
	/** As for gorgon_python_find(); NULL for the default. It finds its standard library as the
	 * executable does, but for PYTHONHOME in the process's environment, which is for others
	 * unless there is no standard library where the libpython is. */
	const char *python;
	const struct gorgon_ns_opts *ns; /**< NULL for defaults; read during the call only. */
	/** Tell start-up from running in the statistics. Costs an audit hook (PEP 578),
	 * which slows the events that Python audits. */
	bool timing;
	/** Beside interpreters that the loader does not isolate no objects can be opened with
	 * gorgon_object_open(), and their memory cannot be limited. Processes may mix. */
	enum gorgon_isolate isolate;
	enum gorgon_files files;
};

/**
 * Load a private libpython. The interpreter has its number, and debuggers know
 * it, when this returns; Python itself is not started yet.
 *
 * @param      opts  NULL for defaults.
 * @param[out] ret   To be released with gorgon_interp_destroy().
 * @return every error of gorgon_python_find(), gorgon_ns_create() and
 *         gorgon_object_open(); GORGON_ERROR_UNSUPPORTED for what the isolation asked for
 *         cannot do. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_create(const struct gorgon_interp_opts *opts, struct gorgon_interp **ret);

/**
 * Be python3: start the interpreter, do what the arguments say, finalise it. Blocks until the
 * program has ended. Python's main thread is the calling one with GORGON_FILES_SHARED and
 * GORGON_FILES_THREAD; by default it is a thread of ours, with the calling one's name, signal
 * mask and size of stack, so that the program has descriptors of its own (enum gorgon_files). The
 * calling thread is not cancelled before the program ends.
 *
 * `sys.exit` and the C function exit() end this call, not the process; an
 * uncaught exception is printed as python3 prints it. In a child process that
 * the program forks, its end is the end of that process: there the call does not
 * return. What the interpreter's libraries have registered for the end runs,
 * output is flushed; functions that the host or other interpreters have
 * registered do not run, nor destructors of shared libraries.
 *
 * @param      argc,argv  Arguments after python's own name: `-c CODE ARG...`,
 *                        `-m MODULE`, `FILE`, or python's own options.
 * @param[out] status     Exit status that python3 would have had.
 * @return GORGON_ERROR_BUSY when it was called before on this interpreter: one
 *         program per interpreter. GORGON_ERROR_OS: no thread, or descriptors of its own are
 *         forbidden; then nothing has run. GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_main(struct gorgon_interp *interp, int argc, const char *const *argv, int *status);

/** Options of gorgon_interp_start(). The strings are copied; lists end with NULL. */
struct gorgon_start_opts {
	size_t size;	/**< sizeof(struct gorgon_start_opts) */
	const char *const *argv; /**< sys.argv; NULL for one empty string */
	const char *const *path; /**< folders to put before the others in sys.path, or NULL */
	/** Options of python3's command line, as `-X`, `utf8`, `-W`, `error`, or NULL. What has
	 * no option there has a variable: see @c environment in struct gorgon_ns_opts. */
	const char *const *options;
	bool isolated;		 /**< As `-I`: no environment variables, no user's site-packages. */
	bool ignore_environment; /**< As `-E`: PYTHONPATH and the like play no part. */
	bool no_site;		 /**< As `-S`: the module `site` is not imported. */
	/**
	 * Bytes that the interpreter may hold: heap_bytes and mapped_bytes of struct
	 * gorgon_interp_stats together. 0 for no limit. A soft one: when it is passed, the main
	 * thread collects garbage before its next bytecode, and raises MemoryError if that did
	 * not help. Allocations that would pass it by more than a quarter fail, on all threads.
	 * Other interpreters do not notice. What extensions allocate themselves
	 * (extension_bytes, and their small blocks) is no part of it.
	 */
	uint64_t memory_limit;
	/**
	 * Called with what a program gives to gorgon.progress(), on the program's thread, which
	 * does not hold its GIL then; @c value lives during the call. False: it is to stop, and
	 * progress() raises KeyboardInterrupt. NULL: nobody listens, and progress() returns False
	 * where it returns True otherwise.
	 */
	bool (*progress)(void *ctx, const struct gorgon_value *value);
	void *progress_ctx;
};

/**
 * Start Python, and return with it ready for gorgon_interp_run_string() and the others: the
 * other way to use an interpreter than gorgon_interp_main(). The same start as python3's;
 * nothing of its command line is run, and no folder of a script is in sys.path.
 *
 * The calling thread is Python's main thread as long as the interpreter is started: there
 * signal handlers run, and blocking calls can be interrupted. It does not hold the GIL on
 * return. It must not block SIGINT if it is to be interrupted.
 *
 * Signals that Python handles reach a started interpreter like one that runs a program. A
 * Ctrl-C that comes while the main thread is in no call is a KeyboardInterrupt in its next
 * one. A host that does not want this sets @c no_signals in struct gorgon_ns_opts, which
 * leaves gorgon_interp_interrupt() as it is.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_BUSY (it was started before, or has run a program), GORGON_ERROR_PYTHON
 *         (Python refused: the message has its own), GORGON_ERROR_ARGUMENT (options of a wrong size),
 *         GORGON_ERROR_EXCEPTION, GORGON_ERROR_NOMEM. After a failure, unless the arguments were
 *         wrong, the interpreter can only be destroyed. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_start(struct gorgon_interp *interp, const struct gorgon_start_opts *opts);

/**
 * Finalise a started interpreter as python3 does at its end: join its non-daemon threads, run
 * what atexit has. New calls are refused from the moment this is called.
 *
 * Best on the thread that started it. Another one may, which atexit functions then see.
 *
 * @param timeout_ms  How long to wait for calls that other threads have made: 0 not at all,
 *                    -1 for ever.
 * @return GORGON_ERROR_BUSY: not started, called from inside the interpreter, or calls were
 *         still running in the end; then it is as if nothing had happened. GORGON_ERROR_PYTHON:
 *         its code called exit() at the end; it has ended. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_interp_stop(struct gorgon_interp *interp,
								     int timeout_ms);

/**
 * Unload the interpreter's namespace and free everything. A started one is stopped first, as
 * gorgon_interp_stop() with 0 does; to wait for calls of other threads, call that before.
 * Debuggers drop its breakpoint locations.
 *
 * @return GORGON_ERROR_BUSY while its program, calls, or threads that its libraries
 *         started still run; see gorgon_ns_destroy(). The call may be repeated.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_destroy(struct gorgon_interp *interp);

/* ---- descriptors: handed on between those who have their own ------------ */

/**
 * Put what a descriptor of the calling thread stands for under a name, for whoever asks for it
 * with gorgon_descriptor_receive() or, in a program, `gorgon.receive_fd(name)`: the host, or a
 * program with descriptors of its own (enum gorgon_files), in either direction. The caller's
 * descriptor stays open, and may be closed at once. As with unix(7), SCM_RIGHTS, both then refer
 * to one open file: its offset and its status flags are common.
 *
 * The first call starts a thread that keeps such files, for the rest of the process's life. A
 * child of fork() has none of what its parent keeps.
 *
 * @param name  1 to 255 bytes.
 * @return GORGON_ERROR_BUSY: the name has one that nobody has received. GORGON_ERROR_OS: no open
 *         descriptor, or none left for a moment's socket. GORGON_ERROR_ARGUMENT: the name.
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_send(const char *name, int fd);

/**
 * Take what was sent under a name: a new descriptor of the calling thread, close-on-exec. The
 * name is free again.
 *
 * @return GORGON_ERROR_MISSING: nobody has sent it. GORGON_ERROR_OS: no descriptor left; what was
 *         sent can still be received. GORGON_ERROR_ARGUMENT: the name. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_receive(const char *name,
									     int *fd);

/* ---- calls: running code of a started interpreter, and plain values ----- */

/*
 * Any thread may call; each takes the GIL of that interpreter for the length of the call, so
 * calls into one interpreter take turns and calls into several run at once. A host function
 * that Python has called may call again, into the same interpreter or another. Locks of the
 * host: none that a host function needs may be held while it calls, since calls wait for the
 * GIL.
 *
 * On a thread other than the main one Python's thread-local variables live for one call.
 *
 * Errors that all of them return: GORGON_ERROR_BUSY (the interpreter is not started),
 * GORGON_ERROR_EXCEPTION (Python code raised; SystemExit of sys.exit() is one of these, and
 * KeyboardInterrupt of an interrupt), GORGON_ERROR_PYTHON (its code has called the C function
 * exit(): the host goes on, the interpreter has ended and can only be destroyed),
 * GORGON_ERROR_NOMEM. After an exception the interpreter is as Python code left it.
 */

/** What a value is. */
enum gorgon_value_kind {
	GORGON_VALUE_NONE = 0,
	GORGON_VALUE_BOOL = 1,
	GORGON_VALUE_INT = 2,	 /**< from -2^63 to 2^63-1; others do not cross: str() them */
	GORGON_VALUE_FLOAT = 3,
	GORGON_VALUE_STRING = 4, /**< UTF-8 without surrogates; zero bytes are allowed */
	GORGON_VALUE_BYTES = 5,	 /**< a bytearray becomes one, too */
	GORGON_VALUE_LIST = 6,	 /**< a tuple becomes one, too */
	GORGON_VALUE_DICT = 7,
	/** Memory that both sides look at: an ndarray there (a memoryview without numpy), writable
	 * if the array is. From there every other object with a buffer, or DLPack's, becomes one:
	 * over its memory if that is the host's (see gorgon.use_data_handler()), otherwise as a
	 * copy that is made once; numpy's scalars that are no float are arrays without dimensions. */
	GORGON_VALUE_ARRAY = 8,
};

/** Lists and dicts within each other, at most. One that contains itself is refused by it. */
#define GORGON_VALUE_DEPTH_MAX 64
/** Values in one tree, at most. More numbers than that are an array's matter. */
#define GORGON_VALUE_COUNT_MAX 1048576

/**
 * A plain value, or a tree of them, that crosses the border by value. What is passed in stays
 * the caller's, and nothing of it is kept. What comes out is the caller's, to be given back
 * with gorgon_value_deinit(); a zero byte follows its strings and bytes. Subclasses cross as
 * what they are derived from (numpy.float64 as a float, an IntEnum as an int).
 */
struct gorgon_value {
	enum gorgon_value_kind kind;
	union {
		bool boolean;
		int64_t integer;
		double number;
		struct {
			const char *data;
			size_t size; /**< bytes */
		} text; /**< STRING and BYTES */
		struct {
			struct gorgon_value *items; /**< of a dict: key, value, key, value, ... */
			size_t count;	/**< items of a list, entries of a dict */
		} list;
		struct gorgon_array *array; /**< what comes out is held once, for the caller */
	};
};

/** Release what a value that came from an interpreter holds; it is None then. */
GORGON_API void gorgon_value_deinit(struct gorgon_value *value);

/**
 * Run statements in the module `__main__`.
 *
 * @param name  File name to show in tracebacks; NULL for `<string>`. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_run_string(struct gorgon_interp *interp, const char *source, const char *name);

/**
 * Run a file of source code in the module `__main__`, whose `__file__` it becomes. What it
 * defines stays. A file that cannot be read is an OSError, one that cannot be compiled a
 * SyntaxError. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_run_file(struct gorgon_interp *interp, const char *path);

/** Run a module by its name, as `-m` does: with `__name__` `__main__`. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_run_module(struct gorgon_interp *interp, const char *name);

/**
 * Call a function with plain values.
 *
 * @param      module    Imported if need be; NULL for `__main__`.
 * @param      function  Attributes of it, separated by dots: `sqrt`, `JSONEncoder.encode`.
 * @param      args      A LIST, or NULL for no positional arguments.
 * @param      kwargs    A DICT with strings as keys, or NULL.
 * @param[out] ret       What it returned, as a value; NULL: whatever it is, is dropped.
 * @return and GORGON_ERROR_ARGUMENT (@p args or @p kwargs is not what it must be, or exceeds
 *         the limits above), GORGON_ERROR_UNSUPPORTED (what it returned cannot cross: the
 *         message says which part of it). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_call(struct gorgon_interp *interp, const char *module, const char *function,
		   const struct gorgon_value *args, const struct gorgon_value *kwargs,
		   struct gorgon_value *ret);

/**
 * Interrupt what runs in an interpreter: KeyboardInterrupt in each call that is under way,
 * gorgon_interp_main() included. From any thread; does not wait for what it interrupts to
 * end. When nothing runs, nothing happens: no call that begins later is interrupted.
 *
 * A call on the interpreter's main thread is interrupted in blocking system calls, too; to
 * that end its thread gets a SIGINT that only this interpreter sees. Calls on other threads
 * are interrupted before their next bytecode; for these the caller waits for the GIL, which
 * C code that computes may keep. Threads that Python has started are not interrupted. Programs
 * may catch the exception or handle SIGINT in another way: the call may be repeated.
 *
 * @return GORGON_ERROR_UNSUPPORTED: Python's main thread runs and has no handler for SIGINT,
 *         or the host has set one of its own since. GORGON_ERROR_BUSY: it ended meanwhile.
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_interrupt(struct gorgon_interp *interp);

/* ---- process: what the host and its interpreters have together -------- */

/**
 * waitpid(2) about the host's own children: all that no interpreter has made. Interpreters see
 * their own alone, by os.wait() and everything that rests on it.
 *
 * The kernel does not know of this. A host that calls wait(), waitpid(-1) or waitid(P_ALL) takes
 * interpreters' children, too, and their programs learn nothing of how they ended (Python's
 * `Popen.wait()` returns 0 then). Such a host calls this function instead. waitpid() for one
 * child that the host has made itself needs no change. A host that ignores SIGCHLD does the same
 * harm: the kernel keeps no child's status for anybody.
 *
 * Children of interpreters that have ended are waited for by the library.
 *
 * To be used in a handler of SIGCHLD: with WNOHANG it is async-signal-safe.
 *
 * @param      pid      As of waitpid(): a child, -1 for any, 0 or less for those of a process
 *                      group. A child that an interpreter has made is none: ECHILD. What C
 *                      libraries of an interpreter start by popen(), clone() or syscall() counts as
 *                      the host's.
 * @param[out] status   How it ended, or NULL.
 * @param      options  As of waitpid(). Without WNOHANG any handler of a signal ends the call
 *                      (EINTR) when it waits for more than one child.
 * @return the child, 0, or -1 with errno set, as waitpid() says. ENOSYS: @p pid is not one
 *         child's, and /proc has no lists of children. Since 0.1.
 */
GORGON_API pid_t gorgon_waitpid(pid_t pid, int *status, int options);

/* ---- inspection: what an interpreter is and holds ----------------------- */

/** Number of the interpreter, from 0. */
GORGON_API unsigned gorgon_interp_number(const struct gorgon_interp *interp);
/** Interpreters alive in the process. */
GORGON_API unsigned gorgon_interp_count(void);
/** Its namespace. Borrowed. */
GORGON_API struct gorgon_ns *gorgon_interp_ns(struct gorgon_interp *interp);
/** The CPython it runs. Borrowed. */
GORGON_API const struct gorgon_python *gorgon_interp_python(const struct gorgon_interp *interp);
/** Any exported name of this copy's libpython, or NULL. */
GORGON_API void *gorgon_interp_find_symbol(struct gorgon_interp *interp, const char *name);

/** Where the time of one interpreter went, and what it holds; see gorgon_interp_get_stats(). */
struct gorgon_interp_stats {
	size_t size;          /**< sizeof(struct gorgon_interp_stats), set by the caller */
	uint64_t load_ns;     /**< reading, validating, mapping; all objects so far */
	uint64_t relocate_ns; /**< symbol look-up, relocation, protection */
	uint64_t register_ns; /**< telling debuggers and the unwinder */
	uint64_t init_ns;     /**< Python's start-up; 0 without the option `timing` */
	uint64_t run_ns;      /**< the program, its imports and its finalisation; with
				   gorgon_interp_start() from the start to the end or until now */
	uint64_t object_count; /**< private objects loaded */
	uint64_t relaxed_count; /**< of these, without RELRO and separate constants, because
				     the process comes near the limit of mappings */
	uint64_t private_bytes; /**< resident pages of its objects that only it has */
	uint64_t shared_bytes;  /**< resident pages of its objects that are file-backed and clean */
	uint64_t heap_bytes;    /**< that CPython has from malloc(): its domain `raw`, and large
				     blocks of `mem` and `obj` */
	uint64_t mapped_bytes;  /**< anonymous memory that its code has mapped: arenas with the
				     small blocks of CPython's domains `mem` and `obj` */
	uint64_t extension_bytes; /**< blocks of 64 KiB and more that extensions have from malloc()
				       and its like, such as arrays of numpy. Not what the shared C++
				       library allocates for them; and a block that shared code
				       frees counts until its address is given again. */
	uint64_t call_count;    /**< calls of the host into it that have ended; start and stop count */
	uint64_t cpu_ns;        /**< processor time of these, on the threads that called */
};

/** Read the counters; any thread, any time. Times are in nanoseconds of CLOCK_MONOTONIC. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_get_stats(struct gorgon_interp *interp, struct gorgon_interp_stats *ret);

/* ---- pools: warmed interpreters for work from any thread ---------------- */

/** Options of gorgon_pool_create(). */
struct gorgon_pool_opts {
	size_t size; /**< sizeof(struct gorgon_pool_opts) */
	/** Of each interpreter; NULL for defaults. The structures are copied, their strings are
	 * not and must live as long as the pool. Signals of the process do not reach a pool:
	 * no_signals in struct gorgon_ns_opts is always set. */
	const struct gorgon_interp_opts *interp;
	const struct gorgon_start_opts *start;
	unsigned count;	     /**< interpreters; 0 for as many as there are processors */
	unsigned queue_size; /**< jobs that may wait; 0 for twice @c count */
	/** Statements to run in each interpreter before its first job, as
	 * gorgon_interp_run_string() does: imports, definitions. NULL for none. */
	const char *warm_up;
};

/**
 * Make a pool: interpreters, each on a thread of its own, that do what is submitted. Returns
 * when all are warm.
 *
 * An interpreter is replaced by a new one, warmed like the first, when its job was cancelled
 * while it ran, called exit(), or ended with MemoryError. If that fails, the next job that
 * the worker takes gets the error, and it tries again. A child that the process forks has no
 * workers: it must leave the pool alone.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_ARGUMENT, GORGON_ERROR_OS (a thread), GORGON_ERROR_NOMEM, every error of
 *         gorgon_interp_create(), gorgon_interp_start() and gorgon_interp_run_string().
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_create(const struct gorgon_pool_opts *opts, struct gorgon_pool **ret);

/**
 * End a pool: cancel the jobs that wait, let those that run end (cancel them before, if they
 * would not), stop and destroy the interpreters.
 *
 * @return GORGON_ERROR_BUSY: jobs have not been given to gorgon_job_finish(), or threads that
 *         libraries of an interpreter have started still run. It takes no more jobs; the
 *         call may be repeated. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_pool_destroy(struct gorgon_pool *pool);

/** How many interpreters have been replaced so far. Since 0.1. */
GORGON_API uint64_t gorgon_pool_replaced_count(const struct gorgon_pool *pool);

/**
 * Let an interpreter of the pool call a function, as gorgon_interp_call() does. Any thread,
 * but for code that runs in the pool: it would wait for itself.
 *
 * @param      args,kwargs  Copied.
 * @param      timeout_ms   How long to wait while the queue is full: 0 not at all, -1 for ever.
 * @param[out] ret          To be given to gorgon_job_finish().
 * @return GORGON_ERROR_BUSY (the queue was full all the time, or the pool is being destroyed),
 *         GORGON_ERROR_ARGUMENT (a value exceeds the limits), GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_submit(struct gorgon_pool *pool, const char *module, const char *function,
		   const struct gorgon_value *args, const struct gorgon_value *kwargs,
		   int timeout_ms, struct gorgon_job **ret);

/** Wait until a job has ended, at most so long (-1 for ever). Whether it has. Since 0.1. */
GORGON_API bool gorgon_job_wait(struct gorgon_job *job, int timeout_ms);

/**
 * A job is not wanted any more. One that waits ends with GORGON_ERROR_CANCELLED; one that runs
 * is interrupted as gorgon_interp_interrupt() says, and ends with KeyboardInterrupt unless its
 * code catches that: the call may be repeated. To one that has ended nothing happens.
 *
 * @return every error of gorgon_interp_interrupt(). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_cancel(struct gorgon_job *job);

/**
 * Wait for the end of a job, take its result, and release it. No other thread may use it
 * at that time or afterwards.
 *
 * @param[out] ret  To be given back with gorgon_value_deinit(); NULL: dropped.
 * @return every error of gorgon_interp_call(); GORGON_ERROR_CANCELLED; an error of making an
 *         interpreter to replace one. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_finish(struct gorgon_job *job,
								    struct gorgon_value *ret);

/* ---- a host that is a python3 -------------------------------------------------- */

/**
 * The module that makes a CPython, the one that the process itself runs, a host: an extension
 * module's PyInit function returns it. It has the functions for arrays that programs inside
 * have, and what the Python package `gorgon` is made from. The caller holds the GIL.
 *
 * @param find  Answers names of that CPython's C API, at any time later, too.
 * @return a new PyObject, or NULL with a Python exception set. Since 0.1.
 */
GORGON_API void *gorgon_module_create(void *(*find)(const char *name));

/* ---- arrays: memory that interpreters look at together ------------------ */

/*
 * An array lies in memory that the host and any number of interpreters look at at once,
 * without a copy. Holders are counted, atomically: the last to let go frees, in its own
 * thread. An interpreter that is destroyed lets go of what it held; nothing else of it
 * matters to the others. Programs inside say gorgon.share() and gorgon.receive().
 *
 * Items are not guarded: who writes while others read sees to the order of it.
 */

/** What the memory of an array means: the words of the array interface and PEP 3118. */
struct gorgon_array_layout {
	/** Of an item: a typestr (`<f8`, `|S5`, `<M8[ns]`) or a PEP 3118 format (`d`,
	 * `T{d:x:}`). Python objects (`O`) are refused. */
	const char *format;
	size_t item_size;         /**< bytes; 0 in options: the format says it (not of structures) */
	unsigned ndim;            /**< dimensions, 64 at most */
	const ptrdiff_t *shape;   /**< items in each */
	const ptrdiff_t *strides; /**< bytes from one item to the next in each; NULL in options:
				       without gaps, the last dimension's items side by side */
};

/** Options of gorgon_array_create(). */
struct gorgon_array_opts {
	size_t size; /**< sizeof(struct gorgon_array_opts) */
	struct gorgon_array_layout layout; /**< Copied. */
	/** Who receives it may ask for an array to write to. Whoever has the memory already
	 * (the host, the interpreter that shares) is never kept from writing. */
	bool writable;
	/** For new memory: tell the system to use huge pages (madvise(2), MADV_HUGEPAGE). */
	bool huge_pages;
	/** For new memory: the NUMA nodes that its pages come from, bit 0 for node 0; 0 for what
	 * the process's policy says (mbind(2), MPOL_BIND). GORGON_ERROR_UNSUPPORTED where the
	 * kernel has no such policies, GORGON_ERROR_ARGUMENT if none of them is a node that the
	 * process may use, or with @c data. */
	uint64_t numa_nodes;
	/** Memory of the host's, or NULL for new memory: zeroed, aligned to 64 bytes. It
	 * begins with the item of the lowest address, the first one unless strides are
	 * negative. */
	void *data;
	/** Called once when nobody holds @c data any more, or NULL. Called without any lock, on
	 * the thread of the last holder, which may hold the GIL of an interpreter: it must not
	 * run Python code. */
	void (*destroy)(void *ctx, void *data);
	void *ctx;
};

/**
 * Create an array over new memory or the host's own.
 *
 * @param[out] ret  Held once, by the caller: to be given back with gorgon_array_release().
 * @return GORGON_ERROR_ARGUMENT (options of a wrong size; a format that is not one, has Python
 *         objects or contradicts item_size; a negative shape; more than 64 dimensions; more
 *         bytes than there are addresses), GORGON_ERROR_NOMEM. After a failure @c destroy
 *         has not been called and will not be. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_array_create(const struct gorgon_array_opts *opts, struct gorgon_array **ret);

/** Hold it once more, which the caller must do already. Returns it. */
GORGON_API struct gorgon_array *gorgon_array_retain(struct gorgon_array *array);
/** Let go. The last holder frees. NULL is ignored. */
GORGON_API void gorgon_array_release(struct gorgon_array *array);

/** What is known of an array; it never changes. Pointers live as long as the array is held. */
struct gorgon_array_info {
	void *data; /**< the first item */
	struct gorgon_array_layout layout;
	bool writable;
};

/** Describe an array. */
GORGON_API void gorgon_array_get_info(const struct gorgon_array *array,
				      struct gorgon_array_info *ret);

/**
 * Give an array a name, by which the host and every interpreter can receive it. The name
 * holds the array until it is withdrawn, also when whoever shared it is gone.
 *
 * @return GORGON_ERROR_BUSY (the name is taken), GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_share(struct gorgon_array *array,
								     const char *name);

/**
 * The array that was shared under a name.
 *
 * @param[out] ret  Held once, by the caller.
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_receive(const char *name,
								       struct gorgon_array **ret);

/**
 * Take a name back, whoever gave it. Those who have received the array keep it.
 *
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_withdraw(const char *name);

#ifdef __cplusplus
}
#endif

#endif
