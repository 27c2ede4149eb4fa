// SPDX-License-Identifier: MIT
// Debuggers stop where an exception is raised, and where it leaves the oldest Python function of
// its thread, because no function has caught it.
//
// CPython tells of an exception in each frame that it passes. From 3.12 on it gives the exception
// when it leaves a frame. CPython 3.11 gives none then, but has told of it in that frame just
// before.

#define _GNU_SOURCE
#include "tracing.h"

#include <stdio.h>
#include <string.h>

static uint8_t *raised(const struct gorgon_lines *lines)
{
	return lines->code + GORGON_LINES_RAISED;
}

static uint8_t *uncaught(const struct gorgon_lines *lines)
{
	return lines->code + GORGON_LINES_UNCAUGHT;
}

bool gorgon_lines_wants_exceptions(const struct gorgon_lines *lines)
{
	return lines->started &&
	       (gorgon_lines_is_hot(raised(lines), 0) || gorgon_lines_is_hot(uncaught(lines), 0));
}

// An attribute, or NULL without an error.
static PyObject *get(const struct gorgon_lines *lines, PyObject *object, const char *name)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *ret = object ? api->PyObject_GetAttrString(object, name) : NULL;

	api->PyErr_Clear();
	return ret;
}

static const char *text_of(const struct gorgon_lines *lines, PyObject *value)
{
	const struct gorgon_api *api = lines->interp->api;
	const char *ret = value ? api->PyUnicode_AsUTF8AndSize(value, NULL) : NULL;

	api->PyErr_Clear();
	return ret ?: "?";
}

// The function of threading that catches what a thread's functions raise catches it for nobody.
static bool is_oldest(const struct gorgon_lines *lines, uint64_t frame)
{
	uint64_t previous = gorgon_lines_previous_frame(lines, frame);
	PyObject *code, *name;
	bool ret;

	if (!previous)
		return true;
	code = (PyObject *)(uintptr_t)gorgon_lines_code_of(lines, previous);
	name = get(lines, code, "co_name");
	ret = !strcmp(text_of(lines, name), "_bootstrap_inner");
	lines->interp->api->Py_DecRef(name);
	return ret;
}

// Whether the frame is the first one with lines that has the exception. What functions without
// lines raise is raised by the line that calls them, as what C raises is.
static bool is_raised_here(const struct gorgon_lines *lines, uint64_t frame, PyObject *traceback)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *next, *inner, *code;
	bool ret = gorgon_lines_function_of(lines, frame);

	api->Py_IncRef(traceback);
	while (ret && (next = get(lines, traceback, "tb_next")) && next != api->_Py_NoneStruct) {
		api->Py_DecRef(traceback);
		traceback = next;
		inner = get(lines, traceback, "tb_frame");
		code = get(lines, inner, "f_code");
		ret = code && !gorgon_lines_function_of_code(lines, (uintptr_t)code);
		api->Py_DecRef(code);
		api->Py_DecRef(inner);
	}
	api->Py_DecRef(traceback);
	return ret;
}

// The innermost place of a traceback.
static void describe_place(const struct gorgon_lines *lines, PyObject *traceback, char *ret,
			   size_t size)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *next, *frame, *code, *file, *line;
	long long number = 0;
	int overflow;

	api->Py_IncRef(traceback);
	while ((next = get(lines, traceback, "tb_next")) && next != api->_Py_NoneStruct) {
		api->Py_DecRef(traceback);
		traceback = next;
	}
	api->Py_DecRef(next);
	frame = get(lines, traceback, "tb_frame");
	code = get(lines, frame, "f_code");
	file = get(lines, code, "co_filename");
	line = get(lines, traceback, "tb_lineno");
	if (line)
		number = api->PyLong_AsLongLongAndOverflow(line, &overflow);
	api->PyErr_Clear();
	snprintf(ret, size, "%s:%lld", text_of(lines, file), number);
	api->Py_DecRef(line);
	api->Py_DecRef(file);
	api->Py_DecRef(code);
	api->Py_DecRef(frame);
	api->Py_DecRef(traceback);
}

static void describe(const struct gorgon_lines *lines, PyObject *type, PyObject *traceback,
		     struct gorgon_lines_exception *ret)
{
	gorgon_lines_values_name(lines->interp, lines->values_api, type, ret->name,
				 sizeof(ret->name));
	describe_place(lines, traceback, ret->where, sizeof(ret->where));
}

// One that ends a loop has no traceback.
bool gorgon_lines_on_exception(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			       PyObject *type, PyObject *traceback)
{
	char name[128];
	const char *texts[] = {name};

	if (!traceback || traceback == lines->interp->api->_Py_NoneStruct)
		return false;
	if (!gorgon_lines_has_monitoring(lines) && gorgon_lines_is_hot(uncaught(lines), 0) &&
	    is_oldest(lines, record->frame)) {
		describe(lines, type, traceback, &lines->left);
		lines->left.frame = record->frame;
	}
	if (!gorgon_lines_is_hot(raised(lines), 0) ||
	    !is_raised_here(lines, record->frame, traceback))
		return false;
	gorgon_lines_values_name(lines->interp, lines->values_api, type, name, sizeof(name));
	return gorgon_lines_on_raise(lines, record, raised(lines), texts);
}

bool gorgon_lines_on_unwind(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			    PyObject *type, PyObject *traceback)
{
	struct gorgon_lines_exception left = {.name = "?", .where = "?"};
	const char *texts[] = {left.name, left.where};

	if (!gorgon_lines_is_hot(uncaught(lines), 0) || !is_oldest(lines, record->frame))
		return false;
	if (type && traceback)
		describe(lines, type, traceback, &left);
	else if (lines->left.frame == record->frame) // no other thread has had one meanwhile
		left = lines->left;
	return strcmp(left.name, "SystemExit") &&
	       gorgon_lines_on_raise(lines, record, uncaught(lines), texts);
}
