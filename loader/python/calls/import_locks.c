// SPDX-License-Identifier: MIT
// No interrupt comes to a thread that holds a lock of importlib's.
//
// importlib has a lock for its table of locks (_imp.acquire_lock(), _imp.release_lock()), and one
// for each module that is being imported (class _ModuleLock). The functions that take and give
// them back are replaced by functions that call them under a shield (process/threads/shield.c).
// A module's own code runs without one: importlib gives the lock back whatever comes out of it.
//
// A thread that waits for another thread's import holds no lock, and a blocking call is
// interrupted there as elsewhere. What came meanwhile, a request to interrupt, a SIGINT, or a
// limit of memory that was passed, comes when the shield ends.

#define _GNU_SOURCE
#include "import_locks.h"
#include "interrupt.h"
#include "limits.h"
#include "thunks.h"
#include "base/thunk.h"
#include "base/usage.h"
#include "ns/ns.h"
#include "process/interpose.h"
#include "process/interruption.h"
#include "process/threads/shield.h"
#include "python/api.h"

#include <stdlib.h>

struct shielded {
	struct gorgon_interp *interp;
	PyObject *original; // held by the interpreter's dictionary
	PyMethodDef method;
};

struct gorgon_import_locks {
	bool on;
	struct shielded of[GORGON_THUNK_LOCKS_COUNT];
};

// What is replaced. A shield that is not whole lets blocking calls be interrupted.
static const struct {
	const char *class, *name;
	bool whole;
} names[GORGON_THUNK_LOCKS_COUNT] = {
	{NULL, "acquire_lock", true}, // of the module _imp; its shield ends with release_lock()
	{NULL, "release_lock", true},
	{NULL, "_lock_unlock_module", false},
	{"_ModuleLockManager", "__enter__", false},
	{"_ModuleLockManager", "__exit__", true},
	{"_ModuleLock", "release", true},
};

enum { ACQUIRE_LOCK, RELEASE_LOCK, EXIT = 4 };

static void end_shield(struct gorgon_interp *interp, bool whole)
{
	gorgon_shield_end(whole);
	if (gorgon_shield_is_up(NULL))
		return;
	gorgon_interrupt_catch_up(interp);
	gorgon_limits_catch_up(interp);
}

static PyObject *call_original(struct shielded *shielded, PyObject *self, PyObject *args,
			       PyObject *kwargs)
{
	const struct gorgon_api *api = shielded->interp->api;
	// A limit of memory must not keep them from giving a lock back.
	bool exempt = gorgon_usage_exempt(true);
	PyObject *method, *ret;

	if (self) {
		method = api->PyObject_CallMethod(shielded->original, "__get__", "O", self);
		ret = method ? api->PyObject_Call(method, args, kwargs) : NULL;
		api->Py_DecRef(method);
	} else {
		ret = api->PyObject_Call(shielded->original, args, kwargs);
	}
	gorgon_usage_exempt(exempt);
	return ret;
}

// The lock has a weak reference with a function in Python, in which an interrupt would be lost:
// Python prints what comes out of such a function, and goes on. So the lock goes before the
// shield ends.
static void drop_lock(const struct gorgon_api *api, PyObject *manager)
{
	if (api->PyObject_SetAttrString(manager, "_lock", (PyObject *)api->_Py_NoneStruct))
		api->PyErr_Clear();
}

static PyObject *call_shielded(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct shielded *shielded)
{
	struct gorgon_interp *interp = shielded->interp;
	size_t which = (size_t)(shielded - interp->import_locks->of);
	struct gorgon_interruption *interruption =
		gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part);
	bool whole = names[which].whole;
	PyObject *ret = NULL;

	if (!interp->import_locks->on)
		return call_original(shielded, self, args, kwargs);
	if (!whole)
		gorgon_interruption_expect(interruption, true);
	if (which != RELEASE_LOCK)
		gorgon_shield_begin(whole);
	// What came before the shield must not find the lock taken.
	if (which != ACQUIRE_LOCK || !interp->api->PyErr_CheckSignals())
		ret = call_original(shielded, self, args, kwargs);
	if (which == EXIT && ret)
		drop_lock(interp->api, self);
	if (which == ACQUIRE_LOCK ? !ret : which == RELEASE_LOCK ? ret != NULL : true)
		end_shield(interp, whole);
	// A shield that is not whole ends where it began.
	if (!whole)
		gorgon_interruption_expect(interruption, false);
	return ret;
}

