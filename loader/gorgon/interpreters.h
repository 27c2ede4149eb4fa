/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
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
	char *executable;  /**< What sys.executable will be; also python's own name in argv. */
	unsigned minor;    /**< 11 for CPython 3.11. */
	bool debug;        /**< A debug build (Py_DEBUG, `d` in the library's name). */
};

/**
 * Find the libpython that belongs to a path.
 *
 * @param      path  A python executable (a virtual environment's too), a
 *                   libpython, or NULL for the newest that the system's library
 *                   cache has. PATH and PYTHONHOME play no part. An executable
 *                   that is linked to a libpython may have any name; another
 *                   executable must be called python3.N.
 * @param[out] ret   To be released with gorgon_python_deinit().
 * @return GORGON_ERROR_MISSING, GORGON_ERROR_FORMAT, GORGON_ERROR_MACHINE,
 *         GORGON_ERROR_PYTHON (an executable without libpython: the message says
 *         what to install), GORGON_ERROR_UNSUPPORTED (older than 3.11, or
 *         free-threaded), GORGON_ERROR_OS. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_python_find(const char *path,
								     struct gorgon_python *ret);
/** Release the strings of a struct gorgon_python, which are NULL afterwards. */
GORGON_API void gorgon_python_deinit(struct gorgon_python *python);

/** How the libraries of an interpreter are made private. docs/isolation.md compares the ways. */
enum gorgon_isolate {
	GORGON_ISOLATE_LOADER = 0, /**< this library's loader */
	/** copies of the files of private libraries, in a folder under TMPDIR, which the system's
	 * linker loads. @c provider and @c debug of struct gorgon_ns_opts are refused, and all of
	 * it is refused in a process that has a Python in its global scope. */
	GORGON_ISOLATE_COPY = 2,
};

/**
 * Whose descriptors, current directory, umask and record locks an interpreter has.
 *
 * An interpreter with its own has what it would have as a process after execve(2): copies of the
 * descriptors that its starter has, except those that are close-on-exec. From then on neither it
 * nor the host sees what the other opens, closes, moves or locks. At its end all its descriptors
 * are closed. Threads that it starts share them, and so do functions of the host that run on its
 * threads. See clone(2), CLONE_FILES and CLONE_FS. Where a filter of system calls forbids
 * unshare(2), as in some containers, it has descriptors of its own, and the host's current
 * directory and umask.
 */
enum gorgon_files {
	/**
	 * Its own for programs, which gorgon_interp_main() runs on a thread of the library while
	 * the calling thread waits, and for the jobs of a pool. The host's where functions of the
	 * host run on the interpreter's threads: with @c write_output, @c provider or @c progress
	 * set, and for gorgon_interp_start() on a thread of the host.
	 */
	GORGON_FILES_AUTO = 0,
	/** The host's. Record locks keep interpreters and the host apart all the same. */
	GORGON_FILES_SHARED = 1,
	/**
	 * Its own, which the thread that calls gorgon_interp_main() or gorgon_interp_start() has in
	 * place of the host's from then on: for a thread of the host that does nothing else. Later
	 * calls into the interpreter come from that thread.
	 */
	GORGON_FILES_THREAD = 2,
};

/** How an interpreter's Python ends. */
enum gorgon_end {
	/** As python3 ends. */
	GORGON_END_FULL = 0,
	/**
	 * For hosts that replace interpreters often: objects in reference cycles (classes,
	 * functions of modules, most exceptions with a traceback) are not collected; their memory
	 * is unmapped with the interpreter's. As in python3, and in this order, threads that are
	 * not daemons are joined; functions of atexit run; sys.stdout and sys.stderr are flushed;
	 * modules lose their variables, and objects without a reference are finalised. The
	 * difference: for objects in a cycle, and for those that only a cycle refers to, neither
	 * __del__() nor callbacks of weak references nor destructors of extensions' types run, so a
	 * file that such an object has open loses what was not flushed. What must happen at the end
	 * belongs into atexit, or into a `with` statement. Only with GORGON_ISOLATE_LOADER,
	 * otherwise GORGON_ERROR_UNSUPPORTED: the other ways of isolation cannot give the memory
	 * back.
	 */
	GORGON_END_QUICK = 1,
};

