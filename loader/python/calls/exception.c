// SPDX-License-Identifier: MIT
// Exceptions of Python as errors: type, message and traceback as text.
//
// The exception object stays in its interpreter. Where there is no text (__str__ raises, no memory)
// a remark in parentheses takes its place.
//
// Making the text runs Python code, with imports, and code of the program (__str__), which may
// never end. gorgon_call_fail() keeps interrupts away for a while; an interrupt that comes later
// ends it, and remarks take the place of what is not made yet.

#define _GNU_SOURCE
#include "exception.h"
#include "base/error.h"
#include "python/api.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

// The text of a Python string in UTF-8, or @instead if there is none. Releases @string. NULL: no
// memory.
static char *take_exception_text(struct gorgon_interp *interp, PyObject *string,
				 const char *instead, bool *interrupted)
{
	const struct gorgon_api *api = interp->api;
	const char *text = string ? api->PyUnicode_AsUTF8AndSize(string, NULL) : NULL;
	char *ret = strdup(text ?: instead);

	*interrupted |= !string && api->PyErr_Occurred() == *api->PyExc_KeyboardInterrupt;
	api->PyErr_Clear();
	api->Py_DecRef(string);
	return ret;
}

// "ValueError", "json.decoder.JSONDecodeError".
static char *exception_type_name(struct gorgon_interp *interp, PyObject *type, bool *interrupted)
{
	const struct gorgon_api *api = interp->api;
	char *module, *name, *ret = NULL;
	bool plain;

	module = take_exception_text(interp, api->PyObject_GetAttrString(type, "__module__"),
				     "builtins", interrupted);
	name = take_exception_text(
		interp, *interrupted ? NULL : api->PyObject_GetAttrString(type, "__qualname__"),
		"(no name)", interrupted);
	plain = module && (!strcmp(module, "builtins") || !strcmp(module, "__main__"));
	if (module && name &&
	    asprintf(&ret, "%s%s%s", plain ? "" : module, plain ? "" : ".", name) < 0)
		ret = NULL;
	free(module);
	free(name);
	return ret;
}

// The text that python3 would print; NULL: it cannot be made.
static PyObject *format_exception(struct gorgon_interp *interp, PyObject *value)
{
	const struct gorgon_api *api = interp->api;
	PyObject *module = api->PyImport_ImportModule("traceback"), *lines = NULL, *joined = NULL;
	PyObject *empty = module ? api->PyUnicode_FromStringAndSize("", 0) : NULL;

	if (empty)
		lines = api->PyObject_CallMethod(module, "format_exception", "(O)", value);
	if (lines)
		joined = api->PyObject_CallMethod(empty, "join", "(O)", lines);
	api->Py_DecRef(lines);
	api->Py_DecRef(empty);
	api->Py_DecRef(module);
	return joined;
}

struct gorgon_error *gorgon_exception_text(struct gorgon_interp *interp, PyObject *type,
					   PyObject *value, PyObject *traceback)
{
	const struct gorgon_api *api = interp->api;
	struct gorgon_exception texts;
	bool interrupted = false;
	char prefix[32];

	api->PyErr_NormalizeException(&type, &value, &traceback);
	if (traceback)
		api->PyException_SetTraceback(value, traceback);
	texts.type = exception_type_name(interp, type, &interrupted);
	texts.message =
		take_exception_text(interp, interrupted ? NULL : api->PyObject_Str(value),
				    "(the message cannot be shown)", &interrupted);
	texts.traceback = take_exception_text(
		interp, interrupted ? NULL : format_exception(interp, value),
		"(the traceback cannot be shown)\n", &interrupted);
	api->Py_DecRef(type);
	api->Py_DecRef(value);
	api->Py_DecRef(traceback);
	snprintf(prefix, sizeof(prefix), interp->own ? "this Python" : "interpreter %u",
		 interp->number);
	return gorgon_error_create_exception(prefix, &texts);
}
