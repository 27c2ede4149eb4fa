// SPDX-License-Identifier: MIT
// gorgon.share(), gorgon.receive() and gorgon.withdraw(): arrays between interpreters.
//
// A shared array must outlive the interpreter that shares it, so its memory must be the host's:
// memory of numpy with our data handler (data_handler.c), or of an array that was received. share()
// finds the block of such memory through the objects that the array is a view of (`base` of
// ndarrays, `obj` of memoryviews). Other memory is copied into memory of the host, once, and only
// when the program asks for it.
//
// A receiver gets an object of our own with the buffer protocol, which holds the array, and numpy
// makes an ndarray over it, which holds the object. The buffer protocol knows no dates: they are
// passed as integers, and the receiving numpy makes a view of dates.

#define _GNU_SOURCE
#include "share.h"
#include "array.h"
#include "pin.h"
#include "received.h"
#include "base/error.h"
#include "ns/ns.h"
#include "python/calls/raise.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 64 // views of views; numpy makes one, and nothing may lead us in circles

// --- share ------------------------------------------------------------------------------

// The object that @object is a view of, or NULL. Releases @object.
static PyObject *step_to_base(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *ret = gorgon_find_attribute(interp, object, "base");

	if (!ret && !API(interp, PyErr_Occurred)())
		ret = gorgon_find_attribute(interp, object, "obj");
	API(interp, Py_DecRef)(object);
	return ret;
}

// The host's block that an object's memory lies in, or NULL, perhaps with an exception. It
// lives as long as the object.
static struct gorgon_block *find_block(struct gorgon_interp *interp, PyObject *object)
{
	struct gorgon_block *ret = NULL;
	bool writable;

	API(interp, Py_IncRef)(object);
	for (int i = 0; object && !ret && i < CHAIN_MAX; i++) {
		if ((void *)Py_TYPE(object) == interp->array_type)
			ret = gorgon_received_array(object, &writable)->block;
		else
			ret = gorgon_data_handler_block(interp, object);
		if (!ret && API(interp, PyErr_Occurred)())
			break;
		object = step_to_base(interp, object);
	}
	API(interp, Py_DecRef)(object);
	return ret;
}

// The view's memory, which lies in @block, as an array.
static struct gorgon_array *array_over(struct gorgon_interp *interp, struct gorgon_block *block,
				       const Py_buffer *view,
				       const struct gorgon_array_layout *layout, bool writable)
{
	struct gorgon_array *ret = NULL;
	struct gorgon_error *err;

	err = gorgon_array_create_in(block, view->buf, layout, writable, interp, &ret);
	if (err)
		gorgon_raise(interp, err);
	return ret;
}

static struct gorgon_array *array_of_layout(struct gorgon_interp *interp, PyObject *object,
					    const Py_buffer *view,
					    const struct gorgon_array_layout *layout,
					    const struct gorgon_share_opts *manner)
{
	struct gorgon_block *block;

	if (manner->copy)
		return gorgon_received_copy(interp, view, layout, manner->writable);
	block = view->suboffsets ? NULL : find_block(interp, object);
	if (API(interp, PyErr_Occurred)())
		return NULL;
	if (manner->writable && view->readonly) {
		API(interp, PyErr_SetString)(
			*API(interp, PyExc_ValueError),
			"the array is read-only and cannot be shared with writable=True");
		return NULL;
	}
	if (block)
		return array_over(interp, block, view, layout, manner->writable);
	// The object may be of a library that does not tell what the object is a view of.
	block = view->suboffsets ? NULL : gorgon_shared_refs_find(&interp->shared_refs, view->buf);
	if (block) {
		struct gorgon_array *ret =
			array_over(interp, block, view, layout, manner->writable);

		gorgon_block_release(block);
		return ret;
	}
	if (interp->own && view->len && !view->suboffsets)
		return gorgon_pin_buffer(interp, object, layout, manner->writable);
	// Empty, or with memory that cannot be shared in place.
	if (manner->or_copy || interp->own)
		return gorgon_received_copy(interp, view, layout, manner->writable);
	return gorgon_raise_not_shareable(interp);
}

static struct gorgon_array *array_of_view(struct gorgon_interp *interp, PyObject *object,
					  const Py_buffer *view, const char *typestr,
					  const struct gorgon_share_opts *manner)
{
	struct gorgon_array_layout layout = {
		.format = typestr ?: view->format ?: "B",
		.item_size = (size_t)view->itemsize,
		.ndim = (unsigned)view->ndim,
		.shape = view->shape,
		.strides = view->strides,
	};

	if (gorgon_format_has_objects(layout.format)) {
		API(interp, PyErr_SetString)(*API(interp, PyExc_TypeError),
					     "an array of Python objects cannot be shared: objects "
					     "belong to one interpreter");
		return NULL;
	}
	return array_of_layout(interp, object, view, &layout, manner);
}