/** So many interpreters have Python lines unless their options say otherwise: each of their modules
 * stops all threads of the process for a debugger, which takes a minute with 400 interpreters. */
#define GORGON_PYTHON_LINES_DEFAULT_MAX 64

/** Whether Python lines have addresses for debuggers. Since 0.1. */
enum gorgon_python_lines {
	/** AUTO if gdb or LLDB traces the process when the interpreter is created, and fewer than
	 * GORGON_PYTHON_LINES_DEFAULT_MAX are alive; else OFF. */
	GORGON_PYTHON_LINES_DEFAULT,
	GORGON_PYTHON_LINES_OFF, /**< They have none. */
	/** Imports take longer. Where it cannot be done it is GORGON_ERROR_UNSUPPORTED. */
	GORGON_PYTHON_LINES_ON,
	/** The same. Where it cannot be done nothing happens. */
	GORGON_PYTHON_LINES_AUTO,
	/** ON, and the standard library's lines have addresses, too. Since 1.0. */
	GORGON_PYTHON_LINES_ALL,
};

/** Options of gorgon_interp_create(). */
struct gorgon_interp_opts {
	size_t size;          /**< sizeof(struct gorgon_interp_opts) */
	/** As for gorgon_python_find(); NULL for the default. The interpreter finds its standard
	 * library as the executable does, with one exception: PYTHONHOME of the process's
	 * environment counts only where there is no standard library beside the libpython. */
	const char *python;
	const struct gorgon_ns_opts *ns; /**< NULL for defaults; read during the call only. */
	/** Measure start-up apart from the program: @c init_ns of struct gorgon_interp_stats. Takes
	 * an audit hook (PEP 578), which slows the events that Python audits. */
	bool timing;
	/** With another way than GORGON_ISOLATE_LOADER gorgon_object_open() loads nothing beside
	 * the interpreter, and its memory cannot be limited. A process may use several ways. */
	enum gorgon_isolate isolate;
	enum gorgon_files files; /**< whose descriptors it has */
	enum gorgon_end end;     /**< how its Python ends */
	/**
	 * Bytes that the interpreter may hold: heap_bytes, mapped_bytes, extension_bytes and
	 * block_bytes of struct gorgon_interp_stats together. 0 for no limit. When the limit is
	 * passed, the main thread collects garbage before its next bytecode, also if the program
	 * has switched the collector off, and raises MemoryError if that did not help. Allocations
	 * that would pass the limit by more than a quarter fail, on all threads. Other interpreters
	 * do not notice. Counted from the end of Python's start on.
	 */
	uint64_t memory_limit;
	/** Bytes beyond which allocations fail, on all threads. 0 for a quarter more than the
	 * limit. Less than the limit, or without one, is GORGON_ERROR_ARGUMENT. */
	uint64_t memory_hard_limit;
	/**
	 * Called when the limit is passed, before anything else happens, on Python's main thread
	 * between two bytecodes: it must not call into the interpreter. @c held are the bytes that
	 * it holds. Returns the limit from now on, or 0 for no change. NULL: nobody is asked.
	 */
	uint64_t (*near_memory_limit)(void *ctx, uint64_t held);
	void *limit_ctx; /**< passed to @c near_memory_limit */
	/**
	 * Milliseconds of processor time that all code of the interpreter may use together: @c
	 * total_cpu_ns of struct gorgon_interp_stats, Python's start included. 0 for no limit. When
	 * it is used up, all that runs in the interpreter is interrupted, as by
	 * gorgon_interp_interrupt(), once. A thread of the library watches; it notices within 100
	 * ms. Not in a forked child.
	 */
	uint64_t cpu_limit_ms;
	/**
	 * Milliseconds beyond which the interpreter is stopped, as by gorgon_interp_stop_within()
	 * with a second: what runs is interrupted, calls after its end return GORGON_ERROR_BUSY
	 * with the reason, and what does not end is abandoned, a program of gorgon_interp_main(),
	 * too. 0 for a quarter more than the limit. Less than the limit, or without one,
	 * is GORGON_ERROR_ARGUMENT. With another isolation than GORGON_ISOLATE_LOADER what runs is
	 * interrupted every 50 ms, and nothing else happens.
	 */
	uint64_t cpu_hard_limit_ms;
	/**
	 * Called when the limit is used up, before anything is interrupted, on the library's
	 * thread: it must not call into the interpreter, and not destroy it. Returns the limit from
	 * now on, or 0 for no change. NULL: nobody is asked. Gets
	 * @c limit_ctx.
	 */
	uint64_t (*near_cpu_limit)(void *ctx, uint64_t used_ms);
	/** What the host calls it: a customer, a plug-in. Reports of faults and gorgon-symdump have
	 * it. At most 63 bytes, which are copied; more is GORGON_ERROR_ARGUMENT. NULL: nothing. */
	const char *label;
	/** Whether Python lines have addresses, so that plain debuggers show Python frames and stop
	 * at Python lines; docs/mixed.md. With CPython 3.11 to 3.15, isolation by the
	 * loader and a program of gorgon_interp_main() or gorgon_interp_start(). */
	enum gorgon_python_lines python_lines;
	/**
	 * It is a copy of that template, see gorgon_template_create(): gorgon_interp_start() makes
	 * the copy instead of starting Python. @c python and @c end must be those of the template.
	 * With another way than GORGON_ISOLATE_LOADER, with @c provider or @c environment of struct
	 * gorgon_ns_opts, and with GORGON_PYTHON_LINES_ON or _ALL it is
	 * GORGON_ERROR_UNSUPPORTED. Without a @c label it has that of the template: "template: "
	 * and the beginning of its program. NULL: it starts as python3 does. Since 1.0.
	 */
	const struct gorgon_template *from;
};

