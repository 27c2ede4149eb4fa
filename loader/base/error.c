// SPDX-License-Identifier: MIT
// Error objects.
//
// An error is one allocation that belongs to whoever received it: no thread-local
// "last error", which constructors and callbacks that run inside our calls would
// overwrite. Running out of memory is one static object, so that reporting it
// needs none. A message is one line of printable text, whatever names files have (text.c).

#define _GNU_SOURCE
#include "error.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gorgon_error {
	enum gorgon_error_code code;
	int errnum;
	char *message;
	struct gorgon_exception exception; // of GORGON_ERROR_EXCEPTION; owned
};

static char nomem_message[] = "no memory";

struct gorgon_error gorgon_error_nomem = {
	.code = GORGON_ERROR_NOMEM,
	.message = nomem_message,
};

static struct gorgon_error *error_create(enum gorgon_error_code code, int errnum, char *text)
{
	char *message = gorgon_text_clean(text);
	struct gorgon_error *err = message ? malloc(sizeof(*err)) : NULL;

	if (!err) {
		free(message);
		return &gorgon_error_nomem;
	}
	*err = (struct gorgon_error){.code = code, .errnum = errnum, .message = message};
	return err;
}

struct gorgon_error *gorgon_error_create(enum gorgon_error_code code, const char *format, ...)
{
	char *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	return error_create(code, 0, message);
}

struct gorgon_error *gorgon_error_create_os(int errnum, const char *format, ...)
{
	char *what = NULL, *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (what &&
	    asprintf(&message, "%s: %s", what, strerrordesc_np(errnum) ?: "unknown error") < 0)
		message = NULL;
	free(what);
	return error_create(GORGON_ERROR_OS, errnum, message);
}

static void free_exception(const struct gorgon_exception *exception)
{
	free((char *)exception->type);
	free((char *)exception->message);
	free((char *)exception->traceback);
}

struct gorgon_error *gorgon_error_create_exception(const char *prefix,
						   const struct gorgon_exception *exception)
{
	bool whole = exception->type && exception->message && exception->traceback;
	// numpy's begins with an empty line.
	const char *line = whole ? exception->message + strspn(exception->message, "\n") : NULL;
	struct gorgon_error *err;
	char *message = NULL;

	if (whole && asprintf(&message, "%s: %s%s%.*s", prefix, exception->type, *line ? ": " : "",
			      (int)strcspn(line, "\n"), line) < 0)
		message = NULL;
	err = error_create(GORGON_ERROR_EXCEPTION, 0, message);
	if (err == &gorgon_error_nomem)
		free_exception(exception);
	else
		err->exception = *exception;
	return err;
}

struct gorgon_error *gorgon_error_prefix(struct gorgon_error *err, const char *text)
{
	struct gorgon_error *ret;
	char *message = NULL;

	if (err == &gorgon_error_nomem)
		return err;
	if (asprintf(&message, "%s: %s", text, err->message) < 0)
		message = NULL;
	ret = error_create(err->code, err->errnum, message);
	if (ret != &gorgon_error_nomem) {
		ret->exception = err->exception;
		err->exception = (struct gorgon_exception){0};
	}
	gorgon_error_destroy(err);
	return ret;
}

enum gorgon_error_code gorgon_error_code(const struct gorgon_error *err)
{
	return err ? err->code : GORGON_OK;
}

const char *gorgon_error_message(const struct gorgon_error *err)
{
	return err ? err->message : "no error";
}

int gorgon_error_errno(const struct gorgon_error *err)
{
	return err ? err->errnum : 0;
}

const struct gorgon_exception *gorgon_error_exception(const struct gorgon_error *err)
{
	return err && err->code == GORGON_ERROR_EXCEPTION ? &err->exception : NULL;
}

void gorgon_error_destroy(struct gorgon_error *err)
{
	if (!err || err == &gorgon_error_nomem)
		return;
	free_exception(&err->exception);
	free(err->message);
	free(err);
}
