/* SPDX-License-Identifier: MIT */
/* Arrays as programs see them, and numpy's memory. See share.c and data_handler.c. */
#ifndef GORGON_PYTHON_SHARE_H
#define GORGON_PYTHON_SHARE_H

#include "python/api.h"
#include "block.h"

/* --- share.c --------------------------------------------------------------------- */

/* Functions of the module `gorgon`; each is behind a thunk. */
PyObject *gorgon_share_share(PyObject *self, PyObject *args, PyObject *kwargs,
			     struct gorgon_interp *interp);
PyObject *gorgon_share_receive(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp);
PyObject *gorgon_share_withdraw(PyObject *self, PyObject *args, struct gorgon_interp *interp);

/* How an object becomes an array. */
struct gorgon_share_opts {
	bool copy;     /* copy its memory in any case */
	bool or_copy;  /* copy its memory if that is not the host's */
	bool writable; /* receivers may write to it */
};

/* An array of an object, held once. @opts NULL: writable if the object is, copied if need be. NULL:
 * a Python exception is set. */
struct gorgon_array *gorgon_share_array_of(struct gorgon_interp *interp, PyObject *object,
					   const struct gorgon_share_opts *opts);
/* Whether an object has memory that can be an array: a buffer, or DLPack's. */
bool gorgon_share_is_array(struct gorgon_interp *interp, PyObject *object);
/* The object that gorgon.receive() returns for an array. Takes over the caller's hold of the array.
 */
PyObject *gorgon_share_object_of(struct gorgon_interp *interp, struct gorgon_array *array,
				 bool writable);
/* --- given.c ----------------------------------------------------------------------- */

/* An array of an object to which the caller has the only reference, unless others keep it or its
 * memory: then it is of a copy. Of an executor's pickle.PickleBuffer its bytes. Held once; NULL:
 * a Python exception is set. */
struct gorgon_array *gorgon_share_given(struct gorgon_interp *interp, PyObject *object);
/* An array of a copy of an object, held once. NULL: a Python exception is set. */
struct gorgon_array *gorgon_share_copy(struct gorgon_interp *interp, PyObject *object);

/* --- dlpack.c ---------------------------------------------------------------------- */

bool gorgon_dlpack_is_offered(struct gorgon_interp *interp, PyObject *object);
struct gorgon_array *gorgon_dlpack_array_of(struct gorgon_interp *interp, PyObject *object,
					    const struct gorgon_share_opts *opts);
/* Methods of received arrays, and the destructor of what they return; behind thunks. */
PyObject *gorgon_dlpack_method(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp);
PyObject *gorgon_dlpack_device(PyObject *self, PyObject *args, struct gorgon_interp *interp);
void gorgon_dlpack_free(PyObject *capsule, struct gorgon_interp *interp);

/* --- data_handler.c ---------------------------------------------------------------- */

PyObject *gorgon_data_handler_use(PyObject *self, PyObject *args, PyObject *kwargs,
				  struct gorgon_interp *interp);

/* _adopt(received, numpy.empty, arguments), behind a thunk: an array that owns the memory of an
 * array that was received, and that nobody else has; None: somebody has it. */
PyObject *gorgon_data_handler_adopt(PyObject *self, PyObject *args, struct gorgon_interp *interp);

/* The block of an ndarray that owns memory of our handler; NULL for all other objects, or with
 * an exception. */
struct gorgon_block *gorgon_data_handler_block(struct gorgon_interp *interp, PyObject *object);

#endif
