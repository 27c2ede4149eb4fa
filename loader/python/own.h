/* SPDX-License-Identifier: MIT */
/* The CPython that the process itself runs. See own.c. */
#ifndef GORGON_PYTHON_OWN_H
#define GORGON_PYTHON_OWN_H

#include "api.h"

/* Make the module `gorgon`, of a copy or of this CPython; see module.c. */
PyObject *gorgon_module_init(struct gorgon_interp *interp);

/* An array over the memory of an object of this CPython, which stays alive and is not resized
 * as long as the array is held. NULL: a Python exception is set. */
struct gorgon_array *gorgon_own_pin(struct gorgon_interp *own, PyObject *object,
				    const struct gorgon_array_layout *layout, bool writable);
/* The same for memory at @lowest_item that an object keeps alive. */
struct gorgon_array *gorgon_own_hold(struct gorgon_interp *own, PyObject *object, void *lowest_item,
				     const struct gorgon_array_layout *layout, bool writable);

/* Functions of its module; each is behind a thunk. */
PyObject *gorgon_own_files(PyObject *self, PyObject *unused, struct gorgon_interp *own);
PyObject *gorgon_own_create(PyObject *self, PyObject *args, struct gorgon_interp *own);
PyObject *gorgon_own_call(PyObject *self, PyObject *args, struct gorgon_interp *own);
PyObject *gorgon_own_interrupt(PyObject *self, PyObject *args, struct gorgon_interp *own);
PyObject *gorgon_own_destroy(PyObject *self, PyObject *args, struct gorgon_interp *own);

#endif
