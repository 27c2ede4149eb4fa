// SPDX-License-Identifier: MIT
// The built-in module `gorgon` that programs see inside an interpreter:
//
//	gorgon.interpreter    number of this interpreter
//	gorgon.count()        interpreters alive in the process
//	gorgon.progress()     tell the host how far the program is
//	gorgon.send_fd() ...  descriptors; see descriptors.c
//	gorgon.share() ...    arrays; see share.c and data_handler.c
//
// In a python3 that is the host (host_python.c), the package `gorgon` is made of a module with the
// same functions, so that a program runs in an interpreter and in the host.
//
// The module's C functions have no room for a pointer to the interpreter, so they are
// thunks of its namespace (base/thunk.c).

#define _GNU_SOURCE
#include "module.h"
#include "children.h"
#include "descriptors.h"
#include "function.h"
#include "value.h"
#include "base/error.h"
#include "base/thunk.h"
#include "ns/ns.h"
#include "process/interpose.h"
#include "process/memory/zone_heap.h"
#include "python/arrays/received.h"
#include "python/arrays/share.h"
#include "python/calls/import_locks.h"
#include "python/calls/raise.h"
#include "python/calls/thunks.h"

#include <stdlib.h>
#include <string.h>

// The definition of the module, one for each copy of CPython: the copy keeps pointers to it and
// writes into m_base.
struct module {
	PyModuleDef def;
	PyMethodDef methods[];
};

enum side {
	INSIDE = 1, // an interpreter
	HOST = 2,   // the process's own CPython
	ANYWHERE = INSIDE | HOST,
};

