// SPDX-License-Identifier: MIT
// Errors of the library as exceptions of Python, and small functions for the functions of the
// module `gorgon`.

#include "raise.h"
#include "base/error.h"

PyObject *gorgon_raise(struct gorgon_interp *interp, struct gorgon_error *err)
{
	PyObject *type;

	switch (gorgon_error_code(err)) {
	case GORGON_ERROR_NOMEM:
		return API(interp, PyErr_NoMemory)();
	case GORGON_ERROR_MISSING:
		type = *API(interp, PyExc_KeyError);
		break;
	default:
		type = *API(interp, PyExc_ValueError);
	}
	API(interp, PyErr_SetString)(type, gorgon_error_message(err));
	gorgon_error_destroy(err);
	return NULL;
}

PyObject *gorgon_none(struct gorgon_interp *interp)
{
	PyObject *ret = API(interp, _Py_NoneStruct);

	API(interp, Py_IncRef)(ret);
	return ret;
}

PyObject *gorgon_find_attribute(struct gorgon_interp *interp, PyObject *object, const char *name)
{
	PyObject *ret = API(interp, PyObject_GetAttrString)(object, name);

	if (!ret && API(interp, PyErr_ExceptionMatches)(*API(interp, PyExc_AttributeError)))
		API(interp, PyErr_Clear)();
	return ret;
}

void *gorgon_raise_not_shareable(struct gorgon_interp *interp)
{
	API(interp, PyErr_SetString)
	(*API(interp, PyExc_ValueError),
	 "the array's memory belongs to this interpreter alone: share a copy with copy=True, or "
	 "call gorgon.use_data_handler() before numpy makes it");
	return NULL;
}
