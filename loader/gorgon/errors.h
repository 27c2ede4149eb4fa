/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_ERRORS_H
#define GORGON_ERRORS_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

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
	GORGON_ERROR_CANCELLED = 12, /**< the host has cancelled the job before it began */
	/** the interpreter did not end, or had a fault, and was abandoned */
	GORGON_ERROR_ABANDONED = 13,
};

/** Code of @p err; GORGON_OK for NULL. */
GORGON_API enum gorgon_error_code gorgon_error_code(const struct gorgon_error *err);
/** One line without a final full stop: object, what, found, expected. Lives as long as @p err. */
GORGON_API const char *gorgon_error_message(const struct gorgon_error *err);
/** The errno value of GORGON_ERROR_OS, otherwise 0. */
GORGON_API int gorgon_error_errno(const struct gorgon_error *err);

/** A Python exception as text, in UTF-8. No pointer is NULL. */
struct gorgon_exception {
	const char *type;      /**< `ValueError`, `json.decoder.JSONDecodeError` */
	const char *message;   /**< what str() makes of it; may be empty, may have several lines */
	const char *traceback; /**< what python3 would print; ends with a newline */
};

/** The exception of GORGON_ERROR_EXCEPTION, otherwise NULL. Lives as long as @p err. Since 0.1. */
GORGON_API const struct gorgon_exception *gorgon_error_exception(const struct gorgon_error *err);
/** Release an error. NULL is ignored. */
GORGON_API void gorgon_error_destroy(struct gorgon_error *err);

#ifdef __cplusplus
}
#endif

#endif
