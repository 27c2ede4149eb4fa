// SPDX-License-Identifier: MIT
// Copying plain values between the host and an interpreter.
//
// Both directions go through the tree depth first. The depth is limited, which also refuses a list
// that contains itself. The number of values is limited, which also refuses a small list whose tree
// is huge, because it contains another list twice, which contains another list twice, and so on.
//
// Errors say where they are: "result[2][0]" is the first item of the third item. Entries of a dict
// are numbered in their order, and a key has the number of its entry.

#define _GNU_SOURCE
#include "value.h"
#include "base/error.h"
#include "file/grow.h"
#include "python/arrays/array.h"
#include "python/arrays/replica.h"
#include "python/arrays/share.h"
#include "python/calls/held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of PyType_GetFlags(); part of the stable ABI as the macros that test them.
#define FLAGS_TUPLE  (1ul << 26)
#define FLAGS_LIST   (1ul << 25)
#define FLAGS_LONG   (1ul << 24)
#define FLAGS_BYTES  (1ul << 27)
#define FLAGS_STRING (1ul << 28)
#define FLAGS_DICT   (1ul << 29)

// The copying of a tree of values in one direction.
struct crossing {
	struct gorgon_interp *interp; // NULL between two places of the host
	const struct gorgon_api *api;
	const char *what;
	size_t count;
	unsigned depth;
	size_t path[GORGON_VALUE_DEPTH_MAX]; // index at each depth
	struct found_array *arrays;          // what becomes an array once the rest is gone
	size_t arrays_count;
	bool is_taken;
	bool holds_objects; // what is no value is held for the host
};

struct found_array {
	PyObject *object;
	struct gorgon_value *value;
};

// An error that names the first @depth steps of the current place.
static struct gorgon_error *refuse_value_at(const struct crossing *crossing, unsigned depth,
					    enum gorgon_error_code code, const char *text)
{
	struct gorgon_error *err;
	char *path = NULL;
	size_t size;
	FILE *out = open_memstream(&path, &size);

	if (!out)
		return &gorgon_error_nomem;
	for (unsigned i = 0; i < depth; i++)
		fprintf(out, "[%zu]", crossing->path[i]);
	if (fclose(out)) {
		free(path);
		return &gorgon_error_nomem;
	}
	err = crossing->interp && !crossing->interp->own
		      ? gorgon_error_create(code, "interpreter %u: %s%s: %s",
					    crossing->interp->number, crossing->what, path, text)
		      : gorgon_error_create(code, "%s%s: %s", crossing->what, path, text);
	free(path);
	return err;
}

static struct gorgon_error *refuse_value(const struct crossing *crossing,
					 enum gorgon_error_code code, const char *text)
{
	return refuse_value_at(crossing, crossing->depth, code, text);
}

static struct gorgon_error *refuse_values_count(const struct crossing *crossing,
						enum gorgon_error_code code)
{
	return refuse_value_at(crossing, 0, code, "more than 1048576 values at once");
}

static struct gorgon_error *count_value(struct crossing *crossing, enum gorgon_error_code code)
{
	return ++crossing->count <= GORGON_VALUE_COUNT_MAX ? NULL
							   : refuse_values_count(crossing, code);
}

static struct gorgon_error *descend_into_value(struct crossing *crossing,
					       enum gorgon_error_code code)
{
	if (crossing->depth < GORGON_VALUE_DEPTH_MAX) {
		crossing->depth++;
		return NULL;
	}
	// The first three steps of the path are enough to find the place.
	return refuse_value_at(crossing, 3, code, "nested deeper than 64, or within itself");
}

// A value of the host's, before it is looked into.
static struct gorgon_error *check_value(struct crossing *crossing, const struct gorgon_value *value)
{
	bool has_text = value->kind == GORGON_VALUE_STRING || value->kind == GORGON_VALUE_BYTES;

	if ((unsigned)value->kind > GORGON_VALUE_REPLICA)
		return refuse_value(crossing, GORGON_ERROR_ARGUMENT, "unknown kind of value");
	if (has_text && value->text.size > PTRDIFF_MAX)
		return refuse_value(crossing, GORGON_ERROR_ARGUMENT, "larger than memory can be");
	return count_value(crossing, GORGON_ERROR_ARGUMENT);
}

// --- to Python --------------------------------------------------------------------------