/**
 * Load a private libpython. The interpreter has its number, and debuggers know
 * it, when this returns; Python itself is not started yet.
 *
 * @param      opts  NULL for defaults.
 * @param[out] ret   To be released with gorgon_interp_destroy().
 * @return every error of gorgon_python_find(), gorgon_ns_create() and
 *         gorgon_object_open(); GORGON_ERROR_UNSUPPORTED for what the isolation asked for
 *         cannot do; GORGON_ERROR_OS: no thread for @c cpu_limit_ms. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_create(const struct gorgon_interp_opts *opts, struct gorgon_interp **ret);

/**
 * Be python3: start the interpreter, do what the arguments say, finalise it. Blocks until the
 * program has ended. Python's main thread is the calling thread with GORGON_FILES_SHARED and
 * GORGON_FILES_THREAD. By default it is a thread of the library with the name, the signal mask
 * and at least the size of stack of the calling thread, so that the program has descriptors of
 * its own (enum gorgon_files); the calling thread is not cancelled before the program ends.
 *
 * `sys.exit` and the C function exit() end this call, not the process; an
 * uncaught exception is printed as python3 prints it. In a child process that
 * the program forks, the end of the program ends the process: there the call does
 * not return. Functions that the interpreter's libraries have registered for the
 * end run, and output is flushed; functions that the host or other interpreters
 * have registered do not run, nor do destructors of shared libraries.
 *
 * @param      argc,argv  Arguments after python's own name: `-c CODE ARG...`,
 *                        `-m MODULE`, `FILE`, or python's own options.
 * @param[out] status     Exit status that python3 would have had.
 * @return GORGON_ERROR_BUSY: the interpreter was started before, or has run a program; nothing
 *         has changed. GORGON_ERROR_OS: no thread, or no descriptors of its own; no program has
 *         run. GORGON_ERROR_PYTHON: the libpython lacks a function that is needed, or refuses the
 *         audit hook of @c timing; no program has run, and the interpreter can only be destroyed.
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_main(struct gorgon_interp *interp, int argc, const char *const *argv, int *status);

/** Options of gorgon_interp_start(). The strings are copied; lists end with NULL. */
struct gorgon_start_opts {
	size_t size;	/**< sizeof(struct gorgon_start_opts) */
	const char *const *argv; /**< sys.argv; NULL for one empty string */
	const char *const *path; /**< folders to put in front of sys.path, or NULL */
	/** Options of python3's command line, such as `-X`, `utf8`, `-W`, `error`, or NULL.
	 * Settings without an option have a variable: see @c environment in struct gorgon_ns_opts.
	 */
	const char *const *options;
	bool isolated;		 /**< As `-I`: no environment variables, no user's site-packages. */
	bool ignore_environment; /**< As `-E`: PYTHONPATH and the like play no part. */
	bool no_site;		 /**< As `-S`: the module `site` is not imported. */
	/**
	 * Called with the value that a program gives to gorgon.progress(), on the program's thread,
	 * without its GIL; @c value lives during the call, and its arrays are copies. When it
	 * returns true, progress() returns True; when it returns false, the program is to stop, and
	 * progress() raises KeyboardInterrupt. NULL: nobody listens, and progress() returns False.
	 */
	bool (*progress)(void *ctx, const struct gorgon_value *value);
	void *progress_ctx; /**< passed to @c progress */
};