// The object whose buffer is shared: @object, or for an ndarray of dates its view as integers. In
// the second case
// @dtype is the dtype's name, to be released.
static PyObject *buffer_owner(struct gorgon_interp *interp, PyObject *object, PyObject **dtype)
{
	PyObject *kind, *type = gorgon_find_attribute(interp, object, "dtype");
	bool is_date;

	*dtype = NULL;
	kind = type ? gorgon_find_attribute(interp, type, "char") : NULL;
	is_date = kind && (!API(interp, PyUnicode_CompareWithASCIIString)(kind, "M") ||
			   !API(interp, PyUnicode_CompareWithASCIIString)(kind, "m"));
	API(interp, Py_DecRef)(kind);
	if (is_date) {
		*dtype = API(interp, PyObject_GetAttrString)(type, "str");
		API(interp, Py_DecRef)(type);
		return *dtype ? API(interp, PyObject_CallMethod)(object, "view", "s", "i8") : NULL;
	}
	API(interp, Py_DecRef)(type);
	if (API(interp, PyErr_Occurred)())
		return NULL;
	API(interp, Py_IncRef)(object);
	return object;
}

static struct gorgon_array *array_of(struct gorgon_interp *interp, PyObject *object,
				     const struct gorgon_share_opts *manner)
{
	static const struct gorgon_share_opts tensors = {.or_copy = true, .writable = true};
	struct gorgon_share_opts crossing = {.or_copy = true};
	struct gorgon_array *ret = NULL;
	PyObject *owner, *dtype;
	Py_buffer view;

	if (!API(interp, PyObject_CheckBuffer)(object) && gorgon_dlpack_is_offered(interp, object))
		return gorgon_dlpack_array_of(interp, object, manner ?: &tensors);
	owner = buffer_owner(interp, object, &dtype);
	if (owner && !API(interp, PyObject_GetBuffer)(owner, &view, PyBUF_FULL_RO)) {
		const char *typestr =
			dtype ? API(interp, PyUnicode_AsUTF8AndSize)(dtype, NULL) : NULL;

		crossing.writable = !view.readonly;
		if (typestr || !dtype)
			ret = array_of_view(interp, owner, &view, typestr, manner ?: &crossing);
		API(interp, PyBuffer_Release)(&view);
	}
	API(interp, Py_DecRef)(owner);
	API(interp, Py_DecRef)(dtype);
	return ret;
}

// The mask of one of numpy's masked arrays that has masked items, or NULL, perhaps with an
// exception.
static PyObject *find_mask(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *masked = gorgon_find_attribute(interp, object, "harden_mask"), *mask, *ndim;
	long count;

	if (!masked)
		return NULL;
	API(interp, Py_DecRef)(masked);
	mask = gorgon_find_attribute(interp, object, "mask");
	ndim = mask ? gorgon_find_attribute(interp, mask, "ndim") : NULL;
	count = ndim ? API(interp, PyLong_AsLong)(ndim) : 0;
	API(interp, Py_DecRef)(ndim);
	if (count)
		return mask;
	API(interp, Py_DecRef)(mask);
	return NULL;
}

struct gorgon_array *gorgon_share_array_of(struct gorgon_interp *interp, PyObject *object,
					   const struct gorgon_share_opts *manner)
{
	PyObject *mask = find_mask(interp, object);
	struct gorgon_array *ret;

	if (!mask)
		return API(interp, PyErr_Occurred)() ? NULL : array_of(interp, object, manner);
	ret = array_of(interp, object, manner);
	if (ret && !(ret->mask = array_of(interp, mask, manner))) {
		gorgon_array_release(ret);
		ret = NULL;
	}
	API(interp, Py_DecRef)(mask);
	return ret;
}

bool gorgon_share_is_array(struct gorgon_interp *interp, PyObject *object)
{
	return API(interp, PyObject_CheckBuffer)(object) ||
	       gorgon_dlpack_is_offered(interp, object);
}

PyObject *gorgon_share_share(PyObject *self, PyObject *args, PyObject *kwargs,
			     struct gorgon_interp *interp)
{
	static char *keywords[] = {"array", "name", "copy", "writable", NULL};
	struct gorgon_array *array;
	int copy = 0, writable = 0;
	struct gorgon_error *err;
	struct gorgon_share_opts manner;
	PyObject *object;
	const char *name;

