// SPDX-License-Identifier: MIT
// An exception on a thread of an interpreter, wherever the thread is.
//
// An interrupt of the main thread is a SIGINT to its interpreter, and to nobody else in the
// process, whatever the host does with SIGINT (process/kernel/signals.c). SIGURG tells the
// thread. In that signal's handler it runs what its interpreter has set for SIGINT, which is
// CPython's function, and CPython calls the program's. In case SIGURG is blocked, or ends a system
// call that has not begun yet, there are two more ways: SIGURG is sent again until Python has
// looked for signals, and Python is told that a signal has come which no program can have
// (process/interruption.c). Its handler looks for the interrupt, and raises KeyboardInterrupt if
// the program has no handler of SIGINT.
//
// Two ways lead to another thread, and the first that arrives closes the other. In bytecode an
// asynchronous exception (PyThreadState_SetAsyncExc()) arrives. Its type is ours: Python calls it
// to make the exception, which shows that it has arrived, and gets a plain KeyboardInterrupt. In a
// blocking call a signal arrives that no program can have (process/interruption.c); its handler,
// a function of ours in Python's table of handlers, raises KeyboardInterrupt on a thread that has a
// request, and does nothing on others. The program's own handler of SIGINT plays no part.
//
// Python calls both functions, and they find their interpreter by the address to which they return.
// If the system's linker has loaded libpython, none of this is possible: then an asynchronous
// KeyboardInterrupt reaches bytecode only.

#define _GNU_SOURCE
#include "interrupt.h"
#include "exception.h"
#include "base/error.h"
#include "image/symbol.h"
#include "ns/ns.h"
#include "process/interruption.h"
#include "process/kernel/signals.h"
#include "process/threads/shield.h"
#include "python/api.h"

#include <stdlib.h>

#define FORGET_TRIES 100

static struct gorgon_interruption *interruption_of(const struct gorgon_interp *interp)
{
	return gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part);
}

static struct gorgon_code_range interruptible_range_of(const struct gorgon_interp *interp,
						       const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);
	const Elf64_Sym *symbol = gorgon_symbol_find(interp->libpython->image, &query);

	return symbol ? (struct gorgon_code_range){interp->libpython->bias + symbol->st_value,
						   symbol->st_size}
		      : (struct gorgon_code_range){0, 0};
}

void gorgon_interrupt_set_main(struct gorgon_interp *interp)
{
	struct gorgon_interruption_python python = {
		.main = pthread_self(),
		// From 3.12 on Py_MakePendingCalls() ends with a jump to another function, which
		// asks again.
		.checks = {interruptible_range_of(interp, "PyErr_CheckSignals"),
			   interruptible_range_of(interp, "Py_MakePendingCalls"),
			   interruptible_range_of(interp, "_PyEval_MakePendingCalls")},
		.trip = (int (*)(int))gorgon_interp_find_symbol(interp, "PyErr_SetInterruptEx"),
		.is_finalizing = (int (*)(void))(
			gorgon_interp_find_symbol(interp, "Py_IsFinalizing")
				?: gorgon_interp_find_symbol(interp, "_Py_IsFinalizing")),
		.take_interrupt =
			(int (*)(void))gorgon_interp_find_symbol(interp, "PyOS_InterruptOccurred"),
	};

	gorgon_interruption_describe(interruption_of(interp), &python);
}

// --- what Python calls ------------------------------------------------------------------------

// Has the asynchronous exception arrive, if the thread has one, and forgets it.
// PyThreadState_SetAsyncExc() with NULL would leave a flag before 3.13, for which all threads of
// the interpreter look at each call and each round of a loop; in 3.11 a traced function never
// begins then. Handlers of signals can raise before it, so it is tried again. Nothing here is
// traced.
static void forget_exception(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyThreadState *state = API(interp, PyThreadState_Get)();
	void (*enter)(PyThreadState *) = (void (*)(PyThreadState *))gorgon_interp_find_symbol(
		interp, "PyThreadState_EnterTracing");
	void (*leave)(PyThreadState *) = (void (*)(PyThreadState *))gorgon_interp_find_symbol(
		interp, "PyThreadState_LeaveTracing");
	PyObject *type, *value, *traceback, *code, *globals, *result = NULL;

	api->PyErr_Fetch(&type, &value, &traceback);
	enter(state);
	code = api->Py_CompileString("", "<gorgon>", Py_file_input);
	globals = api->PyDict_New();
	for (unsigned i = 0; code && globals && !result && i < FORGET_TRIES; i++) {
		result = api->PyEval_EvalCode(code, globals, globals);
		api->PyErr_Clear();
	}
	api->Py_DecRef(result);
	api->Py_DecRef(globals);
	api->Py_DecRef(code);
	leave(state);
	API(interp, PyErr_Restore)(type, value, traceback);
}

