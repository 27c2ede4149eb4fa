// SPDX-License-Identifier: MIT
// Values of frames, as texts and as numbers. They are made while a debugger stops the thread at a
// Python line, so they must not run code of the program: only CPython's own types are asked for
// their repr(). Of other objects the type's name and the address are told. The text of a container
// shows its items, that of an exception its arguments, and that of an object of a Python class its
// attributes. Items and attributes are shown without items and attributes of their own.
//
// Debuggers know one type of a variable, whatever Python puts into it. It is a text. So that
// conditions can compute, the numbers are in another variable (lines/dwarf.c).

#define _GNU_SOURCE
#include "values.h"
#include "python/api.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE  400 // how many bytes a text has, with its NUL
#define ITEMS_MAX  20  // that are told of a container
#define LENGTH_MAX 500 // that is read of a str or bytes

#define IS_HEAP_TYPE (1UL << 9)  // Py_TPFLAGS_HEAPTYPE
#define IS_EXCEPTION (1UL << 30) // Py_TPFLAGS_BASE_EXC_SUBCLASS

struct gorgon_lines_values_api {
	PyObject *(*repr)(PyObject *);
	PyObject *(*cell_get)(PyObject *);
	int (*cell_set)(PyObject *, PyObject *);
	PyObject *(*type_name)(PyTypeObject *);
	PyObject *(*attributes)(PyObject *, void *);
	PyObject *(*slice)(PyObject *, Py_ssize_t, Py_ssize_t);
	Py_ssize_t (*size)(PyObject *);
	PyTypeObject *long_type, *float_type, *bool_type, *unicode_type, *bytes_type, *list_type,
		*tuple_type, *set_type, *frozenset_type, *dict_type, *cell_type, *type_type,
		*function_type, *built_in_type, *complex_type, *range_type, *bytearray_type;
	PyObject **exception;
};