	(void)self;
	if (!API(interp, PyArg_ParseTupleAndKeywords)(args, kwargs, "Os|$pp:share", keywords,
						      &object, &name, &copy, &writable))
		return NULL;
	manner = (struct gorgon_share_opts){.copy = copy, .writable = writable};
	array = gorgon_share_array_of(interp, object, &manner);
	if (!array)
		return NULL;
	err = gorgon_array_share_as(interp, array, name);
	gorgon_array_release(array);
	return err ? gorgon_raise(interp, err) : gorgon_none(interp);
}

PyObject *gorgon_share_withdraw(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	struct gorgon_error *err;
	const char *name;

	(void)self;
	if (!API(interp, PyArg_ParseTuple)(args, "s:withdraw", &name))
		return NULL;
	err = gorgon_array_withdraw(name);
	return err ? gorgon_raise(interp, err) : gorgon_none(interp);
}

// --- receive ----------------------------------------------------------------------------

// The module numpy; None where it is not installed.
static PyObject *import_numpy(struct gorgon_interp *interp)
{
	PyObject *util = API(interp, PyImport_ImportModule)("importlib.util"), *spec;

	// Not by importing it: an error of a numpy that is installed and does not load must be
	// seen.
	spec = util ? API(interp, PyObject_CallMethod)(util, "find_spec", "s", "numpy") : NULL;
	API(interp, Py_DecRef)(util);
	if (!spec || spec == API(interp, _Py_NoneStruct))
		return spec;
	API(interp, Py_DecRef)(spec);
	return API(interp, PyImport_ImportModule)("numpy");
}

static PyObject *as_ndarray(struct gorgon_interp *interp, PyObject *numpy, PyObject *object,
			    const struct gorgon_array *array)
{
	PyObject *plain = API(interp, PyObject_CallMethod)(numpy, "asarray", "O", object), *ret;

	if (!plain || !array->format.differs)
		return plain;
	ret = API(interp, PyObject_CallMethod)(plain, "view", "s", array->layout.format);
	API(interp, Py_DecRef)(plain);
	return ret;
}

// A masked array of @data. Releases @data.
static PyObject *as_masked(struct gorgon_interp *interp, PyObject *data, struct gorgon_array *array,
			   bool writable)
{
	PyObject *mask = gorgon_share_object_of(interp, gorgon_array_retain(array), writable);
	PyObject *module = mask ? API(interp, PyImport_ImportModule)("numpy.ma") : NULL;
	PyObject *ret =
		module ? API(interp, PyObject_CallMethod)(module, "MaskedArray", "OO", data, mask)
		       : NULL;

	API(interp, Py_DecRef)(module);
	API(interp, Py_DecRef)(mask);
	API(interp, Py_DecRef)(data);
	return ret;
}

PyObject *gorgon_share_object_of(struct gorgon_interp *interp, struct gorgon_array *array,
				 bool writable)
{
	bool plain = array->plain;
	PyObject *object = gorgon_received_object_of(interp, array, writable), *numpy, *ret = NULL;

	if (plain)
		return object;
	numpy = object ? import_numpy(interp) : NULL;
	if (numpy == API(interp, _Py_NoneStruct))
		ret = API(interp, PyMemoryView_FromObject)(object);
	else if (numpy)
		ret = as_ndarray(interp, numpy, object, array);
	if (ret && array->mask && numpy != API(interp, _Py_NoneStruct))
		ret = as_masked(interp, ret, array->mask, writable);
	API(interp, Py_DecRef)(numpy);
	API(interp, Py_DecRef)(object);
	return ret;
}

PyObject *gorgon_share_receive(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp)
{
	static char *keywords[] = {"name", "writable", "plain", NULL};
	struct gorgon_array *array;
	struct gorgon_error *err;
	const char *name;
	int writable = 0, plain = 0;

	(void)self;
	if (!API(interp, PyArg_ParseTupleAndKeywords)(args, kwargs, "s|$pp:receive", keywords,
						      &name, &writable, &plain))
		return NULL;
	if ((err = gorgon_array_receive(name, &array)))
		return gorgon_raise(interp, err);
	if (writable && !array->writable) {
		gorgon_array_release(array);
		return API(interp, PyErr_Format)(*API(interp, PyExc_PermissionError),
						 "array \"%s\": was not shared with writable=True",
						 name);
	}
	return plain ? gorgon_received_object_of(interp, array, writable)
		     : gorgon_share_object_of(interp, array, writable);
}
