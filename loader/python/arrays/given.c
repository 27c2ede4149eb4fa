// SPDX-License-Identifier: MIT What an interpreter gives away: arrays in results of calls, and
// the memory beside the pickles of an executor's results and questions
// (../../../python/gorgon/_crossing.py), which comes as objects of pickle.PickleBuffer.
//
// Who gets it has it alone, as with processes. So memory crosses without a copy only if it is a
// block of one of numpy's arrays, and nothing refers to the array but the caller, or but the
// buffer. A global, a cache, a closure, a cycle and a view all count as references of the array,
// or of the array that it is a view of. Everything else is copied.

#define _GNU_SOURCE
#include "array.h"
#include "share.h"
#include "python/calls/raise.h"

#include <string.h>

static Py_ssize_t references(struct gorgon_interp *interp, PyObject *object)
{
	// A function from 3.14 on, where the number is no longer the whole word.
	__typeof__(&Py_REFCNT) count = API(interp, Py_REFCNT);

	return count ? count(object) : Py_REFCNT(object);
}

// Exactly numpy's type: code of another one could keep the memory without a reference.
static bool is_ndarray(struct gorgon_interp *interp, PyObject *object)
{
	PyObject *name = API(interp, PyUnicode_FromString)("numpy"), *module, *type;
	bool ret;

	module = name ? API(interp, PyImport_GetModule)(name) : NULL;
	type = module ? gorgon_find_attribute(interp, module, "ndarray") : NULL;
	ret = (PyObject *)Py_TYPE(object) == type;
	API(interp, Py_DecRef)(name);
	API(interp, Py_DecRef)(module);
	API(interp, Py_DecRef)(type);
	return ret;
}

// The array that owns the memory, to be released, if this one is all that refers to it: a view has
// one step to its owner.
static PyObject *sole_owner(struct gorgon_interp *interp, PyObject *array)
{
	PyObject *base = gorgon_find_attribute(interp, array, "base");

	if (base == API(interp, _Py_NoneStruct)) {
		API(interp, Py_DecRef)(base);
		API(interp, Py_IncRef)(array);
		return array;
	}
	// The view refers to it, and this function.
	if (base && references(interp, base) == 2 && is_ndarray(interp, base))
		return base;
	API(interp, Py_DecRef)(base);
	return NULL;
}

// The block of an array to which there are @count references, all of them the caller's; it lives
// as long as the array.
static struct gorgon_block *find_sole_block(struct gorgon_interp *interp, PyObject *array,
					    Py_ssize_t count)
{
	struct gorgon_block *ret = NULL;
	PyObject *owner;

	if (references(interp, array) != count || !is_ndarray(interp, array))
		return NULL;
	owner = sole_owner(interp, array);
	if (owner)
		ret = gorgon_data_handler_block(interp, owner);
	API(interp, Py_DecRef)(owner);
	// A name holds the block, too (share.c).
	return ret && __atomic_load_n(&ret->count, __ATOMIC_ACQUIRE) == 1 ? ret : NULL;
}

// The bytes of a buffer, without a copy if they are all of the block: whoever gets them may make
// an array of that.
static struct gorgon_array *bytes_given(struct gorgon_interp *interp, PyObject *buffer,
					const Py_buffer *view)
{
	struct gorgon_array_layout layout = {
		.format = "B", .item_size = 1, .ndim = 1, .shape = &(ptrdiff_t){view->len}};
	// The buffer and the view refer to the array.
	struct gorgon_block *sole = references(interp, buffer) == 1
					    ? find_sole_block(interp, view->obj, 2)
					    : NULL,
			    *block;
	struct gorgon_array *ret = NULL;
	struct gorgon_error *err;

	if (API(interp, PyErr_Occurred)())
		return NULL;
	if (sole && (sole->data != view->buf || sole->size != (size_t)view->len))
		sole = NULL;
	// A copy is the receiver's: it does not count for the interpreter.
	block = sole ?: gorgon_block_create_for_copy((size_t)view->len);
	if (!block)
		return (void *)API(interp, PyErr_NoMemory)();
	if (!sole)
		memcpy(block->data, view->buf, (size_t)view->len);
	err = gorgon_array_create_in(block, block->data, &layout, true, interp, &ret);
	if (err)
		gorgon_raise(interp, err);
	if (!sole)
		gorgon_block_release(block);
	return ret;
}

static struct gorgon_array *buffer_given(struct gorgon_interp *interp, PyObject *buffer)
{
	struct gorgon_array *ret;
	Py_buffer view;

	// What has gaps is a BufferError.
	if (API(interp, PyObject_GetBuffer)(buffer, &view, PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT))
		return NULL;
	ret = bytes_given(interp, buffer, &view);
	API(interp, PyBuffer_Release)(&view);
	return ret;
}

struct gorgon_array *gorgon_share_given(struct gorgon_interp *interp, PyObject *object)
{
	bool is_sole;

	if (interp->ask &&
	    (void *)Py_TYPE(object) == gorgon_interp_find_symbol(interp, "PyPickleBuffer_Type"))
		return buffer_given(interp, object);
	is_sole = find_sole_block(interp, object, 1);
	if (API(interp, PyErr_Occurred)())
		return NULL;
	return is_sole ? gorgon_share_array_of(interp, object, NULL)
		       : gorgon_share_copy(interp, object);
}

struct gorgon_array *gorgon_share_copy(struct gorgon_interp *interp, PyObject *object)
{
	static const struct gorgon_share_opts copies = {.copy = true, .writable = true};

	return gorgon_share_array_of(interp, object, &copies);
}
