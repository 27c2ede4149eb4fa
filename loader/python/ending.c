// SPDX-License-Identifier: MIT
// How Python ends: as python3 does, or quickly.
//
// At its end CPython collects reference cycles, several times, because each module that goes may
// leave more of them. After `import numpy` that takes longer than the rest of the end. With
// GORGON_END_QUICK gc.freeze() hides all objects from the collector. It is the first function that
// is registered with atexit, so it is the last one to run, after threads have been joined.
// CPython's own end follows. The objects' memory goes with the interpreter's. Only our own loader
// offers this, because only it knows what memory an interpreter has allocated.
//
// A module's functions and its variables refer to each other, too. CPython leaves the variables of
// a module without references to the collector; from a module that has references it takes the
// variables one by one. So all modules go into a list that refers to itself, and that the
// collector, which has been told of nothing, never frees.
//
// CPython's collector calls all finalisers before it takes anything apart. CPython's way with
// single variables is not so kind: those of imported modules go first, and within a module what it
// has imported, so `__del__()` of a variable would find None in the place of `os`. So we take
// variables that are no code before CPython does, those with finalisers first, then all in the
// opposite order of their definitions, importers before what they import. That must be when the
// program's threads run no more, so it is done by the finaliser of an object that CPython drops
// with sys.modules. That finaliser is a C function, because warnings name the Python function that
// drops an object. The standard library's variables are left to CPython: finalisers use them.

#include "ending.h"
#include "api.h"
#include "base/error.h"

// Functions of atexit run in the opposite order of their registration.
static const char preparation[] =
	"def prepare(sys=__import__('sys'), gc=__import__('gc'), atexit=__import__('atexit')):\n"
	"    modules, kept = sys.modules, []\n"
	"    code = type, type(sys), type(prepare), type(len)\n"
	"    class Variables:\n"
	"        def __init__(self): pass\n"
	"    method = type(Variables().__init__)\n"
	"    def keep():\n"
	"        kept.extend([list(modules.items()), kept])\n"
	"        first, then = [], []\n"
	"        for name, module in kept[0]:\n"
	"            if type(module) is not type(sys) or \\\n"
	"               name.partition('.')[0] in sys.stdlib_module_names: continue\n"
	"            variables = vars(module)\n"
	"            for key in reversed(list(variables)):\n"
	"                value = variables.get(key)\n"
	"                if gc.is_tracked(value) and key != '__builtins__' and \\\n"
	"                   not issubclass(type(value), code):\n"
	"                    try: chosen = first if hasattr(type(value), '__del__') else then\n"
	"                    except Exception: chosen = then\n"
	"                    chosen.append((variables, key, None))\n"
	"        if first or then:\n"
	"            take = map(dict.__setitem__, *zip(*first, *then))\n"
	"            Variables.__del__ = method(list, take)\n"
	"        modules['gorgon: variables'] = Variables()\n"
	"    atexit.register(gc.freeze)\n"
	"    atexit.register(keep)\n"
	"prepare()\n";

static bool run_preparation(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *code = api->Py_CompileString(preparation, "<frozen gorgon>", Py_file_input),
		 *globals = api->PyDict_New(), *result = NULL;

	if (code && globals)
		result = api->PyEval_EvalCode(code, globals, globals);
	api->PyErr_Clear();
	api->Py_DecRef(result);
	api->Py_DecRef(globals);
	api->Py_DecRef(code);
	return result;
}

struct gorgon_error *gorgon_ending_prepare(struct gorgon_interp *interp)
{
	if (interp->end == GORGON_END_FULL || run_preparation(interp))
		return NULL;
	return gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"interpreter %u: atexit.register() failed, which GORGON_END_QUICK needs",
		interp->number);
}
