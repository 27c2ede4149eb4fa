// SPDX-License-Identifier: MIT
// The built-in module `gorgon` that programs see inside an interpreter:
//
//	gorgon.interpreter    number of this interpreter
//	gorgon.count()        interpreters alive in the process
//
// libgorgon is linked to no libpython. Of CPython's headers only structures of the
// stable ABI (PEP 384) are used, and every function is called by its address in the
// interpreter's own copy. The module's C functions have no room for a pointer to that
// interpreter, so they are thunks of its namespace (../elf/thunk.c).

#define _GNU_SOURCE
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "../elf/error.h"
#include "../elf/ns.h"
#include "../elf/thunk.h"
#include "../elf/replace.h"
#include "interp.h"

#include <stdlib.h>

// One function of this interpreter's C API, typed as the header declares it.
#define API(interp, name) ((__typeof__(&name))gorgon_interp_find_symbol(interp, #name))

enum { THUNK_INIT, THUNK_COUNT };

// One for each copy, which keeps pointers to it and writes into m_base.
struct module {
	PyModuleDef def;
	PyMethodDef methods[2];
};

static PyObject *count(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	(void)self;
	(void)args;
	return API(interp, PyLong_FromUnsignedLong)(gorgon_interp_count());
}

static PyObject *init(struct gorgon_interp *interp)
{
	static const struct PyModuleDef def = {
		PyModuleDef_HEAD_INIT,
		.m_name = "gorgon",
		.m_doc = "This interpreter's place among the interpreters of its process.",
		.m_size = -1,
	};
	struct module *module = calloc(1, sizeof(*module));
	PyObject *ret;

	if (!module)
		return API(interp, PyErr_NoMemory)();
	module->def = def;
	module->def.m_methods = module->methods;
	module->methods[0] = (PyMethodDef){
		.ml_name = "count",
		.ml_meth = (PyCFunction)gorgon_replace_thunk(interp->ns, THUNK_COUNT),
		.ml_flags = METH_NOARGS,
		.ml_doc = "count()\n--\n\nNumber of interpreters alive in this process.",
	};
	ret = API(interp, PyModule_Create2)(&module->def, PYTHON_ABI_VERSION);
	if (!ret) {
		free(module);
		return NULL;
	}
	interp->module = module;
	if (API(interp, PyModule_AddIntConstant)(ret, "interpreter", (long)interp->number))
		return NULL;
	return ret;
}

void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	list[THUNK_INIT] = (struct gorgon_thunk){init, 0, interp};
	list[THUNK_COUNT] = (struct gorgon_thunk){count, 2, interp};
}

struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp)
{
	__typeof__(&PyImport_AppendInittab) append = API(interp, PyImport_AppendInittab);
	void *start = gorgon_replace_thunk(interp->ns, THUNK_INIT);

	if (!append)
		return gorgon_error_create(GORGON_ERROR_PYTHON, "%s: has no PyImport_AppendInittab",
					   interp->python.libpython);
	return append("gorgon", (PyObject * (*)(void)) start) ? &gorgon_error_nomem : NULL;
}
