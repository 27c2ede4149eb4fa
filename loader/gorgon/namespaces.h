/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_NAMESPACES_H
#define GORGON_NAMESPACES_H

#include "api.h"
#include "debugging.h"
#include "errors.h"
#include "providers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- namespaces: private worlds ----------------------------------------- */

/**
 * What the code of a namespace may not do; flags. This keeps order among friends: it tells a
 * program that means well what is not for it. It is no sandbox. Native code, ctypes and bugs get
 * around all of it.
 */
enum gorgon_deny {
	/** Importing extension modules, those of the standard library in files of their own
	 * included, but for
	 * @c extensions of struct gorgon_ns_opts. ImportError says so. Modules that are built into
	 * libpython and what the host loads with gorgon_object_open() are not affected. */
	GORGON_DENY_EXTENSIONS = 1,
	/** Opening libraries with dlopen(), as ctypes and cffi do (OSError); the program itself,
	 * dlopen(NULL), can be opened. */
	GORGON_DENY_LIBRARIES = 2,
	/** New processes: fork(), vfork(), posix_spawn(), system(), popen() and the like fail with
	 * EPERM, which is PermissionError in Python; os.system() returns -1. */
	GORGON_DENY_FORK = 4,
	/** Other programs: execve() and its relatives, posix_spawn(), system() and popen() fail
	 * with EPERM, so subprocess raises PermissionError. */
	GORGON_DENY_EXEC = 8,
	/** Handlers of signals: sigaction() and signal() fail with EPERM, but for the default,
	 * SIG_IGN, and handlers of SIGINT, which CPython begins with and asyncio.run() sets. */
	GORGON_DENY_SIGNALS = 16,
};

/** Options of gorgon_ns_create(). */
struct gorgon_ns_opts {
	size_t size; /**< sizeof(struct gorgon_ns_opts) */
	/** Libraries to take from the system although they would be private by default: shell
	 * patterns of their names (`libfoo.so.1`, no folders), ended by NULL. NULL for none. A
	 * library can be shared only together with all that it needs: loading a library of this
	 * list that needs a private library is GORGON_ERROR_ARGUMENT. So is a pattern that fits a
	 * libpython's name. Copied. */
	const char *const *share;
	/** Libraries to load privately although they would be shared by default, in the same form;
	 * wins over @c share. A pattern that fits the C library, the dynamic linker or a
	 * sanitizer's runtime ("*", "libc*") is GORGON_ERROR_ARGUMENT. Copied. */
	const char *const *keep_private;
	/** Answers names before the system does. NULL for none. Borrowed: must outlive the
	 * namespace. */
	const struct gorgon_provider *provider;
	enum gorgon_debug_mode debug; /**< what debuggers are told of its objects */
	/** Receives what the loader does, a line without a newline for each step; @c line lives
	 * during the call. NULL for silence. Called with locks held, the loader's or those of
	 * private code, and by several threads at once: it must not call this library. */
	void (*log)(void *ctx, const char *line);
	void *log_ctx; /**< passed to @c log */
	/** Receives what private code writes to descriptors 1 and 2 through write(): @c size
	 * bytes. Returns how many of them it has taken, or -1 with errno set, as write(2) does.
	 * NULL: they are written as usual. Called without any lock, on the thread that writes. */
	ssize_t (*write_output)(void *ctx, int fd, const void *data, size_t size);
	void *write_ctx; /**< passed to @c write_output */
	/** Keep signals from the namespace's code: handlers that the code installs are remembered
	 * and never run. By default a signal reaches every interpreter that handles it, on the
	 * interpreter's main thread, and the host's own handler. */
	bool no_signals;
	/** The environment that the namespace's code begins with, `NAME=value` each, ended by NULL;
	 * copied. NULL for a copy of the process's as it is when the namespace is created: no other
	 * thread may change it just then. The environment is the namespace's own: it is what
	 * getenv(3), setenv(3), `environ` and programs that the code starts see, and TZ, LANG and
	 * the like, and PATH, mean what is said there. What else the C library asks for itself
	 * (TMPDIR), and shared libraries, as a BLAS that sizes its thread pool, read the process's
	 * environment. */
	const char *const *environment;
	/** How many threads pools of private libraries (BLAS, OpenMP) are told to have, through
	 * OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and the like where the environment does not
	 * set these. 0: the processors divided by the number of namespaces that exist when a
	 * library asks. Shared libraries read the process's environment. */
	unsigned pool_threads;
	/** Put the arenas of CPython's object allocator (1 MiB each), from the third arena on, into
	 * large pages, two arenas into a page of 2 MiB: an import of numpy has half the page
	 * faults and takes some 4% less time, for half a MiB more of memory. Where the kernel
	 * gives no large pages to programs that ask (`transparent_hugepage` is `never`) nothing
	 * changes. */
	bool large_arenas;
	/** What its code may not do: flags of enum gorgon_deny. Other ways of isolation than
	 * GORGON_ISOLATE_LOADER refuse it. Which environment its code sees is @c environment. */
	unsigned deny;
	/** Extension modules that may be imported with GORGON_DENY_EXTENSIONS, ended by NULL.
	 * They are shell patterns of the names of their files (`_json.*`) or, with a slash, of
	 * whole paths. NULL is an empty list. An allowed module may need any libraries. A list
	 * without GORGON_DENY_EXTENSIONS is refused with GORGON_ERROR_ARGUMENT. The list is
	 * copied. */
	const char *const *extensions;
	/** How many threads that its code has started may be there at a time: pthread_create()
	 * fails with EAGAIN beyond, which is RuntimeError in Python. 0 for no limit. Threads of the
	 * host do not count. */
	unsigned thread_limit;
	/** The environment is the process's, which the host and all namespaces with this flag have
	 * in common: what one of them changes (TZ, too) all see. GORGON_ERROR_ARGUMENT with @c
	 * environment. */
	bool share_environment;
};

/**
 * Create an empty namespace.
 *
 * @param      opts  NULL for defaults.
 * @param[out] ret   To be released with gorgon_ns_destroy().
 * @return GORGON_ERROR_OS (no mapping left for the process), GORGON_ERROR_ARGUMENT (options of a
 *         wrong size, a pattern that cannot be obeyed). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_ns_create(const struct gorgon_ns_opts *opts, struct gorgon_ns **ret);

/**
 * Finalise everything in the namespace in the order of exit(3): thread_local
 * variables of the calling thread; functions that were registered with atexit() and the
 * like, destructors of static C++ objects among these, the last one first, whichever
 * library they are of; then destructors of objects in reverse order of initialisation.
 * After that tell debuggers, unmap the objects and free the namespace. NULL is ignored.
 *
 * Pointers into its objects are invalid afterwards. The caller sees to it that
 * no code of the namespace is running. Threads that private code has started
 * and that live on after the destructors make the call fail.
 *
 * @return GORGON_ERROR_BUSY while such threads exist (it waits half a second for
 *         those that are about to end). Destructors have run then, everything
 *         stays mapped, and the call may be repeated. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_ns_destroy(struct gorgon_ns *ns);

/** Identity of a namespace in this process, as debuggers show it; never reused. */
GORGON_API uint64_t gorgon_ns_id(const struct gorgon_ns *ns);

#ifdef __cplusplus
}
#endif

#endif
