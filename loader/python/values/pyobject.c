// SPDX-License-Identifier: MIT What a host does with the Python objects that it holds (held.c):
// each function is a call into the object's interpreter.
//
// An object is used only in a call, with the GIL, and its interpreter cannot end before the call
// does.

#define _GNU_SOURCE
#include "run.h"
#include "value.h"
#include "base/error.h"
#include "python/calls/held.h"

#include <string.h>

// A call: what it needs, and its result.
struct operation {
	struct gorgon_error *(*fn)(struct gorgon_interp *interp, struct operation *operation);
	PyObject *object; // borrowed
	const struct gorgon_pyobject *reference;
	const char *module, *name;
	const struct gorgon_value *key, *value, *args, *kwargs;
	const struct gorgon_pyobject *type;
	PyObject *result;	      // a new object that the host is to hold as @held, or NULL
	struct gorgon_pyobject *held;
	struct gorgon_value *copy;
	bool answer;
};

static struct gorgon_error *done_with_object(struct gorgon_interp *interp, int status)
{
	return status < 0 ? gorgon_call_fail(interp) : NULL;
}

static struct gorgon_error *operate_on_interp(struct gorgon_interp *interp, void *ctx)
{
	struct operation *operation = ctx;
	struct gorgon_error *err;

	if (operation->reference)
		operation->object = operation->reference->object;
	err = operation->fn(interp, operation);
	if (err || !operation->result)
		return err;
	operation->held = gorgon_held_add(interp, operation->result);
	if (operation->held)
		return NULL;
	interp->api->Py_DecRef(operation->result);
	return &gorgon_error_nomem;
}

static struct gorgon_error *operate_on(const struct gorgon_pyobject *object,
				       struct operation *operation)
{
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_held_enter(object, &interp);

	if (err)
		return err;
	operation->reference = object;
	err = gorgon_call_python(interp, operate_on_interp, operation);
	gorgon_held_leave(interp);
	return err;
}

// As operate_on(), for an operation whose result the host holds.
static struct gorgon_error *make_from(const struct gorgon_pyobject *object,
				      struct operation *operation, struct gorgon_pyobject **ret)
{
	struct gorgon_error *err = operate_on(object, operation);

	if (!err)
		*ret = operation->held;
	return err;
}

// --- from nothing -------------------------------------------------------------------------

static struct gorgon_error *create_object(struct gorgon_interp *interp, struct operation *operation)
{
	return gorgon_value_to_python(interp, operation->value, "value", &operation->result);
}

struct gorgon_error *gorgon_pyobject_create(struct gorgon_interp *interp,
					    const struct gorgon_value *value,
					    struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = create_object, .value = value};
	struct gorgon_error *err = gorgon_call_python(interp, operate_on_interp, &operation);

	if (!err)
		*ret = operation.held;
	return err;
}

static struct gorgon_error *find_object(struct gorgon_interp *interp, struct operation *operation)
{
	struct gorgon_error *err;
	PyObject *module;

	err = gorgon_call_result(
		interp, interp->api->PyImport_ImportModule(operation->module ?: "__main__"),
		&module);
	return err
		       ?: gorgon_run_get_attribute(interp, module, operation->name ?: "",
						   &operation->result);
}

struct gorgon_error *gorgon_pyobject_find(struct gorgon_interp *interp, const char *module,
					  const char *name, struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = find_object, .module = module, .name = name};
	struct gorgon_error *err = gorgon_call_python(interp, operate_on_interp, &operation);

	if (!err)
		*ret = operation.held;
	return err;
}

// --- attributes and items -------------------------------------------------------------------

static struct gorgon_error *get_object_attr(struct gorgon_interp *interp,
					    struct operation *operation)
{
	interp->api->Py_IncRef(operation->object);
	return gorgon_run_get_attribute(interp, operation->object, operation->name,
					&operation->result);
}

struct gorgon_error *gorgon_pyobject_get_attr(struct gorgon_pyobject *object, const char *name,
					      struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = get_object_attr, .name = name};

	return make_from(object, &operation, ret);
}

struct gorgon_error *gorgon_pyobject_has_attr(struct gorgon_pyobject *object, const char *name,
					      bool *ret)
{
	struct gorgon_pyobject *attribute;
	struct gorgon_error *err = gorgon_pyobject_get_attr(object, name, &attribute);
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (!err)
		gorgon_pyobject_release(attribute);
	else if (!exception || strcmp(exception->type, "AttributeError"))
		return err;
	*ret = !err;
	gorgon_error_destroy(err);
	return NULL;
}

static struct gorgon_error *set_object_attr(struct gorgon_interp *interp,
					    struct operation *operation)
{
	struct gorgon_error *err;
	PyObject *value;

	if ((err = gorgon_value_to_python(interp, operation->value, "value", &value)))
		return err;
	err = done_with_object(interp, interp->api->PyObject_SetAttrString(operation->object,
									   operation->name, value));
	interp->api->Py_DecRef(value);
	return err;
}

struct gorgon_error *gorgon_pyobject_set_attr(struct gorgon_pyobject *object, const char *name,
					      const struct gorgon_value *value)
{
	struct operation operation = {.fn = set_object_attr, .name = name, .value = value};

	return operate_on(object, &operation);
}

