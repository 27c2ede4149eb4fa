// SPDX-License-Identifier: MIT
// gorgon.send_fd() and gorgon.receive_fd(): descriptors handed on by name, see
// process/kernel/exchange.c.
//
// The GIL is not held while the keeper is asked: another thread may be what it waits for.

#define _GNU_SOURCE
#include "descriptors.h"
#include "python/arrays/share.h"
#include "python/calls/raise.h"

#include <errno.h>

// An error of the system becomes an OSError.
static PyObject *raise(struct gorgon_interp *interp, struct gorgon_error *err)
{
	if (gorgon_error_code(err) != GORGON_ERROR_OS)
		return gorgon_raise(interp, err);
	errno = gorgon_error_errno(err);
	gorgon_error_destroy(err);
	return API(interp, PyErr_SetFromErrno)(*API(interp, PyExc_OSError));
}

PyObject *gorgon_descriptors_send(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	struct gorgon_error *err;
	const char *name;
	void *thread;
	int fd;

	(void)self;
	if (!API(interp, PyArg_ParseTuple)(args, "is:send_fd", &fd, &name))
		return NULL;
	thread = API(interp, PyEval_SaveThread)();
	err = gorgon_descriptor_send(name, fd);
	API(interp, PyEval_RestoreThread)(thread);
	return err ? raise(interp, err) : gorgon_none(interp);
}

PyObject *gorgon_descriptors_receive(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	struct gorgon_error *err;
	const char *name;
	void *thread;
	int fd;

	(void)self;
	if (!API(interp, PyArg_ParseTuple)(args, "s:receive_fd", &name))
		return NULL;
	thread = API(interp, PyEval_SaveThread)();
	err = gorgon_descriptor_receive(name, &fd);
	API(interp, PyEval_RestoreThread)(thread);
	return err ? raise(interp, err) : API(interp, PyLong_FromLong)(fd);
}