/**
 * Start Python for calls of the host: gorgon_interp_run_string(), gorgon_interp_call() and the
 * like. An interpreter is either started, or runs a program with gorgon_interp_main(). Python
 * starts as python3 does, but runs no program, and sys.path has no folder of a script.
 *
 * The calling thread is Python's main thread as long as the interpreter is started: there
 * signal handlers run, and blocking calls can be interrupted. It does not hold the GIL on
 * return.
 *
 * Signals that Python handles reach a started interpreter as they reach a program. A Ctrl-C that
 * comes while the main thread is in no call is a KeyboardInterrupt in its next call. A host that
 * does not want this sets @c no_signals in struct gorgon_ns_opts; gorgon_interp_interrupt()
 * works all the same.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_BUSY (it was started before, or has run a program), GORGON_ERROR_ARGUMENT
 *         (options of a wrong size), GORGON_ERROR_UNSUPPORTED (@c memory_limit where the loader
 *         does not isolate): nothing has changed. After other errors the interpreter can only be
 *         destroyed: GORGON_ERROR_PYTHON (Python refused, and the message has its reason),
 *         GORGON_ERROR_EXCEPTION (sys could not be set up), GORGON_ERROR_OS (no descriptors of its
 *         own). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_start(struct gorgon_interp *interp, const struct gorgon_start_opts *opts);

/**
 * Finalise a started interpreter as python3 does at its end: join its non-daemon threads, run
 * the functions of atexit. New calls are refused from the beginning of this call on.
 *
 * Calls of other threads are waited for. The calling thread finalises, and it takes as long as the
 * program likes. It is best called on the thread that started the interpreter. On another thread it
 * works, too: atexit functions then run there.
 *
 * @return GORGON_ERROR_BUSY: it is not started, or this was called from inside it; nothing has
 *         changed. GORGON_ERROR_ABANDONED: it was abandoned before. GORGON_ERROR_PYTHON: its code
 *         called exit() at the end; it has ended. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_interp_stop(struct gorgon_interp *interp);

/**
 * gorgon_interp_stop(), unless calls of other threads run.
 *
 * @return as that, and GORGON_ERROR_BUSY: calls were running; nothing has changed, and calls are
 *         accepted again. Since 1.0.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_try_stop(struct gorgon_interp *interp);

/**
 * gorgon_interp_stop() with a limit of time. New calls are refused from the beginning of this call
 * on.
 *
 * This returns within the limit, plus 100 ms, whatever the program has started; later only where
 * other work keeps the processors busy: time in which a thread of the program, or the calling one,
 * is ready and gets no processor does not count, unless the program itself is what runs then. The
 * limit grows to twenty times of what it was at most. A thread of the library finalises, on which
 * atexit functions run; to Python it is the main thread. Calls and the program's threads have half
 * of the time to end by themselves. Then they are interrupted, again and again, as
 * gorgon_interp_interrupt() says; functions of atexit and finalisers are, too, but for finalisers
 * in a blocking call. When the time is up, the interpreter is abandoned:
 *
 * - the error names the threads that still run: kernel's number, name, native function and, where
 *   CPython exports what that needs (see gorgon_faults_report()), the Python line;
 * - its GIL is never given to anybody again. Its threads are parked for good when they ask for the
 *   GIL, or at their next bytecode. Calls of the host come back from there with
 *   GORGON_ERROR_ABANDONED; functions of the host that Python had called go on first. Code in C
 *   that computes goes on until it comes back to Python;
 * - no function of atexit, destructor or finaliser of it runs any more; its handlers of signals and
 *   its timers are gone. Its memory, its descriptors and its children stay.
 *   gorgon_abandoned_get_stats() says how much memory that is. Locks that its C code shares with
 *   the process and that a parked thread holds stay locked;
 * - debuggers and gorgon-symdump show it as "abandoned". The library stays mapped for good. exit()
 *   of the host and fork() work as without; a process that ends by pthread_exit() of its main
 *   thread waits for parked threads.
 *
 * A program of gorgon_interp_main() is stopped, too: it has half of the time to end, is interrupted
 * then, again and again, and is abandoned when the time is up. gorgon_interp_main() returns
 * GORGON_ERROR_ABANDONED then, unless the program's main thread is in C code that does not come
 * back to Python.
 *
 * @param limit_ms  In milliseconds. With another isolation than GORGON_ISOLATE_LOADER it is how
 *                  long to wait for calls, and nothing is abandoned; a program is not stopped.
 * @return GORGON_ERROR_BUSY: it is not started, or this was called from inside it; nothing has
 *         changed. GORGON_ERROR_ABANDONED: it was abandoned, now or before. GORGON_ERROR_OS: no
 *         thread could be made; nothing has changed. GORGON_ERROR_PYTHON: its code called exit() at
 *         the end; it has ended. Since 1.0.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_stop_within(struct gorgon_interp *interp, unsigned limit_ms);

/**
 * Unload the interpreter's namespace and free everything. A started interpreter is stopped first,
 * as gorgon_interp_try_stop() does; to wait for calls of other threads, call gorgon_interp_stop()
 * before. Debuggers drop its breakpoint locations. NULL is ignored. The signal SIGURG wakes up
 * daemon threads of the program that are in a blocking call; they end then.
 *
 * Of an abandoned interpreter the memory is given back without running any of its code, when no
 * call and no thread of it is left.
 *
 * In a child that the host forks an idle interpreter goes on as in the parent. One in which other
 * threads were, its own or those of calls, can be called while none of them had the GIL; otherwise
 * a call returns GORGON_ERROR_ABANDONED within 100 ms. Such an interpreter is abandoned by
 * gorgon_interp_stop_within(), and this function gives its memory back.
 *
 * @return GORGON_ERROR_BUSY while its program, calls, or threads that its libraries started still
 *         run, parked ones included; see gorgon_ns_destroy(). The call may be repeated.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_destroy(struct gorgon_interp *interp);

#ifdef __cplusplus
}
#endif

#endif