static struct gorgon_error *to_python(struct crossing *crossing, const struct gorgon_value *value,
				      PyObject **ret);

static struct gorgon_error *list_to_python(struct crossing *crossing,
					   const struct gorgon_value *value, PyObject **ret)
{
	const struct gorgon_api *api = crossing->api;
	PyObject *list = api->PyList_New(0), *item;
	struct gorgon_error *err = NULL;

	if (!list)
		return gorgon_call_fail(crossing->interp);
	for (size_t i = 0; i < value->list.count && !err; i++) {
		crossing->path[crossing->depth - 1] = i;
		if ((err = to_python(crossing, &value->list.items[i], &item)))
			break;
		if (api->PyList_Append(list, item))
			err = gorgon_call_fail(crossing->interp);
		api->Py_DecRef(item);
	}
	if (err)
		api->Py_DecRef(list);
	else
		*ret = list;
	return err;
}

static struct gorgon_error *entry_to_python(struct crossing *crossing,
					    const struct gorgon_value *entry, PyObject *dict)
{
	const struct gorgon_api *api = crossing->api;
	PyObject *key = NULL, *item = NULL;
	struct gorgon_error *err = to_python(crossing, &entry[0], &key);

	if (!err)
		err = to_python(crossing, &entry[1], &item);
	if (!err && api->PyDict_SetItem(dict, key, item))
		err = gorgon_call_fail(crossing->interp);
	api->Py_DecRef(key);
	api->Py_DecRef(item);
	return err;
}

static struct gorgon_error *dict_to_python(struct crossing *crossing,
					   const struct gorgon_value *value, PyObject **ret)
{
	PyObject *dict = crossing->api->PyDict_New();
	struct gorgon_error *err = NULL;

	if (!dict)
		return gorgon_call_fail(crossing->interp);
	for (size_t i = 0; i < value->list.count && !err; i++) {
		crossing->path[crossing->depth - 1] = i;
		err = entry_to_python(crossing, &value->list.items[2 * i], dict);
	}
	if (err)
		crossing->api->Py_DecRef(dict);
	else
		*ret = dict;
	return err;
}

static struct gorgon_error *tree_to_python(struct crossing *crossing,
					   const struct gorgon_value *value, PyObject **ret)
{
	struct gorgon_error *err = descend_into_value(crossing, GORGON_ERROR_ARGUMENT);

	if (err)
		return err;
	err = value->kind == GORGON_VALUE_LIST ? list_to_python(crossing, value, ret)
					       : dict_to_python(crossing, value, ret);
	crossing->depth--;
	return err;
}

// A new object, or NULL with an exception.
static PyObject *leaf_to_python(struct gorgon_interp *interp, const struct gorgon_value *value)
{
	const struct gorgon_api *api = interp->api;

	switch (value->kind) {
	case GORGON_VALUE_NONE:
		api->Py_IncRef(api->_Py_NoneStruct);
		return api->_Py_NoneStruct;
	case GORGON_VALUE_BOOL:
		return api->PyBool_FromLong(value->boolean);
	case GORGON_VALUE_INT:
		return api->PyLong_FromLongLong(value->integer);
	case GORGON_VALUE_FLOAT:
		return api->PyFloat_FromDouble(value->number);
	case GORGON_VALUE_STRING:
		return api->PyUnicode_FromStringAndSize(value->text.data,
							(Py_ssize_t)value->text.size);
	case GORGON_VALUE_ARRAY:
		return gorgon_share_object_of(interp, gorgon_array_retain(value->array),
					      value->array->writable);
	default:
		return api->PyBytes_FromStringAndSize(value->text.data,
						      (Py_ssize_t)value->text.size);
	}
}

// An object that is in the interpreter already.
static struct gorgon_error *object_to_python(struct crossing *crossing,
					     const struct gorgon_pyobject *object, PyObject **ret)
{
	*ret = gorgon_held_object(object, crossing->interp);
	if (!*ret)
		return refuse_value(crossing, GORGON_ERROR_ARGUMENT,
				    "an object of another interpreter; a replica can cross");
	crossing->api->Py_IncRef(*ret);
	return NULL;
}

