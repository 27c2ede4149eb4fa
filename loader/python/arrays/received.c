// SPDX-License-Identifier: MIT
// Received arrays: an object of our own with the buffer protocol, which holds an array.

#define _GNU_SOURCE
#include "received.h"
#include "array.h"
#include "charges.h"
#include "ns/ns.h"
#include "process/interpose.h"
#include "process/memory/zone_heap.h"
#include "python/calls/raise.h"
#include "python/calls/thunks.h"

#include <stdlib.h>

struct array_object {
	PyObject_HEAD
	struct gorgon_received *received;
	bool writable;
};

// The type is made with the module `gorgon`, which a program need not have imported when the host
// passes it an array.
static bool has_type(struct gorgon_interp *interp)
{
	if (!interp->array_type)
		API(interp, Py_DecRef)(API(interp, PyImport_ImportModule)("gorgon"));
	return interp->array_type;
}

PyObject *gorgon_received_object_of(struct gorgon_interp *interp, struct gorgon_array *array,
				       bool writable)
{
	struct gorgon_received *received = calloc(1, sizeof(*received));
	struct array_object *ret = NULL;
	bool charged = received && has_type(interp) && gorgon_charges_enter(array, interp);

	if (charged)
		ret = (struct array_object *)API(interp, PyType_GenericAlloc)(interp->array_type,
									      0);
	if (!ret) {
		if (charged)
			gorgon_charges_leave(array, gorgon_charges_holder(interp));
		gorgon_array_release(array);
		free(received);
		return API(interp, PyErr_Occurred)() ? NULL : API(interp, PyErr_NoMemory)();
	}
	received->array = array;
	gorgon_shared_refs_add(&interp->shared_refs, &interp->shared_refs.arrays, &received->link);
	ret->received = received;
	ret->writable = writable;
	return (PyObject *)ret;
}

struct gorgon_array *gorgon_received_array(PyObject *self, bool *writable)
{
	struct array_object *object = (struct array_object *)self;

	*writable = object->writable;
	return object->received->array;
}

void gorgon_received_dealloc(PyObject *self, struct gorgon_interp *interp)
{
	struct gorgon_received *received = ((struct array_object *)self)->received;
	PyObject *type = (PyObject *)Py_TYPE(self);

	if (received) {
		gorgon_shared_refs_remove(&interp->shared_refs, &received->link);
		gorgon_charges_leave(received->array, gorgon_charges_holder(interp));
		gorgon_array_release(received->array);
		free(received);
	}
	API(interp, PyObject_Free)(self);
	API(interp, Py_DecRef)(type);
}

// Whether a consumer's demands are met (the C API's "Buffer request types").
static const char *unmet(struct gorgon_interp *interp, const Py_buffer *view, int flags)
{
	__typeof__(&PyBuffer_IsContiguous) is_contiguous = API(interp, PyBuffer_IsContiguous);

	if ((flags & PyBUF_WRITABLE) && view->readonly)
		return "the array was received read-only";
	if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !is_contiguous(view, 'C'))
		return "the array is not C-contiguous";
	if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_contiguous(view, 'F'))
		return "the array is not Fortran contiguous";
	if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !is_contiguous(view, 'A'))
		return "the array is not contiguous";
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !is_contiguous(view, 'C'))
		return "the array is not C-contiguous, and strides are not asked for";
	return NULL;
}

int gorgon_received_getbuffer(PyObject *self, Py_buffer *view, int flags,
			   struct gorgon_interp *interp)
{
	struct array_object *object = (struct array_object *)self;
	const struct gorgon_array *array = object->received->array;
	const struct gorgon_array_layout *layout = &array->layout;
	const char *problem;
	Py_ssize_t count = 1;

	for (unsigned i = 0; i < layout->ndim; i++)
		count *= layout->shape[i];
	*view = (Py_buffer){
		.buf = array->data,
		.len = count * (Py_ssize_t)layout->item_size,
		.itemsize = (Py_ssize_t)layout->item_size,
		.readonly = !object->writable,
		.ndim = (int)layout->ndim,
		.format = (char *)(*array->format.buffer ? array->format.buffer : layout->format),
		.shape = (Py_ssize_t *)layout->shape,
		.strides = (Py_ssize_t *)layout->strides,
	};
	if ((problem = unmet(interp, view, flags))) {
		API(interp, PyErr_SetString)(*API(interp, PyExc_BufferError), problem);
		return -1;
	}
	if (!(flags & PyBUF_FORMAT))
		view->format = NULL;
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
		view->strides = NULL;
	if (!(flags & PyBUF_ND)) {
		view->shape = NULL;
		view->ndim = 1;
	}
	API(interp, Py_IncRef)(self);
	view->obj = self;
	return 0;
}

struct gorgon_array *gorgon_received_copy(struct gorgon_interp *interp, const Py_buffer *view,
					 const struct gorgon_array_layout *layout, bool writable)
{
	struct gorgon_array_layout tight = *layout;
	struct gorgon_block *block = gorgon_block_create_for_copy((size_t)view->len);
	struct gorgon_array *ret = NULL;
	struct gorgon_error *err;

	if (!block)
		return (void *)API(interp, PyErr_NoMemory)();
	tight.strides = NULL;
	block->counted = gorgon_charges_holder(interp);
	err = gorgon_array_create_in(block, block->data, &tight, writable, NULL, &ret);
	gorgon_block_release(block);
	if (err) {
		gorgon_raise(interp, err);
		return NULL;
	}
	if (!API(interp, PyBuffer_ToContiguous)(ret->data, view, view->len, 'C'))
		return ret;
	gorgon_array_release(ret);
	return NULL;
}

// The methods, to which the type keeps a pointer.
static PyMethodDef *create_methods(struct gorgon_interp *interp)
{
	PyMethodDef *ret = gorgon_zone_heap_zeros(
		interp->in_zone ? interp->ns->usage.zone_heap : NULL, 3 * sizeof(*ret));

	if (!ret)
		return NULL;
	ret[0] = (PyMethodDef){
		"__dlpack__", (PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_DLPACK),
		METH_VARARGS | METH_KEYWORDS, "For from_dlpack() of other libraries."};
	ret[1] = (PyMethodDef){
		"__dlpack_device__",
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_DLPACK_DEVICE),
		METH_NOARGS, "The CPU: (1, 0)."};
	return ret;
}

bool gorgon_received_init(struct gorgon_interp *interp)
{
	PyMethodDef *methods = interp->array_methods ?: create_methods(interp);
	PyType_Slot slots[] = {
		{Py_tp_methods, methods},
		{Py_tp_doc, "Memory that was received from another interpreter or the host."},
		{Py_tp_dealloc, gorgon_interpose_thunk(interp->ns, GORGON_THUNK_ARRAY_DEALLOC)},
		{Py_bf_getbuffer, gorgon_interpose_thunk(interp->ns, GORGON_THUNK_ARRAY_GETBUFFER)},
		{0, NULL},
	};
	PyType_Spec spec = {
		.name = "gorgon.Array",
		.basicsize = sizeof(struct array_object),
		.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
		.slots = slots,
	};

	interp->array_methods = methods;
	if (!methods) {
		API(interp, PyErr_NoMemory)();
		return false;
	}
	interp->array_type = API(interp, PyType_FromSpec)(&spec);
	return interp->array_type;
}
