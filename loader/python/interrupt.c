// SPDX-License-Identifier: MIT
// An exception on a thread of an interpreter, wherever the thread is.
//
// Two ways lead to a thread, and the first that arrives closes the other. In bytecode an asynchronous exception
// (PyThreadState_SetAsyncExc()) arrives. Its type is ours: Python calls it to make the exception, which shows that
// it has arrived, and gets a plain KeyboardInterrupt. In a blocking call a signal arrives that no program can have
// (../process/interruption.c); its handler, a function of ours in Python's table of handlers, raises
// KeyboardInterrupt on a thread that has a request, and does nothing on others. The program's own handler of SIGINT
// plays no part.
//
// Python calls both functions, and they find their interpreter by the address to which they return. If the system's linker
// has loaded libpython, none of this is possible: then an asynchronous KeyboardInterrupt reaches bytecode only.

#define _GNU_SOURCE
#include "interrupt.h"
#include "api.h"
#include "exception.h"
#include "base/error.h"
#include "image/symbol.h"
#include "ns/ns.h"
#include "ns/unwind.h"
#include "process/interruption.h"
#include "process/signals.h"

#include <stdlib.h>

static struct gorgon_interruption *interruption_of(const struct gorgon_interp *interp)
{
	return gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part);
}

static struct gorgon_interp *interp_at(void *addr)
{
	struct gorgon_ns *ns = gorgon_unwind_ns_at((uint64_t)(uintptr_t)addr);

	return ns ? ns->user.ctx : NULL;
}

static struct gorgon_code_range interruptible_range_of(const struct gorgon_interp *interp,
						       const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);
	const Elf64_Sym *symbol = gorgon_symbol_find(interp->libpython->image, &query);

	return symbol ? (struct gorgon_code_range){interp->libpython->bias + symbol->st_value, symbol->st_size}
		      : (struct gorgon_code_range){0, 0};
}

void gorgon_interrupt_set_main(struct gorgon_interp *interp)
{
	struct gorgon_interruption_python python = {
		.main = pthread_self(),
		// From 3.12 on Py_MakePendingCalls() ends with a jump to another function, which asks again.
		.checks = {interruptible_range_of(interp, "PyErr_CheckSignals"),
			   interruptible_range_of(interp, "Py_MakePendingCalls"),
			   interruptible_range_of(interp, "_PyEval_MakePendingCalls")},
		.trip = (int (*)(int))gorgon_interp_find_symbol(interp, "PyErr_SetInterruptEx"),
		.take_interrupt = (int (*)(void))gorgon_interp_find_symbol(interp, "PyOS_InterruptOccurred"),
	};

	gorgon_interruption_describe(interruption_of(interp), &python);
}

// --- what Python calls ------------------------------------------------------------------------

// tp_new of the type: the asynchronous exception has arrived.
static PyObject *make_interrupt(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct gorgon_interp *interp = interp_at(__builtin_return_address(0));

	(void)type;
	gorgon_interruption_take(interruption_of(interp));
	return interp->api->PyObject_Call(*interp->api->PyExc_KeyboardInterrupt, args, kwargs);
}

// The handler: the signal has arrived, on whichever thread.
static PyObject *handle_interrupt(PyObject *none, PyObject *args)
{
	struct gorgon_interp *interp = interp_at(__builtin_return_address(0));
	const struct gorgon_api *api = interp->api;

	(void)args;
	if (gorgon_interruption_take(interruption_of(interp))) {
		api->PyThreadState_SetAsyncExc((unsigned long)pthread_self(), NULL);
		api->PyErr_SetNone(*api->PyExc_KeyboardInterrupt);
		return NULL;
	}
	api->Py_IncRef(none);
	return none;
}

// --- preparing it -----------------------------------------------------------------------------

static void *make_interrupt_type(struct gorgon_interp *interp)
{
	static PyType_Slot slots[] = {{Py_tp_new, (void *)make_interrupt}, {0, NULL}};
	static PyType_Spec spec = {
		.name = "builtins.KeyboardInterrupt",
		.flags = Py_TPFLAGS_DEFAULT,
		.slots = slots,
	};
	__typeof__(&PyType_FromSpecWithBases) make = API(interp, PyType_FromSpecWithBases);

	return make ? make(&spec, *interp->api->PyExc_KeyboardInterrupt) : NULL;
}

// On the main thread, which alone may set handlers.
static bool set_interrupt_handler(struct gorgon_interp *interp)
{
	static PyMethodDef method = {"interrupt", handle_interrupt, METH_VARARGS, NULL};
	const struct gorgon_api *api = interp->api;
	__typeof__(&PyCFunction_NewEx) make = API(interp, PyCFunction_NewEx);
	PyObject *module = api->PyImport_ImportModule("_signal"), *result = NULL;
	PyObject *function = make ? make(&method, (PyObject *)api->_Py_NoneStruct, NULL) : NULL;

	if (module && function) {
		gorgon_signals_reserve(true);
		result = api->PyObject_CallMethod(module, "signal", "iO", GORGON_SIGNAL_RESERVED, function);
		gorgon_signals_reserve(false);
	}
	api->Py_DecRef(result);
	api->Py_DecRef(function);
	api->Py_DecRef(module);
	return result;
}

struct gorgon_error *gorgon_interrupt_prepare(struct gorgon_interp *interp)
{
	PyObject *type = make_interrupt_type(interp);

	if (type && set_interrupt_handler(interp)) {
		interp->interrupt_type = type;
		return NULL;
	}
	interp->api->Py_DecRef(type);
	interp->api->PyErr_Clear();
	return gorgon_error_create(GORGON_ERROR_PYTHON, "interpreter %u: Python refuses what its threads are interrupted with",
				   interp->number);
}

void gorgon_interrupt_thread(struct gorgon_interp *interp, pthread_t thread)
{
	if (!interp->isolation->counts_memory)
		interp->api->PyThreadState_SetAsyncExc((unsigned long)thread, *interp->api->PyExc_KeyboardInterrupt);
	else if (interp->api->PyThreadState_SetAsyncExc((unsigned long)thread, interp->interrupt_type) == 1)
		gorgon_interruption_request(interruption_of(interp), thread);
}

bool gorgon_interrupt_has_own_threads(const struct gorgon_interp *interp)
{
	return gorgon_interruption_threads(interruption_of(interp), NULL, 0);
}

struct gorgon_error *gorgon_interrupt_own_threads(struct gorgon_interp *interp)
{
	struct gorgon_interruption *state = interruption_of(interp);
	size_t count = gorgon_interruption_threads(state, NULL, 0), found;
	pthread_t *list = count ? malloc(count * sizeof(*list)) : NULL;

	if (!count)
		return NULL;
	if (!list)
		return &gorgon_error_nomem;
	found = gorgon_interruption_threads(state, list, count);
	for (size_t i = 0; i < found && i < count; i++)
		gorgon_interrupt_thread(interp, list[i]);
	free(list);
	return NULL;
}

void gorgon_interrupt_take_back(struct gorgon_interp *interp)
{
	gorgon_interruption_take(interruption_of(interp));
	interp->api->PyThreadState_SetAsyncExc((unsigned long)pthread_self(), NULL);
}
