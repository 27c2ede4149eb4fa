/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_FAULTS_H
#define GORGON_FAULTS_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- faults: what is said before the process goes ------------------------ */

/** @c interp of struct gorgon_fault: no code of an interpreter was involved. */
#define GORGON_FAULT_NO_INTERP UINT32_MAX

/**
 * A fault: a thread has got SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT from the kernel, or has sent
 * it to itself, as abort() does for failed assertions, C++ exceptions that nobody catches and
 * CPython's fatal errors. The strings and pointers are valid during the callback.
 */
struct gorgon_fault {
	size_t size;		/**< sizeof(struct gorgon_fault) */
	int number;		/**< of the signal */
	/** number of the interpreter whose code ran, or GORGON_FAULT_NO_INTERP */
	uint32_t interp;
	/** what the kernel says of it: a siginfo_t, as sigaction(2) says */
	const void *info;
	const void *context;	/**< the thread's registers: a ucontext_t, as sigaction(2) says */
	pid_t thread;		/**< the kernel's number of the thread */
	bool stack_overflow;	/**< the thread's stack has no more room */
	/** file of the code that had the fault, or NULL: the code is in no object */
	const char *object;
	uint64_t object_off;	/**< where in @c object: run-time address less the object's bias */
	const char *function;	/**< exported function of @c object around the address, or NULL */
	uint64_t function_off;	/**< bytes from the start of @c function */
	const char *text;	/**< the whole report, lines that end with a newline */
	size_t text_size;	/**< bytes of @c text, without the NUL behind it */
	/** of the interpreter, as struct gorgon_interp_opts has it; or NULL */
	const char *label;
};

/** Options of gorgon_faults_report(). */
struct gorgon_fault_opts {
	size_t size; /**< sizeof(struct gorgon_fault_opts) */
	/**
	 * Gets the report in place of stderr. It is called in the handler of the signal, on the
	 * thread that has the fault, whose locks (that of malloc(), perhaps) nobody will release:
	 * it may call only functions that signal-safety(7) names. It may write a dump of its own,
	 * and choose what becomes of the process's core (chdir(2), setrlimit(2), prctl(2)). A fault
	 * in the callback ends the callback. If it returns, what would have happened without a
	 * report happens.
	 */
	void (*report)(void *ctx, const struct gorgon_fault *fault);
	void *ctx; /**< passed to @c report */
	/**
	 * At the host's own risk: survive faults of interpreters' code. After the report the
	 * interpreter is abandoned, as gorgon_interp_stop_within() says, and the thread leaves its
	 * code for good: a call of the host returns GORGON_ERROR_ABANDONED, with the first line of
	 * the report; a thread of the program is parked.
	 *
	 * What the code has destroyed before the fault nobody knows: memory is one for the process.
	 * A fault is not survived, but ends the process as without this, where the thread is likely
	 * to hold a lock of the process: in a function of malloc()'s family, of this library, of
	 * the host or of another shared library. So is a thread that has no Python around it, or is
	 * in an interpreter that another strategy than our loader isolates. Survived are faults of
	 * private code (libpython, extensions and their libraries), of functions of the C library
	 * that private code has called directly, such as memcpy(), and signals that the thread
	 * sends to itself (abort(), assert(), Py_FatalError()).
	 */
	bool abandon;
};

/**
 * Report faults from now on, before they end the process: the signal, the interpreter and the
 * thread, native frames by object and exported function, the Python lines of the thread, and which
 * other interpreters there are. The report is written to descriptor 2 of the thread that has the
 * fault, or given to the callback.
 *
 * After the report the signal takes its way as without it: to the handler that the host had
 * installed before, or to the default, which ends the process. Its core has the frames of the
 * fault.
 *
 * A handler that the host had installed before is called first, and nothing is reported if it
 * deals with the fault, where the fault is not private code's: in code of the host and of its
 * libraries, in code that the host has compiled while it runs, and in the system's libraries when
 * they are called from there. So a JVM may find null references by SIGSEGV. The same holds for
 * memory whose access is forbidden (SEGV_ACCERR), whoever touches it, such as the guard pages of
 * a JVM's stacks; with @c abandon only outside of private code. When the handler puts the default
 * back, or abort() goes on, the report follows. A handler that ends the process itself leaves no
 * report.
 *
 * A program that has a handler of its own for the signal (faulthandler, cysignals) keeps it, and
 * nothing is reported when that handler deals with the signal. When it hands on, as faulthandler
 * does, the report follows.
 *
 * Frames are found with the tables that exceptions use; functions have names only where their
 * libraries export these. The function of CPython's faulthandler writes the Python lines; with
 * CPython 3.13 and 3.14 there are lines only if descriptor 2 (standard error) was open when the
 * interpreter started. Threads on which private code runs get an alternate signal stack of 64 KiB,
 * unless they have one, so that a stack without room is reported, too. A thread gets this stack
 * with the first call that it makes after this function was called.
 *
 * A second call changes the options. A host that installs a handler of its own for one of these
 * signals afterwards replaces the library's, and calls it or not.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_ARGUMENT (options of a wrong size). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_faults_report(const struct gorgon_fault_opts *opts);

/** Report no faults any more. The dispositions that the host had come back where no program has a
 * handler. Since 0.1. */
GORGON_API void gorgon_faults_ignore(void);

#ifdef __cplusplus
}
#endif

#endif
