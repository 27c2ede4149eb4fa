/* SPDX-License-Identifier: MIT */
/* Error objects: how they are made inside the library. See error.c. */
#ifndef GORGON_BASE_ERROR_H
#define GORGON_BASE_ERROR_H

#include "gorgon.h"

/* No memory, without needing any. gorgon_error_destroy() leaves it alone. */
extern struct gorgon_error gorgon_error_nomem;

struct gorgon_error *gorgon_error_create(enum gorgon_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The message gets ": strerror(errnum)" appended. */
struct gorgon_error *gorgon_error_create_os(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Of a Python exception; takes over the strings, of which some may be NULL: no memory. The
 * message is "prefix: type: first line of its message that is not empty". */
struct gorgon_error *gorgon_error_create_exception(const char *prefix,
						   const struct gorgon_exception *exception);

/* Take over @err and put "text: " before its message. Returns the error to hand on. */
struct gorgon_error *gorgon_error_prefix(struct gorgon_error *err, const char *text);

#endif
