/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
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
 * Any thread may call. A call holds the GIL of its interpreter, so calls into one interpreter
 * take turns, and calls into several run at once. A host function that Python has called may
 * call again, into the same interpreter or another. Since a call waits for the GIL, the host
 * must not hold a lock during a call that its functions take when Python calls them.
 *
 * On a thread other than the main one Python's thread-local variables live for one call.
 *
 * Every call returns these errors: GORGON_ERROR_BUSY (the interpreter is not started),
 * GORGON_ERROR_ABANDONED (gorgon_interp_stop_within() has abandoned it, perhaps during the call),
 * GORGON_ERROR_EXCEPTION (Python code raised; sys.exit() raises SystemExit, an interrupt
 * KeyboardInterrupt), GORGON_ERROR_PYTHON (its code has called the C function exit(): the host goes
 * on, the interpreter has ended and can only be destroyed). After an exception the interpreter is
 * as Python code left it.
 */

/** What a value is. */
enum gorgon_value_kind {
	GORGON_VALUE_NONE = 0,
	GORGON_VALUE_BOOL = 1,
	GORGON_VALUE_INT = 2, /**< from -2^63 to 2^63-1; a larger number can cross as a string */
	GORGON_VALUE_FLOAT = 3,
	GORGON_VALUE_STRING = 4, /**< UTF-8 without surrogates; zero bytes are allowed */
	GORGON_VALUE_BYTES = 5,  /**< bytes or a bytearray */
	GORGON_VALUE_LIST = 6,   /**< a list or a tuple */
	GORGON_VALUE_DICT = 7,
	/** Passed in, memory that both sides look at: in the interpreter an ndarray (without
	 * numpy a memoryview), writable if the array is. Every other object with a buffer, or
	 * with DLPack's methods, comes out of an interpreter as an array that is the host's
	 * alone. It is over the memory of an ndarray in a result if that is the host's (see
	 * gorgon.use_data_handler()) and nothing in the interpreter refers to it any more;
	 * everything else is copied, also memory that was passed in. What both sides are to look
	 * at goes under a name, see gorgon.share(). Scalars of numpy are the bool, int or float
	 * that they are; others (times, complex numbers, numpy.longdouble) come out as arrays
	 * without dimensions. */
	GORGON_VALUE_ARRAY = 8,
	/** Only passed in: an object of the interpreter that the host holds, see pyobjects.h. */
	GORGON_VALUE_OBJECT = 9,
	/** Only passed in: the interpreter's copy of a replica, see gorgon_replica_get(). */
	GORGON_VALUE_REPLICA = 10,
};

/** How deep lists and dicts may be nested. A list that contains itself is deeper. */
#define GORGON_VALUE_DEPTH_MAX 64
/** How many values a tree may have. More numbers cross as an array. */
#define GORGON_VALUE_COUNT_MAX 1048576

/**
 * A plain value, or a tree of values, that is copied into an interpreter or out of it. A value
 * that is passed in stays the caller's, and nothing of it is kept. A value that comes out is the
 * caller's, to be given back with gorgon_value_deinit(); a zero byte follows its strings and
 * bytes. An object of a subclass crosses as its base (numpy.float64 as a float, an IntEnum as an
 * int). gorgon/values.h has a function for each kind that makes a value.
 */
struct gorgon_value {
	enum gorgon_value_kind kind; /**< which member of the union holds the value */
	union {
		bool boolean;
		int64_t integer;
		double number;
		struct {
			const char *data;
			size_t size; /**< bytes */
		} text;              /**< STRING and BYTES */
		struct {
			struct gorgon_value *items; /**< of a dict: key, value, key, value, ... */
			size_t count;               /**< items of a list, entries of a dict */
		} list;
		/** an array that comes out is held once, for the caller */
		struct gorgon_array *array;
		struct gorgon_pyobject *object;
		struct gorgon_replica *replica;
	};
};

/** Release what a value that came from an interpreter holds; the value is None afterwards. */
GORGON_API void gorgon_value_deinit(struct gorgon_value *value);

