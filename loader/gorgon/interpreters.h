/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_INTERPRETERS_H
#define GORGON_INTERPRETERS_H

#include "api.h"
#include "errors.h"
#include "namespaces.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** How an interpreter's Python ends. */
enum gorgon_end {
	/** As python3 ends. */
	GORGON_END_FULL = 0,
	/**
	 * For hosts that replace interpreters often: objects that only refer to each other (a class, a module's
	 * functions, most exceptions with a traceback) are left where they are, and their memory goes as
	 * a whole with the interpreter's. In this order, as in python3: threads that are not daemons are
	 * joined; what atexit has runs; sys.stdout and sys.stderr are flushed; modules lose their
	 * variables, and what nothing else refers to is finalised. The difference: of objects in a
	 * cycle, and of what only these refer to, neither __del__() nor callbacks of weak references run,
	 * so a file that such an object has open loses what was not flushed; destructors of
	 * extensions' types do not run for them, either. What must happen at the end belongs into
	 * atexit, or a `with` statement. Only where gorgon's own loader isolates
	 * (GORGON_ISOLATE_LOADER): others cannot give the memory back.
	 */
	GORGON_END_QUICK = 1,
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
	enum gorgon_end end;
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

#ifdef __cplusplus
}
#endif

#endif