// Methods, with a thunk's number for the function.
static const struct method {
	const char *name;
	enum gorgon_module_thunk thunk;
	int flags;
	const char *doc;
	enum side side;
} methods[] = {
	{"count", GORGON_THUNK_COUNT, METH_NOARGS,
	 "count()\n--\n\nNumber of interpreters alive in this process.", ANYWHERE},
	{"share", GORGON_THUNK_SHARE, METH_VARARGS | METH_KEYWORDS,
	 "share(array, name, *, copy=False, writable=False)\n--\n\n"
	 "Let every interpreter receive an array under a name, without a copy.\n\n"
	 "The array's memory must be the host's: an ndarray that was made after\n"
	 "use_data_handler(), or one that was received; in a python3 that is the host all\n"
	 "memory is. Everything else with a buffer, or DLPack's, is shared with copy=True, as\n"
	 "it is now. Receivers may write to it with writable=True. The name holds the memory "
	 "until\n"
	 "withdraw(), also after the end of this interpreter. Masked arrays keep their mask.\n"
	 "ValueError if the name is taken, TypeError for Python objects.",
	 ANYWHERE},
	{"receive", GORGON_THUNK_RECEIVE, METH_VARARGS | METH_KEYWORDS,
	 "receive(name, *, writable=False, plain=False)\n--\n\n"
	 "The array that was shared under a name: an ndarray over the same memory, or a\n"
	 "memoryview where numpy is not installed. Read-only unless writable=True, which is a\n"
	 "PermissionError if it was not shared so. KeyError if nobody has shared the name.\n"
	 "With plain=True an object with the buffer protocol and DLPack, for other libraries.",
	 ANYWHERE},
	{"withdraw", GORGON_THUNK_WITHDRAW, METH_VARARGS,
	 "withdraw(name)\n--\n\n"
	 "Take a name back; who has received the array keeps it. KeyError if there is none.",
	 ANYWHERE},
	{"use_data_handler", GORGON_THUNK_USE_DATA_HANDLER, METH_VARARGS | METH_KEYWORDS,
	 "use_data_handler([handler], *, huge_pages=False, numa_nodes=None, locked=False, "
	 "alignment=64)\n--\n\n"
	 "Let numpy allocate new arrays in memory that can be shared (NEP 49), in this context:\n"
	 "each thread begins with numpy's default. Returns the handler that was in use, to be\n"
	 "put back by another call; None as handler is numpy's default.\n\n"
	 "Arrays of 2 MiB and more lie on huge pages with huge_pages=True, if the system has "
	 "them;\n"
	 "all arrays come from the NUMA nodes with these numbers (numa_nodes=[0]), are never "
	 "swapped\n"
	 "out (locked=True, as RLIMIT_MEMLOCK allows) or begin at a multiple of alignment. Arrays "
	 "on\n"
	 "nodes and locked ones have pages of their own, which is for large arrays.",
	 ANYWHERE},
	{"progress", GORGON_THUNK_PROGRESS, METH_O,
	 "progress(value)\n--\n\n"
	 "Tell the host how far a call is: a plain value or an array. True if somebody listens.\n"
	 "KeyboardInterrupt if the host wants no more of it.",
	 ANYWHERE},
	{"_ask", GORGON_THUNK_ASK, METH_O,
	 "_ask(question)\n--\n\nWhat the package in the host answers, a plain value.", INSIDE},
	{"send_fd", GORGON_THUNK_SEND_FD, METH_VARARGS,
	 "send_fd(fd, name)\n--\n\n"
	 "Let the host or another interpreter receive what a descriptor stands for, under a name:\n"
	 "programs have descriptors of their own. This one stays open, and may be closed.\n"
	 "ValueError while nobody has received the last one of that name.",
	 ANYWHERE},
	{"receive_fd", GORGON_THUNK_RECEIVE_FD, METH_VARARGS,
	 "receive_fd(name)\n--\n\n"
	 "A new descriptor for what was sent under a name, which is free again. KeyError if\n"
	 "nobody has sent it.",
	 ANYWHERE},
	{"InterpreterPoolExecutor", GORGON_THUNK_EXECUTOR, METH_VARARGS | METH_KEYWORDS,
	 "InterpreterPoolExecutor(...)\n--\n\nOnly in the host: RuntimeError.", INSIDE},
	{"_own_files", GORGON_THUNK_OWN_FILES, METH_NOARGS,
	 "_own_files()\n--\n\n"
	 "Give this thread descriptors of its own, for good. Whether it has a current directory\n"
	 "of its own, too.",
	 HOST},
	{"_template", GORGON_THUNK_OWN_TEMPLATE, METH_VARARGS,
	 "_template(python, options, share_environment, pool_threads, label, program)\n--\n\n"
	 "What interpreters are that have run the program, for _create(). Error with code 7 if it "
	 "cannot be copied.",
	 HOST},
	{"_create", GORGON_THUNK_OWN_CREATE, METH_VARARGS,
	 "_create(python, options, report, memory_limit, share_environment, python_lines, "
	 "template=None)\n--\n\n"
	 "Start an interpreter on this thread. report(value, asked) is called from inside: not "
	 "asked, its truth is the\n"
	 "result of gorgon.progress(value); asked, what it returns is the result of "
	 "gorgon._ask(value). The limit is in\n"
	 "bytes, 0 for none.",
	 HOST},
	{"_call", GORGON_THUNK_OWN_CALL, METH_VARARGS,
	 "_call(interpreter, module, function, args)\n--\n\nCall a function in it.", HOST},
	{"_interrupt", GORGON_THUNK_OWN_INTERRUPT, METH_O,
	 "_interrupt(interpreter)\n--\n\nInterrupt what runs in it.", HOST},
	{"_memory", GORGON_THUNK_OWN_MEMORY, METH_O,
	 "_memory(interpreter)\n--\n\nBytes that it holds, as its limit counts them.", HOST},
	{"_stop", GORGON_THUNK_OWN_STOP, METH_VARARGS,
	 "_stop(interpreter, milliseconds)\n--\n\nStop it within that time. Error with code 13 if "
	 "it is abandoned.",
	 HOST},
	{"_destroy", GORGON_THUNK_OWN_DESTROY, METH_O,
	 "_destroy(interpreter)\n--\n\nEnd it. Error with code 9 while it is busy.", HOST},
	{"_adopt", GORGON_THUNK_OWN_ADOPT, METH_VARARGS,
	 "_adopt(received, numpy.empty, arguments)\n--\n\nWhat that makes, in the memory of an "
	 "array that was received. None if\n"
	 "somebody else has that memory.",
	 HOST},
};

enum { METHOD_COUNT = sizeof(methods) / sizeof(*methods) };

static PyObject *module_count(PyObject *self, PyObject *args, struct gorgon_interp *interp)
{
	(void)self;
	(void)args;
	return API(interp, PyLong_FromUnsignedLong)(gorgon_interp_count());
}

// Without the GIL, so that the host may take any lock.
static bool report_from_module(struct gorgon_interp *interp, const struct gorgon_value *value)
{
	void *thread = API(interp, PyEval_SaveThread)();
	bool ret = interp->progress(interp->progress_ctx, value);

	API(interp, PyEval_RestoreThread)(thread);
	return ret;
}