// tp_new of the type: the asynchronous exception has arrived.
static PyObject *make_interrupt(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct gorgon_interp *interp = gorgon_interp_at(__builtin_return_address(0));

	(void)type;
	gorgon_interruption_take(interruption_of(interp));
	return interp->api->PyObject_Call(*interp->api->PyExc_KeyboardInterrupt, args, kwargs);
}

static bool is_interrupt_to_raise(struct gorgon_interp *interp)
{
	bool taken = gorgon_interruption_take(interruption_of(interp));

	if (!gorgon_call_is_main(interp))
		return taken;
	return gorgon_signals_take_interrupt(interp->ns->signals) == GORGON_INTERRUPT_TAKEN;
}

// Whether a lock of importlib's is held. Nothing is taken then, neither the interrupt nor the
// request, and no signals are looked for, which would come in the middle of bytecode.
static bool is_put_off(const struct gorgon_interp *interp)
{
	if (gorgon_call_is_main(interp))
		return gorgon_shield_is_up(NULL) &&
		       (gorgon_shield_is_whole() ||
			!gorgon_interruption_blocks(interruption_of(interp))) &&
		       gorgon_shield_keeps_interrupt();
	return gorgon_shield_is_whole();
}

// The function's frame is below the program's. The function itself reports how it went: an
// exception that leaves it is dropped.
static void call_on_main(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *function = interp->on_main;

	if (!function)
		return;
	interp->on_main = NULL;
	api->Py_DecRef(api->PyObject_CallFunctionObjArgs(function, NULL));
	api->PyErr_Clear();
	api->Py_DecRef(function);
}

// The handler: the signal has arrived, on whichever thread.
static PyObject *handle_interrupt(PyObject *none, PyObject *args)
{
	struct gorgon_interp *interp = gorgon_interp_at(__builtin_return_address(0));
	const struct gorgon_api *api = interp->api;
	bool raises;

	(void)args;
	if (is_put_off(interp)) {
		api->Py_IncRef(none);
		return none;
	}
	if (gorgon_call_is_main(interp) && interp->take_request)
		interp->take_request(interp);
	raises = is_interrupt_to_raise(interp);
	if (gorgon_call_is_main(interp))
		call_on_main(interp);
	if (raises) {
		if (!gorgon_call_is_main(interp))
			forget_exception(interp);
		api->PyErr_SetNone(*api->PyExc_KeyboardInterrupt);
		return NULL;
	}
	// A handler of the program's that is due now is called here: what blocks would go on before
	// it is called elsewhere.
	if (gorgon_call_is_main(interp) && api->PyErr_CheckSignals())
		return NULL;
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
		result = api->PyObject_CallMethod(module, "signal", "iO", GORGON_SIGNAL_RESERVED,
						  function);
		gorgon_signals_reserve(false);
	}
	api->Py_DecRef(result);
	api->Py_DecRef(function);
	api->Py_DecRef(module);
	return result;
}

static void set_interruptible(struct gorgon_interp *interp, bool value)
{
	pthread_mutex_lock(&interp->calls.lock);
	interp->calls.interruptible = value;
	pthread_mutex_unlock(&interp->calls.lock);
}

// Python frees the capsule when no Python code will run any more: its structures are about to go.
static void close_interrupts(PyObject *capsule)
{
	struct gorgon_interp *interp = gorgon_interp_at(__builtin_return_address(0));

	(void)capsule;
	set_interruptible(interp, false);
}

// Objects in the interpreter's dict are the last that Python frees.
static bool prepare_close_interrupts(struct gorgon_interp *interp)
{
	PyObject *dict =
		API(interp, PyInterpreterState_GetDict)(API(interp, PyInterpreterState_Get)());
	PyObject *capsule = API(interp, PyCapsule_New)(interp, NULL, close_interrupts);
	bool ret = dict && capsule &&
		   !API(interp, PyDict_SetItemString)(dict, "gorgon.interrupt", capsule);

	interp->api->Py_DecRef(capsule);
	return ret;
}