/**
 * Run statements in the module `__main__`.
 *
 * @param source  Source code in UTF-8.
 * @param name    File name to show in tracebacks; NULL for `<string>`. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_run_string(struct gorgon_interp *interp, const char *source, const char *name);

/**
 * Run a file of source code in the module `__main__`, whose `__file__` becomes @p path. The names
 * that the file defines stay. A file that cannot be read raises OSError, a file that cannot be
 * compiled SyntaxError. Since 0.1.
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
 * @param      function  Attributes of the module, separated by dots: `sqrt`, `JSONEncoder.encode`.
 * @param      args      A LIST, or NULL for no positional arguments.
 * @param      kwargs    A DICT with strings as keys, or NULL.
 * @param[out] ret       The result as a value; NULL: the result is dropped, of whatever type it is.
 * @return and GORGON_ERROR_ARGUMENT (@p args is not a list, @p kwargs not a dict with strings as
 *         keys, or one of them exceeds the limits above), GORGON_ERROR_UNSUPPORTED (the result
 *         cannot cross: the message says which part of it). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_call(struct gorgon_interp *interp, const char *module, const char *function,
		   const struct gorgon_value *args, const struct gorgon_value *kwargs,
		   struct gorgon_value *ret);

/**
 * Raise KeyboardInterrupt in each call that runs in an interpreter, and on each thread that a
 * started interpreter's code has started, daemon threads too. Does not wait for the end of them. A
 * call that begins later is not interrupted. A program that gorgon_interp_main() runs is
 * interrupted on its main thread.
 *
 * A call on the interpreter's main thread gets a SIGINT that only this interpreter sees, for which
 * the program may have a handler; without one it gets KeyboardInterrupt. What the host does with
 * SIGINT (a handler of its own, SIG_IGN, a mask) plays no part. Calls on other threads, and
 * threads, get the exception before their next bytecode; for that this function waits for the GIL,
 * which C code that computes may keep. All of them are reached in blocking calls, too, also where
 * the calling thread blocks signals: whatever CPython itself repeats after EINTR (PEP 475), such as
 * time.sleep(), sockets, select(), reading, waiting for children; locks, and all that waits for a
 * lock: conditions, events, queues, Thread.join(). A blocked thread gets the signal SIGURG, which
 * does nothing but end its system call, again and again until the exception has arrived (SIGRTMAX
 * while LLDB traces the process, because LLDB stops programs at SIGURG). In doing so the thread
 * handles other signals of the program that wait to be handled, as the main thread would.
 *
 * The library's handler of SIGURG is there from the first interrupt to the end of the last
 * interpreter. Its handler of SIGRTMAX stays until the process ends. A signal that is not the
 * library's goes on to the host's handler, also to one that is set later, which runs on the host's
 * alternate stack, with its mask and its SA_RESTART. A thread of the host does not block SIGURG
 * while it is in a call.
 *
 * A call whose code has raised an exception ends with the exception; while the library makes its
 * text, this function waits, until the call's thread has computed for a second, five seconds at
 * most. If the text is still not made then, because the program's code (`__str__`) does not end,
 * the interrupt ends that, and remarks take the place of the text.
 *
 * Not reached: C code that computes, or that repeats a blocking call without asking Python; threads
 * on which the program itself blocks SIGURG; blocked threads with another isolation than
 * GORGON_ISOLATE_LOADER. These get the exception at their next bytecode. Threads that Python did
 * not start and that are in no call are not interrupted. Programs may catch the exception: the call
 * may be repeated.
 *
 * @return GORGON_ERROR_BUSY: Python is starting, or the interpreter ended meanwhile.
 *         GORGON_ERROR_UNSUPPORTED: with another isolation than GORGON_ISOLATE_LOADER, a call runs
 *         on Python's main thread, which has no handler for SIGINT. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_interrupt(struct gorgon_interp *interp);

#ifdef __cplusplus
}
#endif

#endif
