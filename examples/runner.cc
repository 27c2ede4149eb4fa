// SPDX-License-Identifier: MIT
// The library of custom_library, in C++: owners of objects, and exceptions that stay inside.

#include <Python.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "runner.h"

namespace {

struct Release {
	void operator()(PyObject *object) const
	{
		Py_DECREF(object);
	}
};
using Object = std::unique_ptr<PyObject, Release>;

class Gil {
public:
	Gil() : state(PyGILState_Ensure())
	{
	}
	~Gil()
	{
		PyGILState_Release(state);
	}

private:
	PyGILState_STATE state;
};

std::string text_of(PyObject *object)
{
	Object shown(PyObject_Str(object));

	if (!shown)
		throw std::runtime_error("(no text)");
	return PyUnicode_AsUTF8(shown.get());
}

std::string evaluate(const char *expression)
{
	PyObject *globals = PyModule_GetDict(PyImport_AddModule("__main__"));
	Object result(PyRun_String(expression, Py_eval_input, globals, globals));

	host_log(expression);
	if (result)
		return text_of(result.get());
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	Object owned_type(type), owned_value(value), owned_traceback(traceback);
	throw std::runtime_error(text_of(value));
}

} // namespace

bool runner_evaluate(const char *expression, char *text, size_t size)
{
	Gil gil;

	try {
		std::snprintf(text, size, "%s", evaluate(expression).c_str());
		return true;
	} catch (const std::exception &error) {
		std::snprintf(text, size, "%s", error.what());
		return false;
	}
}
