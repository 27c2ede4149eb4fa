// SPDX-License-Identifier: MIT
// The built-in module `gorgon` that programs see inside an interpreter:
//
//	gorgon.interpreter    number of this interpreter
//	gorgon.count()        interpreters alive in the process
//	gorgon.share() ...    arrays; see share.c and data_handler.c
//
// The module's C functions have no room for a pointer to the interpreter, so they are
// thunks of its namespace (../elf/thunk.c).

#define _GNU_SOURCE
#include "share.h"
#include "../elf/error.h"
#include "../elf/ns.h"
#include "../elf/thunk.h"
#include "../elf/replace.h"

#include <stdlib.h>

// One for each copy, which keeps pointers to it and writes into m_base.
struct module {
	PyModuleDef def;
	PyMethodDef methods[];
};

// Methods, with a thunk's number for the function.
static const struct method {
	const char *name;
	enum gorgon_module_thunk thunk;
	int flags;
	const char *doc;
} methods[] = {
	{"count", GORGON_THUNK_COUNT, METH_NOARGS,
	 "count()\n--\n\nNumber of interpreters alive in this process."},
	{"share", GORGON_THUNK_SHARE, METH_VARARGS | METH_KEYWORDS,
	 "share(array, name, *, copy=False, writable=False)\n--\n\n"
	 "Let every interpreter receive an array under a name, without a copy.\n\n"
	 "The array's memory must be the host's: an ndarray that was made after\n"
	 "use_data_handler(), or one that was received. Everything else with the buffer\n"
	 "protocol is shared with copy=True, as it is now. Receivers may write to it with\n"
	 "writable=True. The name holds the memory until withdraw(), also after the end of\n"
	 "this interpreter. ValueError if the name is taken, TypeError for Python objects."},
	{"receive", GORGON_THUNK_RECEIVE, METH_VARARGS | METH_KEYWORDS,
	 "receive(name, *, writable=False)\n--\n\n"
	 "The array that was shared under a name: an ndarray over the same memory, or a\n"
	 "memoryview where numpy is not installed. Read-only unless writable=True, which is a\n"
	 "PermissionError if it was not shared so. KeyError if nobody has shared the name."},
	{"withdraw", GORGON_THUNK_WITHDRAW, METH_VARARGS,
	 "withdraw(name)\n--\n\n"
	 "Take a name back; who has received the array keeps it. KeyError if there is none."},
	{"use_data_handler", GORGON_THUNK_USE_DATA_HANDLER, METH_VARARGS,
	 "use_data_handler([handler])\n--\n\n"
	 "Let numpy allocate new arrays in memory that can be shared (NEP 49), in this context:\n"
	 "each thread begins with numpy's default. Returns the handler that was in use, to be\n"
	 "put back by another call; None as handler is numpy's default."},
};

enum { METHOD_COUNT = sizeof(methods) / sizeof(*methods) };

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
	struct module *module =
		calloc(1, sizeof(*module) + (METHOD_COUNT + 1) * sizeof(*module->methods));
	PyObject *ret;

	if (!module)
		return API(interp, PyErr_NoMemory)();
	module->def = def;
	module->def.m_methods = module->methods;
	for (size_t i = 0; i < METHOD_COUNT; i++)
		module->methods[i] = (PyMethodDef){
			.ml_name = methods[i].name,
			.ml_meth = (PyCFunction)gorgon_replace_thunk(interp->ns, methods[i].thunk),
			.ml_flags = methods[i].flags,
			.ml_doc = methods[i].doc,
		};
	ret = API(interp, PyModule_Create2)(&module->def, PYTHON_ABI_VERSION);
	if (!ret) {
		free(module);
		return NULL;
	}
	interp->module = module;
	if (!gorgon_share_init(interp) ||
	    API(interp, PyModule_AddIntConstant)(ret, "interpreter", (long)interp->number))
		return NULL;
	return ret;
}

void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	list[GORGON_THUNK_INIT] = (struct gorgon_thunk){init, 0, interp};
	list[GORGON_THUNK_COUNT] = (struct gorgon_thunk){count, 2, interp};
	list[GORGON_THUNK_SHARE] = (struct gorgon_thunk){gorgon_share_share, 3, interp};
	list[GORGON_THUNK_RECEIVE] = (struct gorgon_thunk){gorgon_share_receive, 3, interp};
	list[GORGON_THUNK_WITHDRAW] = (struct gorgon_thunk){gorgon_share_withdraw, 2, interp};
	list[GORGON_THUNK_USE_DATA_HANDLER] =
		(struct gorgon_thunk){gorgon_data_handler_use, 2, interp};
	list[GORGON_THUNK_ARRAY_DEALLOC] = (struct gorgon_thunk){gorgon_share_dealloc, 1, interp};
	list[GORGON_THUNK_ARRAY_GETBUFFER] =
		(struct gorgon_thunk){gorgon_share_getbuffer, 3, interp};
}

struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp)
{
	__typeof__(&PyImport_AppendInittab) append = API(interp, PyImport_AppendInittab);
	void *start = gorgon_replace_thunk(interp->ns, GORGON_THUNK_INIT);

	if (!append)
		return gorgon_error_create(GORGON_ERROR_PYTHON, "%s: has no PyImport_AppendInittab",
					   interp->python.libpython);
	return append("gorgon", (PyObject * (*)(void)) start) ? &gorgon_error_nomem : NULL;
}