static PyObject *report_progress(PyObject *object, struct gorgon_interp *interp)
{
	struct gorgon_value value;
	struct gorgon_error *err;
	bool go_on;

	if (!interp->progress)
		return API(interp, PyBool_FromLong)(false);
	err = gorgon_value_from_python(interp, object, "progress", &value);
	if (err)
		return gorgon_raise(interp, err);
	go_on = report_from_module(interp, &value);
	gorgon_value_deinit(&value);
	if (go_on)
		return API(interp, PyBool_FromLong)(true);
	API(interp, PyErr_SetNone)(*API(interp, PyExc_KeyboardInterrupt));
	return NULL;
}

// What was in a list, which is empty then; the caller's frame refers to the list itself.
static PyObject *take_items(struct gorgon_interp *interp, PyObject *list)
{
	PyObject *ret = API(interp, PyList_GetSlice)(list, 0, PY_SSIZE_T_MAX);

	if (ret && API(interp, PyList_SetSlice)(list, 0, PY_SSIZE_T_MAX, NULL)) {
		API(interp, Py_DecRef)(ret);
		ret = NULL;
	}
	return ret;
}

// The host may answer on this thread, as long as it likes.
static PyObject *ask_host(PyObject *object, struct gorgon_interp *interp)
{
	struct gorgon_value question, answer;
	struct gorgon_error *err;
	PyObject *ret;
	void *thread;
	bool known;

	if (!interp->ask)
		return gorgon_raise(interp,
				    gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
							"_ask: this host answers no questions"));
	if (!(object = take_items(interp, object)))
		return NULL;
	err = gorgon_value_take(interp, object, "question", &question);
	if (err)
		return gorgon_raise(interp, err);
	thread = API(interp, PyEval_SaveThread)();
	known = interp->ask(interp->progress_ctx, &question, &answer);
	API(interp, PyEval_RestoreThread)(thread);
	gorgon_value_deinit(&question);
	if (!known)
		return gorgon_raise(interp, gorgon_error_create(GORGON_ERROR_PYTHON,
								"_ask: the host has no answer"));
	err = gorgon_value_to_python(interp, &answer, "answer", &ret);
	gorgon_value_deinit(&answer);
	return err ? gorgon_raise(interp, err) : ret;
}

static PyObject *module_progress(PyObject *self, PyObject *object, struct gorgon_interp *interp)
{
	PyObject *ret;

	(void)self;
	gorgon_call_begin_inner(interp);
	ret = report_progress(object, interp);
	gorgon_call_end_inner(interp);
	return ret;
}

static PyObject *module_ask(PyObject *self, PyObject *object, struct gorgon_interp *interp)
{
	PyObject *ret;

	(void)self;
	gorgon_call_begin_inner(interp);
	ret = ask_host(object, interp);
	gorgon_call_end_inner(interp);
	return ret;
}

static PyObject *module_executor(PyObject *self, PyObject *args, PyObject *kwargs,
				 struct gorgon_interp *interp)
{
	(void)self;
	(void)args;
	(void)kwargs;
	API(interp,
	    PyErr_Format)(*API(interp, PyExc_RuntimeError),
			  "InterpreterPoolExecutor: this is interpreter %u, pools are made in "
			  "the host (in a program: under if __name__ == '__main__')",
			  interp->number);
	return NULL;
}

// A template has no number: it is its copies that have one.
static PyObject *module_number(struct gorgon_interp *interp)
{
	return interp->own || gorgon_zone_heap_is_open(interp->ns->usage.zone_heap)
		       ? gorgon_none(interp)
		       : API(interp, PyLong_FromUnsignedLong)(interp->number);
}

// NULL: no memory.
static struct module *create_module_definition(struct gorgon_interp *interp)
{
	static const struct PyModuleDef def = {
		PyModuleDef_HEAD_INIT,
		.m_name = "gorgon",
		.m_doc = "This interpreter's place among the interpreters of its process.",
		.m_size = -1,
	};
	struct module *ret = gorgon_zone_heap_zeros(
		interp->in_zone ? interp->ns->usage.zone_heap : NULL,
		sizeof(*ret) + (METHOD_COUNT + 1) * sizeof(*ret->methods));
	enum side side = interp->own ? HOST : INSIDE;
	size_t filled = 0;

	if (!ret)
		return NULL;
	ret->def = def;
	ret->def.m_methods = ret->methods;
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		if (!(methods[i].side & side))
			continue;
		ret->methods[filled++] = (PyMethodDef){
			.ml_name = methods[i].name,
			.ml_meth =
				(PyCFunction)gorgon_interpose_thunk(interp->ns, methods[i].thunk),
			.ml_flags = methods[i].flags,
			.ml_doc = methods[i].doc,
		};
	}
	return ret;
}

