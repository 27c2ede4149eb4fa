/* SPDX-License-Identifier: MIT */
/* gorgon.send_fd() and gorgon.receive_fd(). See descriptors.c. */
#ifndef GORGON_PYTHON_DESCRIPTORS_H
#define GORGON_PYTHON_DESCRIPTORS_H

#include "python/api.h"

/* Functions of the module `gorgon`; each is behind a thunk. */
PyObject *gorgon_descriptors_send(PyObject *self, PyObject *args, struct gorgon_interp *interp);
PyObject *gorgon_descriptors_receive(PyObject *self, PyObject *args, struct gorgon_interp *interp);

#endif
