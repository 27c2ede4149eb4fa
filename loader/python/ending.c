// SPDX-License-Identifier: MIT
// How Python ends: as python3 does, or quickly.
//
// At its end CPython collects reference cycles, several times, because each module that goes may
// leave more of them. After `import numpy` that takes longer than the rest of the end. With
// GORGON_END_QUICK gc.freeze() hides all objects from the collector. It is the first function that
// is registered with atexit, so it is the last one to run, after threads have been joined.
// CPython's own end follows. The objects' memory goes with the interpreter's. Only our own loader
// offers this, because only it knows what memory an interpreter has allocated.

#include "ending.h"
#include "api.h"
#include "base/error.h"

// atexit.register(@function, @argument), which may be NULL.
static bool register_at_exit(struct gorgon_interp *interp, PyObject *function, PyObject *argument)
{
	PyObject *atexit = API(interp, PyImport_ImportModule)("atexit"), *result = NULL;

	if (atexit && function)
		result = API(interp, PyObject_CallMethod)(atexit, "register", argument ? "OO" : "O",
							  function, argument);
	API(interp, Py_DecRef)(result);
	API(interp, Py_DecRef)(atexit);
	return result;
}

// A module's functions and its variables refer to each other, too. CPython leaves the variables of
// a module without references to the collector; from a module that has references it takes the
// variables one by one. So all modules go into a list that refers to itself, and that the
// collector, which has been told of nothing, never frees.
static bool keep_modules_at_exit(struct gorgon_interp *interp)
{
	PyObject *kept = API(interp, PyList_New)(0),
		 *modules = API(interp, PySys_GetObject)("modules");
	PyObject *extend = kept ? API(interp, PyObject_GetAttrString)(kept, "extend") : NULL;
	PyObject *values =
		modules ? API(interp, PyObject_CallMethod)(modules, "values", NULL) : NULL;
	bool done = extend && values && !API(interp, PyList_Append)(kept, kept) &&
		    register_at_exit(interp, extend, values);

	API(interp, Py_DecRef)(values);
	API(interp, Py_DecRef)(extend);
	API(interp, Py_DecRef)(kept);
	return done;
}

// Functions of atexit run in the opposite order of their registration.
static bool freeze_at_exit(struct gorgon_interp *interp)
{
	PyObject *gc = API(interp, PyImport_ImportModule)("gc");
	PyObject *freeze = gc ? API(interp, PyObject_GetAttrString)(gc, "freeze") : NULL;
	bool done = register_at_exit(interp, freeze, NULL) && keep_modules_at_exit(interp);

	API(interp, PyErr_Clear)();
	API(interp, Py_DecRef)(freeze);
	API(interp, Py_DecRef)(gc);
	return done;
}

struct gorgon_error *gorgon_ending_prepare(struct gorgon_interp *interp)
{
	if (interp->end == GORGON_END_FULL || freeze_at_exit(interp))
		return NULL;
	return gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"interpreter %u: atexit.register() failed, which GORGON_END_QUICK needs",
		interp->number);
}