// --- preparing it -------------------------------------------------------------------------------

static bool replace(struct gorgon_interp *interp, PyObject *owner, bool is_class, size_t which,
		    PyObject *held)
{
	const struct gorgon_api *api = interp->api;
	struct shielded *shielded = &interp->import_locks->of[which];
	PyObject *function = NULL;
	bool done = false;

	shielded->interp = interp;
	shielded->method = (PyMethodDef){
		names[which].name,
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_LOCKS + which),
		METH_VARARGS | METH_KEYWORDS, NULL};
	shielded->original = owner ? api->PyObject_GetAttrString(owner, names[which].name) : NULL;
	if (shielded->original && !api->PyList_Append(held, shielded->original))
		function = is_class ? API(interp, PyDescr_NewMethod)((PyTypeObject *)owner,
								     &shielded->method)
				    : API(interp, PyCFunction_NewEx)(&shielded->method, NULL, NULL);
	if (function)
		done = !api->PyObject_SetAttrString(owner, names[which].name, function);
	api->Py_DecRef(function);
	api->Py_DecRef(shielded->original);
	return done;
}

// All are known before the first one is replaced.
static bool replace_all(struct gorgon_interp *interp, PyObject *held)
{
	const struct gorgon_api *api = interp->api;
	PyObject *imp = api->PyImport_ImportModule("_imp"),
		 *importlib = api->PyImport_ImportModule("_frozen_importlib");
	PyObject *owners[GORGON_THUNK_LOCKS_COUNT] = {0};
	bool done = imp && importlib;

	for (size_t i = 0; i < GORGON_THUNK_LOCKS_COUNT && done; i++) {
		owners[i] = names[i].class ? api->PyObject_GetAttrString(importlib, names[i].class)
			    : i <= RELEASE_LOCK ? imp
						: importlib;
		if (!names[i].class)
			api->Py_IncRef(owners[i]);
		done = owners[i] != NULL;
	}
	for (size_t i = 0; i < GORGON_THUNK_LOCKS_COUNT && done; i++)
		done = replace(interp, owners[i], names[i].class != NULL, i, held);
	for (size_t i = 0; i < GORGON_THUNK_LOCKS_COUNT; i++)
		api->Py_DecRef(owners[i]);
	api->Py_DecRef(importlib);
	api->Py_DecRef(imp);
	return done;
}

void gorgon_import_locks_begin(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *dict, *held;

	if (!interp->isolation->counts_memory || !interp->import_locks)
		return;
	dict = API(interp, PyInterpreterState_GetDict)(API(interp, PyInterpreterState_Get)());
	held = api->PyList_New(0);
	interp->import_locks->on =
		held && dict &&
		!API(interp, PyDict_SetItemString)(dict, "gorgon.import_locks", held) &&
		replace_all(interp, held);
	if (!interp->import_locks->on)
		api->PyErr_Clear();
	api->Py_DecRef(held);
}

void gorgon_import_locks_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	interp->import_locks = calloc(1, sizeof(*interp->import_locks));
	for (size_t i = 0; i < GORGON_THUNK_LOCKS_COUNT && interp->import_locks; i++)
		list[GORGON_THUNK_LOCKS + i] =
			(struct gorgon_thunk){call_shielded, 3, &interp->import_locks->of[i]};
}

size_t gorgon_import_locks_size(void)
{
	return sizeof(struct gorgon_import_locks);
}

void gorgon_import_locks_copy(const struct gorgon_import_locks *from, struct gorgon_interp *interp,
			      void *(*move)(void *ctx, void *addr), void *ctx)
{
	struct gorgon_import_locks *to = interp->import_locks;

	*to = *from;
	for (size_t i = 0; to->on && i < GORGON_THUNK_LOCKS_COUNT; i++) {
		to->of[i].interp = interp;
		to->of[i].original = move(ctx, to->of[i].original);
		to->of[i].method.ml_meth = (PyCFunction)move(ctx, (void *)to->of[i].method.ml_meth);
	}
}

void gorgon_import_locks_free(struct gorgon_interp *interp)
{
	free(interp->import_locks);
}
