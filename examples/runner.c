// SPDX-License-Identifier: MIT
// The library of custom_library, in C. Compiled with CPython's headers as any extension.

#include <Python.h>

#include "runner.h"

bool runner_evaluate(const char *expression, char *text, size_t size)
{
	PyGILState_STATE gil = PyGILState_Ensure();
	PyObject *globals = PyModule_GetDict(PyImport_AddModule("__main__")), *shown;
	PyObject *result = PyRun_String(expression, Py_eval_input, globals, globals);
	PyObject *type = NULL, *value = NULL, *traceback = NULL;
	bool ok = result;

	host_log(expression);
	if (!ok)
		PyErr_Fetch(&type, &value, &traceback);
	shown = PyObject_Str(ok ? result : value);
	snprintf(text, size, "%s", shown ? PyUnicode_AsUTF8(shown) : "(no text)");
	Py_XDECREF(shown);
	Py_XDECREF(result);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	PyGILState_Release(gil);
	return ok;
}
