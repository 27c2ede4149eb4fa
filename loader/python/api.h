/* SPDX-License-Identifier: MIT */
/*
 * The C API of one interpreter.
 *
 * libgorgon is linked to no libpython. Of CPython's headers only structures of the stable
 * ABI (PEP 384) are used, and every function and object is taken by its address in the
 * interpreter's own copy. So macros of the headers can be used only if they call nothing.
 */
#ifndef GORGON_PYTHON_API_H
#define GORGON_PYTHON_API_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "python/calls/interp.h"

/* One function or variable of this interpreter's C API, typed as the header declares it. */
#define API(interp, name) ((__typeof__(&name))gorgon_interp_find_symbol(interp, #name))

/* The functions and objects that calls of the host use, looked up once. */
#define GORGON_API_NAMES(X) \
	X(Py_AddPendingCall) X(Py_CompileString) X(Py_DecRef) X(Py_FinalizeEx) X(Py_IncRef) \
	X(_Py_NoneStruct) X(_Py_TrueStruct) X(PyBool_FromLong) X(PyBool_Type) \
	X(PyBuffer_Release) X(PyByteArray_AsString) X(PyByteArray_Size) X(PyByteArray_Type) \
	X(PyBytes_AsStringAndSize) X(PyBytes_FromStringAndSize) X(PyDict_New) X(PyDict_Next) \
	X(PyDict_SetItem) X(PyDict_Size) X(PyErr_CheckSignals) X(PyErr_Clear) X(PyErr_Fetch) \
	X(PyErr_NoMemory) X(PyErr_NormalizeException) X(PyErr_Occurred) X(PyErr_SetNone) \
	X(PyErr_SetString) X(PyEval_EvalCode) X(PyEval_RestoreThread) X(PyEval_SaveThread) \
	X(PyExc_KeyboardInterrupt) X(PyExc_TypeError) X(PyException_SetTraceback) \
	X(PyFloat_AsDouble) X(PyFloat_FromDouble) X(PyFloat_Type) X(PyGC_Collect) \
	X(PyGC_Disable) X(PyGC_Enable) X(PyGILState_Ensure) X(PyGILState_Release) \
	X(PyImport_AddModule) X(PyImport_ImportModule) X(PyIter_Check) X(PyIter_Next) \
	X(PyList_Append) X(PyList_AsTuple) X(PyList_GetItem) X(PyList_New) X(PyList_Size) \
	X(PyLong_AsLongLongAndOverflow) X(PyLong_FromLongLong) \
	X(PyModule_GetDict) X(PyObject_Call) X(PyObject_CallFunctionObjArgs) \
	X(PyObject_CallMethod) X(PyObject_GetAttrString) X(PyObject_GetItem) X(PyObject_GetIter) \
	X(PyObject_IsInstance) X(PyObject_SetAttrString) X(PyObject_SetItem) X(PyObject_Str) \
	X(PySequence_InPlaceConcat) X(PySys_GetObject) X(PySys_SetObject) \
	X(PyThreadState_SetAsyncExc) X(PyTuple_GetItem) X(PyTuple_New) X(PyTuple_Size) \
	X(PyType_GetFlags) X(PyType_IsSubtype) X(PyUnicode_AsUTF8AndSize) \
	X(PyUnicode_DecodeFSDefault) X(PyUnicode_FromStringAndSize)

struct gorgon_api {
#define GORGON_API_MEMBER(name) __typeof__(&name) name;
	GORGON_API_NAMES(GORGON_API_MEMBER)
#undef GORGON_API_MEMBER
};

/* The error for a libpython without a function of this name. */
struct gorgon_error *gorgon_api_missing(const struct gorgon_interp *interp, const char *name);

/* Look them up. */
struct gorgon_error *gorgon_api_init(struct gorgon_interp *interp);

#endif
