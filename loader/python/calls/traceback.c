// SPDX-License-Identifier: MIT
// The Python lines of a thread that has a fault or does not end, by
// CPython's own function for that, which is made for handlers of signals: faulthandler's. CPython
// 3.11 and 3.12 export it under a private name, 3.15 under a public name; 3.13 and 3.14 do not
// export it (process/hidden_traceback.c).

#define _GNU_SOURCE
#include "traceback.h"
#include "ns/ns.h"
#include "process/hidden_traceback.h"
#include "process/kernel/signals.h"
#include "process/part.h"
#include "python/api.h"

#include <unistd.h>

static struct gorgon_hidden_traceback *hidden_traceback_of(const struct gorgon_interp *interp)
{
	return gorgon_parts_state(interp->ns->parts, &gorgon_hidden_traceback_part);
}

bool gorgon_traceback_is_hidden(const struct gorgon_interp *interp)
{
	return interp->isolation->counts_memory &&
	       gorgon_hidden_traceback_is(interp->libpython->image);
}

// The module is taken out again: programs find the modules that python3 has at the start.
static void forget_module(const struct gorgon_api *api)
{
	PyObject *modules = api->PySys_GetObject("modules");

	if (modules)
		api->Py_DecRef(api->PyObject_CallMethod(modules, "pop", "sO", "faulthandler",
							(PyObject *)api->_Py_NoneStruct));
}

void gorgon_traceback_prepare(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *modules = api->PySys_GetObject("modules"), *module, *result = NULL;
	PyObject *before =
		modules ? api->PyObject_CallMethod(modules, "get", "s", "faulthandler") : NULL;
	bool is_new = before == (PyObject *)api->_Py_NoneStruct;
	void (*handler)(int);

	module = api->PyImport_ImportModule("faulthandler");
	if (module) {
		gorgon_signals_reserve(true);
		result = api->PyObject_CallMethod(module, "register", "iiii",
						  GORGON_SIGNAL_RESERVED, STDERR_FILENO, 0, 0);
		handler = gorgon_signals_reserve(false);
		if (result)
			gorgon_hidden_traceback_set(hidden_traceback_of(interp), handler,
						    GORGON_SIGNAL_RESERVED);
		if (is_new)
			forget_module(api);
	}
	api->Py_DecRef(result);
	api->Py_DecRef(module);
	api->Py_DecRef(before);
	api->PyErr_Clear(); // without standard error, for example, there are no lines
}

void (*gorgon_traceback_handler(const struct gorgon_interp *interp))(int)
{
	return gorgon_hidden_traceback_get(hidden_traceback_of(interp));
}

void gorgon_traceback_adopt(struct gorgon_interp *interp, void (*handler)(int))
{
	gorgon_hidden_traceback_set(hidden_traceback_of(interp), handler, GORGON_SIGNAL_RESERVED);
}

bool gorgon_traceback_write(void *ctx, int fd)
{
	struct gorgon_interp *interp = ctx;
	void *(*this_state)(void);
	void (*dump)(int, void *);
	void *state;

	if (!interp->libpython)
		return false;
	if (gorgon_traceback_is_hidden(interp))
		return gorgon_hidden_traceback_write(hidden_traceback_of(interp), fd);
	this_state =
		(void *(*)(void))gorgon_interp_find_api(interp, "PyGILState_GetThisThreadState");
	dump = (void (*)(int, void *))(
		gorgon_interp_find_api(interp, "PyUnstable_DumpTraceback")
			?: gorgon_interp_find_api(interp, "_Py_DumpTraceback"));
	state = this_state && dump ? this_state() : NULL;
	if (state)
		dump(fd, state);
	return state;
}
