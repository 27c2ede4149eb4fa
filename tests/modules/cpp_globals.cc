// SPDX-License-Identifier: MIT
// An extension module in C++: global objects of the C++ library, and exceptions that
// come from Python's and end as Python's.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace
{
int constructed;

struct counted {
	counted()
	{
		constructed++;
	}
} counted_once;

std::string text("begin");
auto shared = std::make_shared<std::string>("shared");
int guards; // destructors that ran while an exception passed

struct guard {
	~guard()
	{
		guards++;
	}
};

std::string take_python_error()
{
	PyObject *type, *value, *trace;
	std::string ret;

	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	PyObject *message = PyObject_Str(value);
	ret = std::string(((PyTypeObject *)type)->tp_name) + ": " + PyUnicode_AsUTF8(message);
	Py_DECREF(message);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	return ret;
}

PyObject *call_or_throw(PyObject *fn)
{
	guard here;
	PyObject *ret = PyObject_CallNoArgs(fn);

	if (!ret)
		throw std::runtime_error(take_python_error());
	return ret;
}

// What fn() returns, or the text of the C++ exception that its error became.
PyObject *call(PyObject *, PyObject *fn)
{
	try {
		return call_or_throw(fn);
	} catch (const std::runtime_error &e) {
		return PyUnicode_FromFormat("caught %s", e.what());
	}
}

// The same, but the C++ exception becomes Python's again.
PyObject *pass_on(PyObject *, PyObject *fn)
{
	try {
		return call_or_throw(fn);
	} catch (const std::exception &e) {
		PyErr_SetString(PyExc_RuntimeError, e.what());
		return nullptr;
	}
}

PyObject *append(PyObject *, PyObject *more)
{
	text += PyUnicode_AsUTF8(more);
	return PyUnicode_FromString(text.c_str());
}

// How often the shared string is used while there are @count copies of its pointer.
PyObject *share(PyObject *, PyObject *count)
{
	std::unique_ptr<std::shared_ptr<std::string>[]> copies(
		new std::shared_ptr<std::string>[PyLong_AsSize_t(count)]);

	for (size_t i = 0; i < PyLong_AsSize_t(count); i++)
		copies[i] = shared;
	return Py_BuildValue("sl", shared->c_str(), shared.use_count());
}

PyObject *counts(PyObject *, PyObject *)
{
	return Py_BuildValue("ii", constructed, guards);
}

PyMethodDef methods[] = {
	{"call", call, METH_O, nullptr},	 {"pass_on", pass_on, METH_O, nullptr},
	{"append", append, METH_O, nullptr},	 {"share", share, METH_O, nullptr},
	{"counts", counts, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cpp_globals", nullptr, -1, methods,
			  nullptr, nullptr, nullptr, nullptr};
} // namespace

PyMODINIT_FUNC PyInit_cpp_globals()
{
	return PyModule_Create(&definition);
}
