// SPDX-License-Identifier: MIT
// Values of frames, as texts and as numbers. They are made while a debugger stops the thread at a
// Python line, so they must not run code of the program: only CPython's own types are asked for
// their repr(), and small containers of them. Of other objects the type's name and the address are
// told.
//
// Debuggers know one type of a variable, whatever Python puts into it. It is a text. So that
// conditions can compute, the numbers are in another variable (lines_symfile.c).

#define _GNU_SOURCE
#include "lines_values.h"
#include "api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE  200 // of a text, with its NUL
#define ITEMS_MAX  20  // of a container
#define LENGTH_MAX 500 // of a str or bytes

struct gorgon_lines_values_api {
	PyObject *(*repr)(PyObject *);
	PyObject *(*cell_get)(PyObject *);
	PyObject *(*type_name)(PyTypeObject *);
	Py_ssize_t (*size)(PyObject *);
	PyObject *(*list_item)(PyObject *, Py_ssize_t), *(*tuple_item)(PyObject *, Py_ssize_t);
	int (*dict_next)(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
	PyTypeObject *long_type, *float_type, *bool_type, *unicode_type, *bytes_type, *list_type,
		*tuple_type, *dict_type, *cell_type;
};

struct gorgon_lines_values_api *gorgon_lines_values_api_create(struct gorgon_interp *interp)
{
	struct gorgon_lines_values_api *ret = calloc(1, sizeof(*ret));
	const struct {
		const char *name;
		void *to;
	} names[] = {
		{"PyObject_Repr", &ret->repr},          {"PyCell_Get", &ret->cell_get},
		{"PyType_GetName", &ret->type_name},    {"PyObject_Size", &ret->size},
		{"PyList_GetItem", &ret->list_item},    {"PyTuple_GetItem", &ret->tuple_item},
		{"PyDict_Next", &ret->dict_next},       {"PyLong_Type", &ret->long_type},
		{"PyFloat_Type", &ret->float_type},     {"PyBool_Type", &ret->bool_type},
		{"PyUnicode_Type", &ret->unicode_type}, {"PyBytes_Type", &ret->bytes_type},
		{"PyList_Type", &ret->list_type},       {"PyTuple_Type", &ret->tuple_type},
		{"PyDict_Type", &ret->dict_type},       {"PyCell_Type", &ret->cell_type},
	};

	for (size_t i = 0; ret && i < sizeof(names) / sizeof(*names); i++) {
		void *found = gorgon_interp_find_symbol(interp, names[i].name);

		memcpy(names[i].to, &found, sizeof(found));
		if (!found) {
			free(ret);
			return NULL;
		}
	}
	return ret;
}

static bool is_scalar(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		      PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);
	int overflow = 0;

	if (type == api->long_type) { // a long number takes long
		interp->api->PyLong_AsLongLongAndOverflow(object, &overflow);
		return !overflow;
	}
	if (type == api->unicode_type || type == api->bytes_type)
		return api->size(object) <= LENGTH_MAX;
	return type == api->float_type || type == api->bool_type ||
	       object == interp->api->_Py_NoneStruct;
}

static bool has_repr(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		     PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);
	bool is_list = type == api->list_type, ret = true;
	Py_ssize_t at = 0, count;
	PyObject *key, *value;

	if (!is_list && type != api->tuple_type && type != api->dict_type)
		return is_scalar(interp, api, object);
	count = api->size(object);
	if (count > ITEMS_MAX)
		return false;
	if (type == api->dict_type) {
		while (ret && api->dict_next(object, &at, &key, &value))
			ret = is_scalar(interp, api, key) && is_scalar(interp, api, value);
		return ret;
	}
	for (; ret && at < count; at++)
		ret = is_scalar(interp, api,
				is_list ? api->list_item(object, at) : api->tuple_item(object, at));
	return ret;
}

static void cut(char *to, const char *text)
{
	snprintf(to, TEXT_SIZE, "%s", text);
	if (strlen(text) >= TEXT_SIZE)
		memcpy(to + TEXT_SIZE - 4, "...", 4);
}

static double number_of(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);
	int overflow;
	long long whole;

	if (type == api->float_type)
		return interp->api->PyFloat_AsDouble(object);
	if (type != api->long_type && type != api->bool_type)
		return NAN;
	whole = interp->api->PyLong_AsLongLongAndOverflow(object, &overflow);
	return overflow ? overflow * INFINITY : (double)whole;
}

static double write_value(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			  PyObject *object, char *to)
{
	PyObject *cell = NULL, *text;
	const char *utf8;
	double ret;
	bool whole;

	if (object && Py_TYPE(object) == api->cell_type)
		object = cell = api->cell_get(object);
	if (!object) {
		interp->api->PyErr_Clear();
		strcpy(to, "(unbound)");
		return NAN;
	}
	ret = number_of(interp, api, object);
	whole = has_repr(interp, api, object);
	text = whole ? api->repr(object) : api->type_name(Py_TYPE(object));
	utf8 = text ? interp->api->PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
	if (whole && utf8)
		cut(to, utf8);
	else
		snprintf(to, TEXT_SIZE, "<%.100s at %p>", utf8 ?: "object", (void *)object);
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(text);
	interp->api->Py_DecRef(cell);
	return ret;
}

// NULL: a local that has no value, or the evaluator's own number.
static PyObject *object_of(uintptr_t value)
{
	return (value & GORGON_LINES_TAG) > GORGON_LINES_OWN
		       ? NULL
		       : (PyObject *)(value & ~(uintptr_t)GORGON_LINES_TAG);
}

union gorgon_lines_value *gorgon_lines_values_create(struct gorgon_interp *interp,
						     const struct gorgon_lines_values_api *api,
						     const struct gorgon_lines_function *function,
						     const uintptr_t *values)
{
	size_t count = function->value_count;
	union gorgon_lines_value *ret = malloc(count * (2 * sizeof(*ret) + TEXT_SIZE) + 1);
	char *text = (char *)(ret + 2 * count);

	for (size_t i = 0; ret && i < count; i++, text += TEXT_SIZE) {
		ret[count + i].number = write_value(interp, api, object_of(values[i]), text);
		ret[i].text = text;
	}
	return ret;
}

void gorgon_lines_values_name(struct gorgon_interp *interp,
			      const struct gorgon_lines_values_api *api, PyObject *type, char *to,
			      size_t size)
{
	PyObject *name = api->type_name((PyTypeObject *)type);
	const char *text = name ? interp->api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;

	snprintf(to, size, "%s", text ?: "?");
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(name);
}

union gorgon_lines_value gorgon_lines_no_texts[] = {{.text = "(not read)"}};
union gorgon_lines_value gorgon_lines_no_numbers[GORGON_LINES_VALUES_MAX] = {
	[0 ... GORGON_LINES_VALUES_MAX - 1] = {.number = NAN}};
