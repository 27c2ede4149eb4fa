/* SPDX-License-Identifier: MIT */
/* Objects that hold an array. See received.c. */
#ifndef GORGON_PYTHON_RECEIVED_H
#define GORGON_PYTHON_RECEIVED_H

#include "python/api.h"

/* Make the type of these objects. False: a Python exception is set. */
bool gorgon_received_init(struct gorgon_interp *interp);
/* Functions of that type; each is behind a thunk. */
void gorgon_received_dealloc(PyObject *self, struct gorgon_interp *interp);
int gorgon_received_getbuffer(PyObject *self, Py_buffer *view, int flags,
			      struct gorgon_interp *interp);

/* An object for an array. Takes over the caller's hold of the array. */
PyObject *gorgon_received_object_of(struct gorgon_interp *interp, struct gorgon_array *array,
				    bool writable);
/* The array of such an object; borrowed. */
struct gorgon_array *gorgon_received_array(PyObject *self, bool *writable);

/* A new array with what @view shows, C-contiguous. NULL: a Python exception is set. */
struct gorgon_array *gorgon_received_copy(struct gorgon_interp *interp, const Py_buffer *view,
					  const struct gorgon_array_layout *layout, bool writable);

#endif
