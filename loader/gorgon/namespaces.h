/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
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

#ifdef __cplusplus
}
#endif

#endif
