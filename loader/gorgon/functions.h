/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_FUNCTIONS_H
#define GORGON_FUNCTIONS_H

#include "api.h"
#include "calls.h"
#include "errors.h"
#include "pyobjects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: callables of Python that call the host ------------------- */

/** What a function of the host answers; it lives during the call. */
struct gorgon_answer;

/** Answer a call with a copy of a value. A function that sets nothing answers None. The value is
 * copied before this returns, so it may lie on the caller's stack. @return GORGON_ERROR_ARGUMENT
 * (the value exceeds the limits of calls.h). Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_answer_set(struct gorgon_answer *answer, const struct gorgon_value *value);

/**
 * An error that becomes an exception of Python, for a function of the host to return.
 *
 * @param type     The class: of the module `builtins`, `ValueError`, or with its module,
 *                 `json.decoder.JSONDecodeError`. A name that is no class of exceptions in the
 *                 interpreter becomes a RuntimeError.
 * @param message  UTF-8.
 * @return GORGON_ERROR_EXCEPTION, or GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_exception_create(const char *type,
									  const char *message);

/** Options of gorgon_function_create(). */
struct gorgon_function_opts {
	size_t size;      /**< sizeof(struct gorgon_function_opts) */
	const char *name; /**< `__name__`; copied */
	const char *doc;  /**< `__doc__`, or NULL; copied */
	/**
	 * Called on whatever thread of the interpreter calls the function, by several threads at
	 * once if they do, without the GIL: it may block, and may call this interpreter or
	 * another. What is no plain value in the arguments is a GORGON_VALUE_OBJECT; a function
	 * that keeps such an object holds it (gorgon_pyobject_retain()). The call's arguments, with
	 * their arrays, which are copies, live until the function returns.
	 *
	 * @param ctx     As in the options.
	 * @param args    A LIST.
	 * @param kwargs  A DICT, which may be empty.
	 * @param answer  For gorgon_answer_set().
	 * @return NULL, or an error, which is released and raised: of an exception its class
	 *         (gorgon_exception_create(), or what a call of this library has returned),
	 *         MemoryError for GORGON_ERROR_NOMEM, OSError for GORGON_ERROR_OS, and RuntimeError
	 *         for others. It must not be left by longjmp() or an exception of C++.
	 *
	 * An interrupt of the interpreter is raised when the function has returned. An
	 * interpreter that is stopped while the function runs waits for it or, when its time is
	 * up, is abandoned.
	 */
	struct gorgon_error *(*call)(void *ctx, const struct gorgon_value *args,
				     const struct gorgon_value *kwargs,
				     struct gorgon_answer *answer);
	void *ctx; /**< passed to the functions */
	/** Called once, when Python has given up the function or the interpreter has ended; may
	 * be NULL. It may be called with the GIL and must not call an interpreter. Never after a
	 * failure of gorgon_function_create(), nor for an interpreter that is abandoned. */
	void (*destroy)(void *ctx);
};

/**
 * A callable of Python that calls a function of the host. gorgon_pyobject_set_attr() puts it into
 * a module or another object, and it may be passed as an argument (GORGON_VALUE_OBJECT). It does
 * not cross to other interpreters.
 *
 * @param      opts  Not NULL.
 * @param[out] ret   To be released with gorgon_pyobject_release(). The function lives as long as
 *                   anybody in the interpreter refers to it, too.
 * @return and GORGON_ERROR_ARGUMENT (no name, or no function). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_function_create(struct gorgon_interp *interp, const struct gorgon_function_opts *opts,
		       struct gorgon_pyobject **ret);

#ifdef __cplusplus
}
#endif

#endif