static struct gorgon_error *to_python(struct crossing *crossing, const struct gorgon_value *value,
				      PyObject **ret)
{
	struct gorgon_error *err = check_value(crossing, value);
	PyObject *object;

	if (err)
		return err;
	if (value->kind == GORGON_VALUE_LIST || value->kind == GORGON_VALUE_DICT)
		return tree_to_python(crossing, value, ret);
	if (value->kind == GORGON_VALUE_OBJECT)
		return object_to_python(crossing, value->object, ret);
	if (value->kind == GORGON_VALUE_REPLICA)
		return gorgon_replica_to_python(crossing->interp, value->replica, ret);
	object = leaf_to_python(crossing->interp, value);
	if (!object)
		return gorgon_call_fail(crossing->interp);
	*ret = object;
	return NULL;
}

struct gorgon_error *gorgon_value_to_python(struct gorgon_interp *interp,
					    const struct gorgon_value *value, const char *what,
					    PyObject **ret)
{
	struct crossing crossing = {.interp = interp, .api = interp->api, .what = what};

	return to_python(&crossing, value, ret);
}

// --- from Python ------------------------------------------------------------------------

static struct gorgon_error *from_python(struct crossing *crossing, PyObject *object,
					struct gorgon_value *ret);

static struct gorgon_error *refuse_type(const struct crossing *crossing, PyObject *object)
{
	const struct gorgon_api *api = crossing->api;
	PyObject *name = api->PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__qualname__");
	const char *text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	struct gorgon_error *err;
	char *message;

	if (asprintf(&message,
		     "a value of type %s, expected None, bool, int, float, str, bytes, bytearray, "
		     "list, tuple, dict or an array",
		     text ?: "without a name") < 0)
		message = NULL;
	api->PyErr_Clear();
	api->Py_DecRef(name);
	err = message ? refuse_value(crossing, GORGON_ERROR_UNSUPPORTED, message)
		      : &gorgon_error_nomem;
	free(message);
	return err;
}

static struct gorgon_error *copy_text(const char *data, Py_ssize_t size,
				      enum gorgon_value_kind kind, struct gorgon_value *ret)
{
	char *copy = malloc((size_t)size + 1);

	if (!copy)
		return &gorgon_error_nomem;
	memcpy(copy, data, (size_t)size);
	copy[size] = 0;
	ret->kind = kind;
	ret->text.data = copy;
	ret->text.size = (size_t)size;
	return NULL;
}

static struct gorgon_error *text_from_python(struct crossing *crossing, PyObject *object,
					     unsigned long flags, struct gorgon_value *ret)
{
	const struct gorgon_api *api = crossing->api;
	Py_ssize_t size;
	const char *data;
	char *bytes;

	if (flags & FLAGS_STRING) {
		data = api->PyUnicode_AsUTF8AndSize(object, &size);
		if (!data)
			return gorgon_call_fail(crossing->interp);
		return copy_text(data, size, GORGON_VALUE_STRING, ret);
	}
	if (!(flags & FLAGS_BYTES))
		return copy_text(api->PyByteArray_AsString(object), api->PyByteArray_Size(object),
				 GORGON_VALUE_BYTES, ret);
	if (api->PyBytes_AsStringAndSize(object, &bytes, &size))
		return gorgon_call_fail(crossing->interp);
	return copy_text(bytes, size, GORGON_VALUE_BYTES, ret);
}

static struct gorgon_error *int_from_python(struct crossing *crossing, PyObject *object,
					    struct gorgon_value *ret)
{
	int overflow;

	ret->integer = crossing->api->PyLong_AsLongLongAndOverflow(object, &overflow);
	if (overflow)
		return refuse_value(
			crossing, GORGON_ERROR_UNSUPPORTED,
			"an int that needs more than 64 bits; str() or bytes can carry it");
	ret->kind = GORGON_VALUE_INT;
	return NULL;
}

// Room in a list or dict for @count items or entries, which are None.
static struct gorgon_error *make_room_for_values(const struct crossing *crossing,
						 enum gorgon_error_code code,
						 struct gorgon_value *ret,
						 enum gorgon_value_kind kind, size_t count)
{
	size_t per_entry = kind == GORGON_VALUE_DICT ? 2 : 1;
	struct gorgon_value *items;

	if (count > (GORGON_VALUE_COUNT_MAX - crossing->count) / per_entry)
		return refuse_values_count(crossing, code);
	items = calloc(count * per_entry ?: 1, sizeof(*items));
	if (!items)
		return &gorgon_error_nomem;
	ret->kind = kind;
	ret->list.items = items;
	ret->list.count = count;
	return NULL;
}

