// SPDX-License-Identifier: MIT
// An extension module for debugger sessions: variables of every kind, calls into a library
// with debug information and into one without, an exception. It prints what a debugger
// must show, computed here, before it reaches the place where sessions stop.

#include <Python.h>

#include <cstdio>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int walk_dep_twice(int number);
extern "C" int walk_plain_next(int step);
extern "C" int walk_plain_get(void);
extern "C" int walk_plain_get_tls(void);

int walk_counter = 5;
static int walk_static = 7;
thread_local int walk_depth = 2;
static thread_local double walk_ratio = 0.5;

namespace walk_space {
thread_local long walk_inside = 9;
}

static int walk_throw(int number)
{
	throw std::runtime_error(number % 2 ? "odd" : "even");
}

static int walk_catch(int number)
{
	try {
		return walk_throw(number);
	} catch (const std::exception &error) {
		return error.what()[0] == 'o' ? 1 : 0;
	}
}

static int walk_step(int number, int local, unsigned seconds)
{
	int twice = walk_dep_twice(local); // the line of the call
	int odd = walk_catch(number); // the line after the call

	if (seconds) { // where the walk stops
		Py_BEGIN_ALLOW_THREADS
		sleep(seconds); // where attached sessions find it
		Py_END_ALLOW_THREADS
	}
	return twice + odd;
}

static PyObject *walk_go(PyObject *, PyObject *args)
{
	int number, seconds = 0;

	if (!PyArg_ParseTuple(args, "i|i", &number, &seconds))
		return nullptr;
	walk_counter += number;
	walk_static += 2 * number;
	walk_depth += 3 * number;
	walk_ratio += number;
	walk_space::walk_inside += 4 * number;
	walk_plain_next(number);
	printf("walk: number %d lwp %ld walk_counter %d walk_static %d walk_depth %d walk_ratio %g "
	       "walk_inside %ld walk_plain_count %d walk_plain_tls %d local %d twice %d odd %d\n",
	       number, syscall(SYS_gettid), walk_counter, walk_static, walk_depth, walk_ratio,
	       walk_space::walk_inside, walk_plain_get(), walk_plain_get_tls(), number * 10,
	       number * 20, number % 2);
	fflush(stdout);
	return PyLong_FromLong(walk_step(number, number * 10, seconds));
}

static PyMethodDef methods[] = {
	{"go", walk_go, METH_VARARGS, "Take a step, and wait for some seconds in it."},
	{nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, "walk", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

PyMODINIT_FUNC PyInit_walk(void)
{
	return PyModule_Create(&definition);
}
