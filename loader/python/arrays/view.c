// SPDX-License-Identifier: MIT
// Views: the memory of a Python object, for the host, without a copy.
//
// The object exports its buffer to a memoryview, which the view holds as the host holds any
// object (held.c). So the memory stays where it is until the host has released the view, and an
// object that could move it refuses to: BufferError.

#define _GNU_SOURCE
#include "base/error.h"
#include "python/calls/held.h"

#include <stdlib.h>
#include <string.h>

struct gorgon_view {
	struct gorgon_pyobject *held;
	struct gorgon_array_info info;
	ptrdiff_t numbers[]; // shape, then strides, then the format's text
};

struct viewing {
	struct gorgon_pyobject *object;
	bool writable;
	struct gorgon_view *ret;
};

static struct gorgon_view *view_of_buffer(const Py_buffer *buffer)
{
	size_t ndim = (size_t)buffer->ndim, format_size = strlen(buffer->format) + 1;
	struct gorgon_view *ret =
		malloc(sizeof(*ret) + 2 * ndim * sizeof(*ret->numbers) + format_size);

	if (!ret)
		return NULL;
	for (size_t i = 0; i < ndim; i++) {
		ret->numbers[i] = buffer->shape[i];
		ret->numbers[ndim + i] = buffer->strides[i];
	}
	ret->info = (struct gorgon_array_info){
		.data = buffer->buf,
		.layout =
			{
				.format = memcpy(ret->numbers + 2 * ndim, buffer->format,
						 format_size),
				.item_size = (size_t)buffer->itemsize,
				.ndim = (unsigned)ndim,
				.shape = ret->numbers,
				.strides = ret->numbers + ndim,
			},
		.writable = !buffer->readonly,
	};
	return ret;
}

static struct gorgon_error *create_view(struct gorgon_interp *interp, void *ctx)
{
	struct viewing *viewing = ctx;
	PyObject *memory = API(interp, PyMemoryView_FromObject)(viewing->object->object);
	int flags = viewing->writable ? PyBUF_FULL : PyBUF_FULL_RO;
	struct gorgon_view *view;
	Py_buffer buffer;

	if (!memory || API(interp, PyObject_GetBuffer)(memory, &buffer, flags)) {
		API(interp, Py_DecRef)(memory);
		return gorgon_call_fail(interp);
	}
	if (buffer.suboffsets) {
		API(interp, PyBuffer_Release)(&buffer);
		API(interp, Py_DecRef)(memory);
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"view: the object's memory is in several pieces (suboffsets)");
	}
	view = view_of_buffer(&buffer);
	API(interp, PyBuffer_Release)(&buffer);
	if (view)
		view->held = gorgon_held_add(interp, memory);
	if (!view || !view->held) {
		API(interp, Py_DecRef)(memory);
		free(view);
		return &gorgon_error_nomem;
	}
	viewing->ret = view;
	return NULL;
}

struct gorgon_error *gorgon_pyobject_view(struct gorgon_pyobject *object, bool writable,
					  struct gorgon_view **ret)
{
	struct viewing viewing = {object, writable, NULL};
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_held_enter(object, &interp);

	if (err)
		return err;
	err = gorgon_call_python(interp, create_view, &viewing);
	gorgon_held_leave(interp);
	if (!err)
		*ret = viewing.ret;
	return err;
}

void gorgon_view_get_info(const struct gorgon_view *view, struct gorgon_array_info *ret)
{
	*ret = view->info;
}

void gorgon_view_release(struct gorgon_view *view)
{
	if (!view)
		return;
	gorgon_pyobject_release(view->held);
	free(view);
}