// Nothing here runs Python code: the sizes stay as they are.
static struct gorgon_error *sequence_from_python(struct crossing *crossing, PyObject *object,
						 bool is_list, struct gorgon_value *ret)
{
	const struct gorgon_api *api = crossing->api;
	Py_ssize_t count = is_list ? api->PyList_Size(object) : api->PyTuple_Size(object);
	struct gorgon_error *err;

	err = make_room_for_values(crossing, GORGON_ERROR_UNSUPPORTED, ret, GORGON_VALUE_LIST,
				   (size_t)count);
	for (Py_ssize_t i = 0; i < count && !err; i++) {
		crossing->path[crossing->depth - 1] = (size_t)i;
		err = from_python(crossing,
				  is_list ? api->PyList_GetItem(object, i)
					  : api->PyTuple_GetItem(object, i),
				  &ret->list.items[i]);
	}
	return err;
}

static struct gorgon_error *dict_from_python(struct crossing *crossing, PyObject *object,
					     struct gorgon_value *ret)
{
	const struct gorgon_api *api = crossing->api;
	size_t count = (size_t)api->PyDict_Size(object), i = 0;
	PyObject *key, *value;
	struct gorgon_error *err;
	Py_ssize_t position = 0;

	err = make_room_for_values(crossing, GORGON_ERROR_UNSUPPORTED, ret, GORGON_VALUE_DICT,
				   count);
	for (; !err && i < count && api->PyDict_Next(object, &position, &key, &value); i++) {
		crossing->path[crossing->depth - 1] = i;
		err = from_python(crossing, key, &ret->list.items[2 * i]);
		if (!err)
			err = from_python(crossing, value, &ret->list.items[2 * i + 1]);
	}
	return err;
}

static struct gorgon_error *tree_from_python(struct crossing *crossing, PyObject *object,
					     unsigned long flags, struct gorgon_value *ret)
{
	struct gorgon_error *err = descend_into_value(crossing, GORGON_ERROR_UNSUPPORTED);

	if (err)
		return err;
	err = flags & FLAGS_DICT ? dict_from_python(crossing, object, ret)
				 : sequence_from_python(crossing, object, flags & FLAGS_LIST, ret);
	crossing->depth--;
	return err;
}

static struct gorgon_error *value_of_array(struct crossing *crossing, struct gorgon_array *array,
					   struct gorgon_value *ret)
{
	if (!array)
		return gorgon_call_fail(crossing->interp);
	ret->kind = GORGON_VALUE_ARRAY;
	ret->array = array;
	return NULL;
}

// Who gets what stays in the interpreter gets a copy, for the interpreter may go on to write to
// it. What a Python that is the host passes to an interpreter is the host's own memory.
static struct gorgon_error *array_from_python(struct crossing *crossing, PyObject *object,
					      struct gorgon_value *ret)
{
	struct gorgon_interp *interp = crossing->interp;
	struct found_array *added;

	if (!crossing->is_taken)
		return value_of_array(crossing,
				      interp->own ? gorgon_share_array_of(interp, object, NULL)
						  : gorgon_share_copy(interp, object),
				      ret);
	added = jitreg_add(&crossing->arrays, &crossing->arrays_count, sizeof(*added));
	if (!added)
		return &gorgon_error_nomem;
	*added = (struct found_array){object, ret};
	crossing->api->Py_IncRef(object);
	return NULL;
}

static struct gorgon_error *hold_object(struct crossing *crossing, PyObject *object,
					struct gorgon_value *ret)
{
	crossing->api->Py_IncRef(object);
	ret->object = gorgon_held_add(crossing->interp, object);
	if (!ret->object) {
		crossing->api->Py_DecRef(object);
		return &gorgon_error_nomem;
	}
	ret->kind = GORGON_VALUE_OBJECT;
	return NULL;
}

