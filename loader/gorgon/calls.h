/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_CALLS_H
#define GORGON_CALLS_H

#include "api.h"
#include "arrays.h"
#include "errors.h"
#include "interpreters.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