static struct gorgon_error *get_object_item(struct gorgon_interp *interp,
					    struct operation *operation)
{
	struct gorgon_error *err;
	PyObject *key;

	if ((err = gorgon_value_to_python(interp, operation->key, "key", &key)))
		return err;
	err = gorgon_call_result(interp, interp->api->PyObject_GetItem(operation->object, key),
				 &operation->result);
	interp->api->Py_DecRef(key);
	return err;
}

struct gorgon_error *gorgon_pyobject_get_item(struct gorgon_pyobject *object,
					      const struct gorgon_value *key,
					      struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = get_object_item, .key = key};

	return make_from(object, &operation, ret);
}

static struct gorgon_error *set_object_item(struct gorgon_interp *interp,
					    struct operation *operation)
{
	const struct gorgon_api *api = interp->api;
	PyObject *key, *value = NULL;
	struct gorgon_error *err;

	if ((err = gorgon_value_to_python(interp, operation->key, "key", &key)))
		return err;
	err = gorgon_value_to_python(interp, operation->value, "value", &value);
	if (!err)
		err = done_with_object(interp,
				       api->PyObject_SetItem(operation->object, key, value));
	api->Py_DecRef(key);
	api->Py_DecRef(value);
	return err;
}

struct gorgon_error *gorgon_pyobject_set_item(struct gorgon_pyobject *object,
					      const struct gorgon_value *key,
					      const struct gorgon_value *value)
{
	struct operation operation = {.fn = set_object_item, .key = key, .value = value};

	return operate_on(object, &operation);
}

// --- calls and iteration --------------------------------------------------------------------

static struct gorgon_error *call_object(struct gorgon_interp *interp, struct operation *operation)
{
	return gorgon_run_call(interp, operation->object, operation->args, operation->kwargs,
			       &operation->result);
}

struct gorgon_error *gorgon_pyobject_call(struct gorgon_pyobject *object,
					  const struct gorgon_value *args,
					  const struct gorgon_value *kwargs,
					  struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = call_object, .args = args, .kwargs = kwargs};
	struct gorgon_error *err = gorgon_run_check("gorgon_pyobject_call", args, kwargs)
					   ?: operate_on(object, &operation);

	if (!err && ret)
		*ret = operation.held;
	else if (!err)
		gorgon_pyobject_release(operation.held);
	return err;
}

static struct gorgon_error *iterate_object(struct gorgon_interp *interp,
					   struct operation *operation)
{
	return gorgon_call_result(interp, interp->api->PyObject_GetIter(operation->object),
				  &operation->result);
}

struct gorgon_error *gorgon_pyobject_iterate(struct gorgon_pyobject *object,
					     struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = iterate_object};

	return make_from(object, &operation, ret);
}

// PyIter_Next() ends the process for an object that is no iterator; next_object() raises TypeError.
static struct gorgon_error *next_object(struct gorgon_interp *interp, struct operation *operation)
{
	const struct gorgon_api *api = interp->api;

	if (!api->PyIter_Check(operation->object)) {
		api->PyErr_SetString(*api->PyExc_TypeError,
				     "gorgon_pyobject_next: not an iterator");
		return gorgon_call_fail(interp);
	}
	operation->result = api->PyIter_Next(operation->object);
	return operation->result || !api->PyErr_Occurred() ? NULL : gorgon_call_fail(interp);
}

struct gorgon_error *gorgon_pyobject_next(struct gorgon_pyobject *iterator,
					  struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = next_object};

	return make_from(iterator, &operation, ret);
}

// --- values and types -----------------------------------------------------------------------

static struct gorgon_error *get_object_value(struct gorgon_interp *interp,
					     struct operation *operation)
{
	return gorgon_value_from_python(interp, operation->object, "object", operation->copy);
}

struct gorgon_error *gorgon_pyobject_get_value(struct gorgon_pyobject *object,
					       struct gorgon_value *ret)
{
	struct operation operation = {.fn = get_object_value, .copy = ret};

	return operate_on(object, &operation);
}

static struct gorgon_error *get_object_type(struct gorgon_interp *interp,
					    struct operation *operation)
{
	operation->result = (PyObject *)Py_TYPE(operation->object);
	interp->api->Py_IncRef(operation->result);
	return NULL;
}

struct gorgon_error *gorgon_pyobject_get_type(struct gorgon_pyobject *object,
					      struct gorgon_pyobject **ret)
{
	struct operation operation = {.fn = get_object_type};

	return make_from(object, &operation, ret);
}

static struct gorgon_error *is_object_instance(struct gorgon_interp *interp,
					       struct operation *operation)
{
	PyObject *type = gorgon_held_object(operation->type, interp);
	int status;

	if (!type)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"interpreter %u: the type is of interpreter %u, expected the object's",
			interp->number, operation->type->number);
	status = interp->api->PyObject_IsInstance(operation->object, type);
	operation->answer = status > 0;
	return done_with_object(interp, status);
}

struct gorgon_error *gorgon_pyobject_is_instance(struct gorgon_pyobject *object,
						 const struct gorgon_pyobject *type, bool *ret)
{
	struct operation operation = {.fn = is_object_instance, .type = type};
	struct gorgon_error *err = operate_on(object, &operation);

	if (!err)
		*ret = operation.answer;
	return err;
}