// Whether an object is a scalar of numpy's that is a bool, int or float: numpy.bool_, numpy.int32
// ... These have buffers, too, as arrays have. A numpy.timedelta64 is no int, and what has no kind
// of values stays an array.
static bool is_numpy_scalar(struct gorgon_interp *interp, PyObject *object)
{
	const struct gorgon_api *api = interp->api;
	PyObject *modules = API(interp, PySys_GetObject)("modules"); // borrowed, as the next
	PyObject *numpy = modules ? API(interp, PyDict_GetItemString)(modules, "numpy") : NULL;
	PyObject *generic = numpy ? api->PyObject_GetAttrString(numpy, "generic") : NULL;
	PyObject *dtype = NULL, *kind = NULL;
	Py_ssize_t size = 0;
	const char *text = NULL;
	bool ret;

	if (generic && API(interp, PyObject_IsInstance)(object, generic) == 1)
		dtype = api->PyObject_GetAttrString(object, "dtype");
	if (dtype)
		kind = api->PyObject_GetAttrString(dtype, "kind");
	if (kind)
		text = api->PyUnicode_AsUTF8AndSize(kind, &size);
	ret = text && size == 1 && strchr("biuf", *text);
	api->Py_DecRef(kind);
	api->Py_DecRef(dtype);
	api->Py_DecRef(generic);
	api->PyErr_Clear();
	return ret;
}

// The bool, int or float that it is. A numpy.longdouble is no float of Python's, and stays what it
// is.
static PyObject *item_of_scalar(struct gorgon_interp *interp, PyObject *object)
{
	const struct gorgon_api *api = interp->api;
	PyObject *item = is_numpy_scalar(interp, object)
				 ? api->PyObject_CallMethod(object, "item", NULL)
				 : NULL;

	if (item && Py_TYPE(item) == Py_TYPE(object)) {
		api->Py_DecRef(item);
		item = NULL;
	}
	api->PyErr_Clear();
	return item;
}

static bool is_a(const struct gorgon_api *api, PyObject *object, PyTypeObject *type)
{
	return Py_TYPE(object) == type || api->PyType_IsSubtype(Py_TYPE(object), type);
}

// A bool, an int, or a float.
static struct gorgon_error *number_from_python(struct crossing *crossing, PyObject *object,
					       struct gorgon_value *ret)
{
	const struct gorgon_api *api = crossing->api;

	if (Py_TYPE(object) == api->PyBool_Type) {
		ret->kind = GORGON_VALUE_BOOL;
		ret->boolean = object == (PyObject *)api->_Py_TrueStruct;
		return NULL;
	}
	if (api->PyType_GetFlags(Py_TYPE(object)) & FLAGS_LONG)
		return int_from_python(crossing, object, ret);
	ret->kind = GORGON_VALUE_FLOAT;
	ret->number = api->PyFloat_AsDouble(object);
	return NULL;
}

// @ret is None before; after a failure, too, it can be released.
static struct gorgon_error *from_python(struct crossing *crossing, PyObject *object,
					struct gorgon_value *ret)
{
	const struct gorgon_api *api = crossing->api;
	unsigned long flags = api->PyType_GetFlags(Py_TYPE(object));
	struct gorgon_error *err = count_value(crossing, GORGON_ERROR_UNSUPPORTED);
	PyObject *item;

	if (err || object == api->_Py_NoneStruct)
		return err;
	if (flags & FLAGS_LONG || is_a(api, object, api->PyFloat_Type))
		return number_from_python(crossing, object, ret);
	if (flags & (FLAGS_STRING | FLAGS_BYTES) || is_a(api, object, api->PyByteArray_Type))
		return text_from_python(crossing, object, flags, ret);
	if (flags & (FLAGS_LIST | FLAGS_TUPLE | FLAGS_DICT))
		return tree_from_python(crossing, object, flags, ret);
	if ((item = item_of_scalar(crossing->interp, object))) {
		err = number_from_python(crossing, item, ret);
		api->Py_DecRef(item);
		return err;
	}
	if (gorgon_share_is_array(crossing->interp, object))
		return array_from_python(crossing, object, ret);
	return crossing->holds_objects ? hold_object(crossing, object, ret)
				       : refuse_type(crossing, object);
}

static struct gorgon_error *value_from_python(struct crossing *crossing, PyObject *object,
					      struct gorgon_value *ret)
{
	struct gorgon_value value = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err = from_python(crossing, object, &value);

	if (err)
		gorgon_value_deinit(&value);
	else
		*ret = value;
	return err;
}

struct gorgon_error *gorgon_value_from_python(struct gorgon_interp *interp, PyObject *object,
					      const char *what, struct gorgon_value *ret)
{
	struct crossing crossing = {.interp = interp, .api = interp->api, .what = what};

	return value_from_python(&crossing, object, ret);
}