struct gorgon_lines_values_api *gorgon_lines_values_api_create(struct gorgon_interp *interp)
{
	struct gorgon_lines_values_api *ret = calloc(1, sizeof(*ret));
	const struct {
		const char *name;
		void *to;
	} names[] = {
		{"PyObject_Repr", &ret->repr},
		{"PyCell_Get", &ret->cell_get},
		{"PyCell_Set", &ret->cell_set},
		{"PyType_GetName", &ret->type_name},
		{"PyObject_GenericGetDict", &ret->attributes},
		{"PySequence_GetSlice", &ret->slice},
		{"PyObject_Size", &ret->size},
		{"PyLong_Type", &ret->long_type},
		{"PyFloat_Type", &ret->float_type},
		{"PyBool_Type", &ret->bool_type},
		{"PyUnicode_Type", &ret->unicode_type},
		{"PyBytes_Type", &ret->bytes_type},
		{"PyList_Type", &ret->list_type},
		{"PyTuple_Type", &ret->tuple_type},
		{"PySet_Type", &ret->set_type},
		{"PyFrozenSet_Type", &ret->frozenset_type},
		{"PyDict_Type", &ret->dict_type},
		{"PyCell_Type", &ret->cell_type},
		{"PyType_Type", &ret->type_type},
		{"PyFunction_Type", &ret->function_type},
		{"PyCFunction_Type", &ret->built_in_type},
		{"PyComplex_Type", &ret->complex_type},
		{"PyRange_Type", &ret->range_type},
		{"PyByteArray_Type", &ret->bytearray_type},
		{"PyExc_BaseException", &ret->exception},
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

struct text {
	char *at; // what is added comes here
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;
	size_t size;

	va_start(args, format);
	size = (size_t)vsnprintf(text->at, text->left, format, args);
	va_end(args);
	if (size >= text->left) { // it ends in "...", behind a whole character
		text->at += text->left - 4;
		while ((*text->at & 0xc0) == 0x80)
			text->at--;
		strcpy(text->at, "...");
		text->at += 3;
		text->left = 1;
		return;
	}
	text->at += size;
	text->left -= size;
}

static bool is_full(const struct text *text)
{
	return text->left <= 1;
}

static void add_name(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		     PyObject *object, struct text *text)
{
	PyObject *name = api->type_name(Py_TYPE(object));
	const char *utf8 = name ? interp->api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;

	add(text, "<%.100s at %p", utf8 ?: "object", (void *)object);
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(name);
}

// Whether repr() is short and asks no other object.
static bool is_plain(const struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		     PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	return type == api->float_type || type == api->bool_type || type == api->complex_type ||
	       type == api->range_type || type == api->type_type || type == api->function_type ||
	       type == api->built_in_type || object == interp->api->_Py_NoneStruct;
}

// Whether it was a value of CPython's own whose repr() is short.
static bool add_scalar(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		       PyObject *object, struct text *text)
{
	const PyTypeObject *type = Py_TYPE(object);
	PyObject *start = NULL, *repr = NULL;
	const char *utf8;
	int overflow = 0;

	if (type == api->long_type)
		interp->api->PyLong_AsLongLongAndOverflow(object, &overflow);
	else if (type == api->unicode_type || type == api->bytes_type ||
		 type == api->bytearray_type)
		start = api->slice(object, 0, LENGTH_MAX);
	else if (!is_plain(interp, api, object))
		return false;
	if (!overflow) // a long number takes long
		repr = api->repr(start ?: object);
	utf8 = repr ? interp->api->PyUnicode_AsUTF8AndSize(repr, NULL) : NULL;
	if (utf8)
		add(text, "%s", utf8);
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(start);
	interp->api->Py_DecRef(repr);
	return utf8;
}

static void add_item(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		     PyObject *object, struct text *text)
{
	if (add_scalar(interp, api, object, text))
		return;
	add_name(interp, api, object, text);
	add(text, ">");
}

static void add_pairs(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		      PyObject *dict, struct text *text)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	for (int i = 0; !is_full(text) && interp->api->PyDict_Next(dict, &at, &key, &value); i++) {
		add(text, i ? ", " : "");
		if (i == ITEMS_MAX) {
			add(text, "...");
			return;
		}
		add_item(interp, api, key, text);
		add(text, ": ");
		add_item(interp, api, value, text);
	}
}

static void add_items(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		      PyObject *object, struct text *text)
{
	PyObject *iterator = interp->api->PyObject_GetIter(object), *item;

	for (int i = 0; iterator && !is_full(text) && i <= ITEMS_MAX &&
			(item = interp->api->PyIter_Next(iterator));
	     i++) {
		add(text, i ? ", " : "");
		if (i < ITEMS_MAX)
			add_item(interp, api, item, text);
		else
			add(text, "...");
		interp->api->Py_DecRef(item);
	}
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(iterator);
}

// An object whose attributes are in a dict. Python's own method to get that runs no code.
static void add_attributes(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			   PyObject *object, struct text *text)
{
	PyTypeObject *type = Py_TYPE(object);
	PyObject *dict = NULL, *key, *value;
	Py_ssize_t at = 0;
	const char *name;

	if (interp->api->PyType_GetFlags(type) & IS_HEAP_TYPE &&
	    !interp->api->PyType_IsSubtype(type, api->type_type))
		dict = api->attributes(object, NULL);
	for (int i = 0; dict && Py_TYPE(dict) == api->dict_type && i <= ITEMS_MAX &&
			!is_full(text) && interp->api->PyDict_Next(dict, &at, &key, &value);
	     i++) {
		name = Py_TYPE(key) == api->unicode_type
			       ? interp->api->PyUnicode_AsUTF8AndSize(key, NULL)
			       : NULL;
		if (i == ITEMS_MAX)
			add(text, ", ...");
		else if (name) {
			add(text, i ? ", %s=" : " %s=", name);
			add_item(interp, api, value, text);
		}
	}
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(dict);
}

// What an exception was made with. A class of the program may have another attribute of that name.
static void add_arguments(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			  PyObject *exception, struct text *text)
{
	PyObject *attribute = interp->api->PyObject_GetAttrString(*api->exception, "args");
	PyObject *args =
		attribute ? interp->api->PyObject_CallMethod(attribute, "__get__", "O", exception)
			  : NULL;

	if (args) {
		add(text, " args=(");
		add_items(interp, api, args, text);
		add(text, api->size(args) == 1 ? ",)" : ")");
	}
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(args);
	interp->api->Py_DecRef(attribute);
}

static void add_value(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
		      PyObject *object, struct text *text)
{
	const struct {
		PyTypeObject *type;
		const char *begin, *end, *empty;
	} containers[] = {
		{api->list_type, "[", "]", NULL},
		{api->tuple_type, "(", ")", NULL},
		{api->set_type, "{", "}", "set()"},
		{api->frozenset_type, "frozenset({", "})", "frozenset()"},
		{api->dict_type, "{", "}", NULL},
	};

	if (add_scalar(interp, api, object, text))
		return;
	for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++)
		if (Py_TYPE(object) == containers[i].type) {
			Py_ssize_t size = api->size(object);

			if (!size && containers[i].empty) {
				add(text, "%s", containers[i].empty);
				return;
			}
			add(text, "%s", containers[i].begin);
			(containers[i].type == api->dict_type ? add_pairs : add_items)(
				interp, api, object, text);
			if (size == 1 && containers[i].type == api->tuple_type)
				add(text, ",");
			add(text, "%s", containers[i].end);
			return;
		}
	add_name(interp, api, object, text);
	if (interp->api->PyType_GetFlags(Py_TYPE(object)) & IS_EXCEPTION)
		add_arguments(interp, api, object, text);
	add_attributes(interp, api, object, text);
	add(text, ">");
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

// NULL: a local that has no value, or the evaluator's own number.
static PyObject *get_object(uintptr_t value)
{
	return (value & GORGON_LINES_TAG) > GORGON_LINES_OWN
		       ? NULL
		       : (PyObject *)(value & ~(uintptr_t)GORGON_LINES_TAG);
}

PyObject *gorgon_lines_value_get(struct gorgon_interp *interp,
				 const struct gorgon_lines_values_api *api, uintptr_t value)
{
	PyObject *ret = get_object(value);

	if (ret && Py_TYPE(ret) == api->cell_type)
		return api->cell_get(ret);
	if (ret)
		interp->api->Py_IncRef(ret);
	return ret;
}

void gorgon_lines_value_set(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			    uintptr_t *value, PyObject *object)
{
	PyObject *slot = get_object(*value);

	if (slot && Py_TYPE(slot) == api->cell_type)
		api->cell_set(slot, object);
	else {
		interp->api->Py_IncRef(object);
		*value = (uintptr_t)object;
	}
}

static double write_value(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			  uintptr_t value, char *to)
{
	PyObject *object = gorgon_lines_value_get(interp, api, value);
	struct text text = {to, TEXT_SIZE};
	double ret = NAN;

	if (object) {
		ret = number_of(interp, api, object);
		add_value(interp, api, object, &text);
	} else
		add(&text, "(unbound)");
	interp->api->Py_DecRef(object);
	return ret;
}

static char *text_of(const struct gorgon_lines_function *function,
		     const union gorgon_lines_value *values, unsigned i)
{
	return (char *)(values + 3 * (size_t)function->value_count) + i * (size_t)TEXT_SIZE;
}

union gorgon_lines_value *gorgon_lines_values_create(const struct gorgon_lines_function *function)
{
	union gorgon_lines_value *ret;

	return malloc(function->value_count * (3 * sizeof(*ret) + TEXT_SIZE) + 1);
}

void gorgon_lines_values_fill(struct gorgon_interp *interp,
			      const struct gorgon_lines_values_api *api,
			      const struct gorgon_lines_function *function,
			      const uintptr_t *values, union gorgon_lines_value *ret)
{
	const unsigned count = function->value_count;

	for (unsigned i = 0; i < count; i++) {
		char *text = text_of(function, ret, i);

		ret[count + i].number = write_value(interp, api, values[i], text);
		ret[2 * count + i] = ret[count + i];
		ret[i].text = text;
	}
}

bool gorgon_lines_values_has_text(const struct gorgon_lines_function *function,
				  const union gorgon_lines_value *values, unsigned i)
{
	return values[i].text != text_of(function, values, i);
}

bool gorgon_lines_values_has_number(const struct gorgon_lines_function *function,
				    const union gorgon_lines_value *values, unsigned i)
{
	const unsigned count = function->value_count;

	return memcmp(&values[count + i], &values[2 * count + i], sizeof(*values));
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
