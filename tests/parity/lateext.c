// SPDX-License-Identifier: MIT
// The extension of the parity sessions that is imported late: by turn 500.

#include <Python.h>

int late_total = 40;

static int late_add(int n)
{
	late_total += n; // in late_add
	return late_total;
}

static PyObject *late_work(PyObject *self, PyObject *args)
{
	int n;

	if (!PyArg_ParseTuple(args, "i", &n))
		return NULL;
	(void)self;
	return PyLong_FromLong(late_add(n));
}

static PyMethodDef methods[] = {
	{"work", late_work, METH_VARARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lateext", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_lateext(void)
{
	return PyModule_Create(&definition); // in PyInit_lateext
}