struct gorgon_error *gorgon_value_of_arguments(struct gorgon_interp *interp, PyObject *object,
					       const char *what, struct gorgon_value *ret)
{
	struct crossing crossing = {
		.interp = interp, .api = interp->api, .what = what, .holds_objects = true};

	return value_from_python(&crossing, object, ret);
}

struct gorgon_error *gorgon_value_take(struct gorgon_interp *interp, PyObject *object,
				       const char *what, struct gorgon_value *ret)
{
	struct crossing crossing = {
		.interp = interp, .api = interp->api, .what = what, .is_taken = true};
	struct gorgon_value value = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err = from_python(&crossing, object, &value);

	interp->api->Py_DecRef(object);
	for (size_t i = 0; i < crossing.arrays_count; i++) {
		struct found_array *each = &crossing.arrays[i];

		if (!err)
			err = value_of_array(&crossing, gorgon_share_given(interp, each->object),
					     each->value);
		interp->api->Py_DecRef(each->object);
	}
	free(crossing.arrays);
	if (err)
		gorgon_value_deinit(&value);
	else
		*ret = value;
	return err;
}

// --- memory -------------------------------------------------------------------------------

void gorgon_value_deinit(struct gorgon_value *value)
{
	size_t count = value->kind == GORGON_VALUE_DICT ? 2 * value->list.count
		       : value->kind == GORGON_VALUE_LIST ? value->list.count
							  : 0;

	if (value->kind == GORGON_VALUE_STRING || value->kind == GORGON_VALUE_BYTES)
		free((char *)value->text.data);
	for (size_t i = 0; i < count; i++)
		gorgon_value_deinit(&value->list.items[i]);
	if (value->kind == GORGON_VALUE_LIST || value->kind == GORGON_VALUE_DICT)
		free(value->list.items);
	if (value->kind == GORGON_VALUE_ARRAY)
		gorgon_array_release(value->array);
	if (value->kind == GORGON_VALUE_OBJECT)
		gorgon_pyobject_release(value->object);
	if (value->kind == GORGON_VALUE_REPLICA)
		gorgon_replica_release(value->replica);
	*value = (struct gorgon_value){.kind = GORGON_VALUE_NONE};
}

static struct gorgon_error *copy_value(struct crossing *crossing, const struct gorgon_value *value,
				       struct gorgon_value *ret);

static struct gorgon_error *copy_value_tree(struct crossing *crossing,
					    const struct gorgon_value *value,
					    struct gorgon_value *ret)
{
	size_t count = value->list.count, per_entry = value->kind == GORGON_VALUE_DICT ? 2 : 1;
	struct gorgon_error *err = descend_into_value(crossing, GORGON_ERROR_ARGUMENT);

	if (err)
		return err;
	err = make_room_for_values(crossing, GORGON_ERROR_ARGUMENT, ret, value->kind, count);
	for (size_t i = 0; i < count * per_entry && !err; i++) {
		crossing->path[crossing->depth - 1] = i / per_entry;
		err = copy_value(crossing, &value->list.items[i], &ret->list.items[i]);
	}
	crossing->depth--;
	return err;
}

static struct gorgon_error *copy_value(struct crossing *crossing, const struct gorgon_value *value,
				       struct gorgon_value *ret)
{
	struct gorgon_error *err = check_value(crossing, value);

	if (err)
		return err;
	switch (value->kind) {
	case GORGON_VALUE_STRING:
	case GORGON_VALUE_BYTES:
		return copy_text(value->text.data, (Py_ssize_t)value->text.size, value->kind, ret);
	case GORGON_VALUE_LIST:
	case GORGON_VALUE_DICT:
		return copy_value_tree(crossing, value, ret);
	default:
		if (value->kind == GORGON_VALUE_ARRAY)
			gorgon_array_retain(value->array);
		else if (value->kind == GORGON_VALUE_OBJECT)
			gorgon_pyobject_retain(value->object);
		else if (value->kind == GORGON_VALUE_REPLICA)
			gorgon_replica_retain(value->replica);
		*ret = *value;
		return NULL;
	}
}

struct gorgon_error *gorgon_value_copy(const struct gorgon_value *value, const char *what,
				       struct gorgon_value *ret)
{
	struct crossing crossing = {.what = what};
	struct gorgon_value made = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err = copy_value(&crossing, value, &made);

	if (err)
		gorgon_value_deinit(&made);
	else
		*ret = made;
	return err;
}