static bool fill_module(struct gorgon_interp *interp, PyObject *module)
{
	PyObject *number = gorgon_received_init(interp) ? module_number(interp) : NULL;
	bool ret = number && !API(interp, PyObject_SetAttrString)(module, "interpreter", number);

	if (ret && interp->own)
		ret = !API(interp, PyObject_SetAttrString)(module, "Error", interp->error_type);
	else if (ret)
		ret = gorgon_children_add_path(interp);
	API(interp, Py_DecRef)(number);
	return ret;
}

// When it fails, a program may import the module again: the definition stays.
PyObject *gorgon_module_init(struct gorgon_interp *interp)
{
	struct module *definition = interp->module ?: create_module_definition(interp);
	PyObject *ret;

	interp->module = definition;
	if (!definition)
		return API(interp, PyErr_NoMemory)();
	ret = API(interp, PyModule_Create2)(&definition->def, PYTHON_ABI_VERSION);
	if (ret && !fill_module(interp, ret)) {
		API(interp, Py_DecRef)(ret);
		return NULL;
	}
	return ret;
}

bool gorgon_module_renumber(struct gorgon_interp *interp)
{
	struct module *definition = interp->module;
	PyObject *number = definition ? module_number(interp) : NULL,
		 *module = number ? API(interp, PyState_FindModule)(&definition->def) : NULL,
		 *again = definition ? definition->def.m_base.m_copy : NULL;
	bool ret = !definition ||
		   (number &&
		    (!module ||
		     !API(interp, PyObject_SetAttrString)(module, "interpreter", number)) &&
		    (!again || !API(interp, PyDict_SetItemString)(again, "interpreter", number)));

	API(interp, Py_DecRef)(number);
	return ret;
}

// host_python.c fills in the thunks that only the process's own CPython has.
void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	memset(list, 0, GORGON_MODULE_THUNKS * sizeof(*list));
	list[GORGON_THUNK_INIT] = (struct gorgon_thunk){gorgon_module_init, 0, interp};
	list[GORGON_THUNK_COUNT] = (struct gorgon_thunk){module_count, 2, interp};
	list[GORGON_THUNK_SHARE] = (struct gorgon_thunk){gorgon_share_share, 3, interp};
	list[GORGON_THUNK_RECEIVE] = (struct gorgon_thunk){gorgon_share_receive, 3, interp};
	list[GORGON_THUNK_WITHDRAW] = (struct gorgon_thunk){gorgon_share_withdraw, 2, interp};
	list[GORGON_THUNK_USE_DATA_HANDLER] =
		(struct gorgon_thunk){gorgon_data_handler_use, 3, interp};
	list[GORGON_THUNK_PROGRESS] = (struct gorgon_thunk){module_progress, 2, interp};
	list[GORGON_THUNK_ASK] = (struct gorgon_thunk){module_ask, 2, interp};
	list[GORGON_THUNK_SEND_FD] = (struct gorgon_thunk){gorgon_descriptors_send, 2, interp};
	list[GORGON_THUNK_RECEIVE_FD] =
		(struct gorgon_thunk){gorgon_descriptors_receive, 2, interp};
	list[GORGON_THUNK_EXECUTOR] = (struct gorgon_thunk){module_executor, 3, interp};
	list[GORGON_THUNK_DLPACK] = (struct gorgon_thunk){gorgon_dlpack_method, 3, interp};
	list[GORGON_THUNK_DLPACK_DEVICE] = (struct gorgon_thunk){gorgon_dlpack_device, 2, interp};
	list[GORGON_THUNK_DLPACK_FREE] = (struct gorgon_thunk){gorgon_dlpack_free, 1, interp};
	list[GORGON_THUNK_ARRAY_DEALLOC] =
		(struct gorgon_thunk){gorgon_received_dealloc, 1, interp};
	list[GORGON_THUNK_ARRAY_GETBUFFER] =
		(struct gorgon_thunk){gorgon_received_getbuffer, 3, interp};
	list[GORGON_THUNK_FUNCTION_CALL] = (struct gorgon_thunk){gorgon_function_call, 3, interp};
	list[GORGON_THUNK_FUNCTION_FREE] = (struct gorgon_thunk){gorgon_function_free, 1, interp};
	gorgon_import_locks_thunks(interp, list);
}

struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp)
{
	__typeof__(&PyImport_AppendInittab) append = API(interp, PyImport_AppendInittab);
	void *start = gorgon_interpose_thunk(interp->ns, GORGON_THUNK_INIT);

	if (!append)
		return gorgon_error_create(GORGON_ERROR_PYTHON, "%s: has no PyImport_AppendInittab",
					   interp->python.libpython);
	return append("gorgon", (PyObject * (*)(void)) start) ? &gorgon_error_nomem : NULL;
}