struct gorgon_error *gorgon_interrupt_prepare(struct gorgon_interp *interp)
{
	PyObject *type = make_interrupt_type(interp);

	if (type && set_interrupt_handler(interp) && prepare_close_interrupts(interp)) {
		interp->interrupt_type = type;
		set_interruptible(interp, true);
		return NULL;
	}
	interp->api->Py_DecRef(type);
	interp->api->PyErr_Clear();
	return gorgon_error_create(
		GORGON_ERROR_PYTHON,
		"interpreter %u: Python refuses what its threads are interrupted with",
		interp->number);
}

void gorgon_interrupt_adopt(struct gorgon_interp *interp, void *type)
{
	interp->interrupt_type = type;
	set_interruptible(interp, true);
}

static void tell_main(struct gorgon_interp *interp)
{
	struct gorgon_interruption *state = interruption_of(interp);

	gorgon_interruption_request_main(state);
	pthread_mutex_lock(&interp->calls.lock);
	if (interp->calls.interruptible)
		gorgon_interruption_trip(state);
	pthread_mutex_unlock(&interp->calls.lock);
}

// The thread is told first, which is fast. What is made known to Python comes last, so that Python
// takes the request in any case.
struct gorgon_error *gorgon_interrupt_main(struct gorgon_interp *interp)
{
	struct gorgon_signals *signals = interp->ns->signals;
	bool interruptible;

	pthread_mutex_lock(&interp->calls.lock);
	interruptible = interp->calls.interruptible;
	pthread_mutex_unlock(&interp->calls.lock);
	if (!interruptible && !gorgon_signals_handles_interrupts(signals))
		return interp->isolation->counts_memory
			       ? gorgon_error_create(GORGON_ERROR_BUSY,
						     "interpreter %u: cannot be interrupted: "
						     "Python is starting or ending",
						     interp->number)
			       : gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
						     "interpreter %u: cannot be interrupted: it "
						     "has no handler for SIGINT",
						     interp->number);
	gorgon_signals_interrupt(signals);
	if (!interruptible)
		return NULL;
	tell_main(interp);
	return NULL;
}

void gorgon_interrupt_call_on_main(struct gorgon_interp *interp, void *function)
{
	PyObject *before = interp->on_main;

	interp->api->Py_IncRef(function);
	interp->on_main = function;
	interp->api->Py_DecRef(before);
	tell_main(interp);
	gorgon_signals_wake(gorgon_signals_tid(interp->ns->signals));
	gorgon_interruption_repeat();
}

void gorgon_interrupt_thread(struct gorgon_interp *interp, pthread_t thread)
{
	if (!interp->isolation->counts_memory)
		interp->api->PyThreadState_SetAsyncExc((unsigned long)thread,
						       *interp->api->PyExc_KeyboardInterrupt);
	else if (gorgon_interruption_is_shielded(thread) ||
		 interp->api->PyThreadState_SetAsyncExc((unsigned long)thread,
							interp->interrupt_type) == 1)
		gorgon_interruption_request(interruption_of(interp), thread);
}

void gorgon_interrupt_catch_up(struct gorgon_interp *interp)
{
	void (*trip)(int) = (void (*)(int))gorgon_interp_find_api(interp, "PyErr_SetInterruptEx");

	if (gorgon_shield_take_sigint() && trip && !gorgon_interp_is_finalizing(interp))
		trip(SIGINT);
	if (gorgon_shield_take_interrupt() ||
	    (gorgon_call_is_main(interp) &&
	     gorgon_interruption_is_requested(interruption_of(interp))))
		gorgon_interruption_trip(interruption_of(interp));
	else if (gorgon_interruption_is_requested(interruption_of(interp)) &&
		 interp->interrupt_type)
		interp->api->PyThreadState_SetAsyncExc((unsigned long)pthread_self(),
						       interp->interrupt_type);
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
	if (gorgon_call_is_main(interp))
		gorgon_signals_drop_interrupt(interp->ns->signals); // no other way leads here
	else
		forget_exception(interp);
}
