// SPDX-License-Identifier: MIT
// The CPython that the process itself runs: a python3 that has imported the package `gorgon`
// (../../python/), and is the host of private interpreters.
//
// It has its place among them as far as arrays go, so the code for these (share.c,
// data_handler.c, value.c) is the same: a struct gorgon_interp without a libpython, whose C
// API the extension module finds. Its namespace has thunks and a lock, loads nothing, and
// debuggers do not see it.
//
// Private interpreters are capsules here. The package, which uses them, ensures that no interpreter
// is destroyed while it is called or interrupted, and that a thread with descriptors of its own
// does no work of the host that needs the host's descriptors.

#define _GNU_SOURCE
#include "host_python.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/thunk.h"
#include "dl/namespace.h"
#include "ns/ns.h"
#include "process/kernel/files.h"
#include "process/kernel/signals.h"
#include "process/libc/process_variables.h"
#include "python/arrays/array.h"
#include "python/arrays/pin.h"
#include "python/arrays/share.h"
#include "python/calls/raise.h"
#include "python/calls/thunks.h"
#include "python/lines/lines.h"
#include "python/values/module.h"
#include "python/values/value.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define CAPSULE  "gorgon.interpreter"
#define TEMPLATE "gorgon.template"

static struct gorgon_interp own_interp = {.own = true};

// --- private interpreters ----------------------------------------------------------------

// Raise an error of an interpreter as gorgon.Error, with its code and the type of a Python
// exception, of which the package makes other exceptions.
static PyObject *raise_host_error(struct gorgon_interp *own, struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);
	PyObject *type = own->error_type;
	PyObject *object = API(own, PyObject_CallFunction)(type, "(s)", gorgon_error_message(err));
	PyObject *code = API(own, PyLong_FromLong)(gorgon_error_code(err));
	PyObject *name = API(own, Py_BuildValue)("z", exception ? exception->type : NULL);

	gorgon_error_destroy(err);
	if (object && code && name && !own->api->PyObject_SetAttrString(object, "code", code) &&
	    !own->api->PyObject_SetAttrString(object, "exception", name))
		API(own, PyErr_SetObject)(type, object);
	own->api->Py_DecRef(object);
	own->api->Py_DecRef(code);
	own->api->Py_DecRef(name);
	return NULL;
}

// What buffers of pickles are: nobody need import numpy for them.
static void make_plain(struct gorgon_value *value)
{
	if (value->kind == GORGON_VALUE_ARRAY)
		value->array->plain = true;
	for (size_t i = 0; value->kind == GORGON_VALUE_LIST && i < value->list.count; i++)
		make_plain(&value->list.items[i]);
}

// Call the callable that an interpreter's creator has given. NULL: an exception.
static PyObject *call_host_report(PyObject *callable, const struct gorgon_value *value,
				  bool wants_answer)
{
	PyObject *flag = API(&own_interp, PyBool_FromLong)(wants_answer), *object, *ret;
	struct gorgon_error *err = gorgon_value_to_python(&own_interp, value, "value", &object);

	if (err) {
		own_interp.api->Py_DecRef(flag);
		return gorgon_raise(&own_interp, err);
	}
	ret = API(&own_interp, PyObject_CallFunctionObjArgs)(callable, object, flag, NULL);
	own_interp.api->Py_DecRef(object);
	own_interp.api->Py_DecRef(flag);
	return ret;
}

// gorgon.progress() of an interpreter.
static bool report_to_host(void *ctx, const struct gorgon_value *value)
{
	const struct gorgon_api *api = own_interp.api;
	PyGILState_STATE gil = api->PyGILState_Ensure();
	PyObject *result = call_host_report(ctx, value, false);
	bool ret = result && API(&own_interp, PyObject_IsTrue)(result) > 0;

	if (API(&own_interp, PyErr_Occurred)())
		API(&own_interp, PyErr_WriteUnraisable)(ctx);
	api->Py_DecRef(result);
	api->PyGILState_Release(gil);
	return ret;
}

// gorgon._ask() of an interpreter.
static bool answer_host(void *ctx, const struct gorgon_value *question, struct gorgon_value *ret)
{
	const struct gorgon_api *api = own_interp.api;
	PyGILState_STATE gil = api->PyGILState_Ensure();
	PyObject *result = call_host_report(ctx, question, true);
	struct gorgon_error *err =
		result ? gorgon_value_from_python(&own_interp, result, "answer", ret) : NULL;
	bool done = result && !err;

	if (err)
		gorgon_raise(&own_interp, err);
	if (done)
		make_plain(ret);
	else
		API(&own_interp, PyErr_WriteUnraisable)(ctx);
	api->Py_DecRef(result);
	api->PyGILState_Release(gil);
	return done;
}

// Pointers into the strings of a list, with NULL behind them; to be freed. NULL: an exception.
static const char **strings_of_host_list(struct gorgon_interp *own, PyObject *list)
{
	Py_ssize_t count = own->api->PyList_Size(list);
	const char **ret = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*ret));

	if (!ret && count >= 0)
		API(own, PyErr_NoMemory)();
	for (Py_ssize_t i = 0; ret && i < count; i++) {
		ret[i] = own->api->PyUnicode_AsUTF8AndSize(own->api->PyList_GetItem(list, i), NULL);
		if (!ret[i]) {
			free(ret);
			return NULL;
		}
	}
	return ret;
}

// A copy of the process's environment, in one block; the caller has the GIL, so no Python code
// changes it meanwhile. NULL: an exception.
static const char **copy_environment(struct gorgon_interp *own)
{
	size_t count = 0, size = 0;
	char **list = gorgon_process_variables_list(), *text;
	const char **ret;

	for (; list && list[count]; count++)
		size += strlen(list[count]) + 1;
	ret = malloc((count + 1) * sizeof(*ret) + size);
	if (!ret) {
		API(own, PyErr_NoMemory)();
		return NULL;
	}
	text = (char *)(ret + count + 1);
	for (size_t i = 0; i < count; i++) {
		ret[i] = text;
		text = stpcpy(text, list[i]) + 1;
	}
	ret[count] = NULL;
	return ret;
}

static struct gorgon_error *start_for_host(const struct gorgon_interp_opts *opts,
					   const struct gorgon_start_opts *start_opts,
					   struct gorgon_interp **ret)
{
	struct gorgon_error *err = gorgon_interp_create(opts, ret);

	if (err)
		return err;
	// Its environment is a copy of the process's.
	gorgon_interp_hide_home(*ret);
	(*ret)->ask = answer_host;
	gorgon_signals_be_worker((*ret)->ns->signals); // Ctrl-C is this CPython's matter
	err = gorgon_interp_start(*ret, start_opts);
	// Nothing has run in it that could keep it.
	if (err)
		gorgon_error_destroy(gorgon_interp_destroy(*ret));
	return err;
}

static PyObject *own_files(PyObject *self, PyObject *unused, struct gorgon_interp *own)
{
	int err = gorgon_files_unshare();

	(void)self;
	(void)unused;
	if (!err)
		return API(own, PyBool_FromLong)(gorgon_files_have_directory());
	errno = -err;
	return API(own, PyErr_SetFromErrno)(*API(own, PyExc_OSError));
}

static void free_host_template(PyObject *capsule)
{
	gorgon_template_free(API(&own_interp, PyCapsule_GetPointer)(capsule, TEMPLATE));
}

static PyObject *own_template(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts)};
	struct gorgon_interp_opts interp_opts = {
		.size = sizeof(interp_opts), .ns = &ns_opts, .end = GORGON_END_QUICK};
	struct gorgon_start_opts start_opts = {.size = sizeof(start_opts)};
	struct gorgon_template_opts opts = {
		.size = sizeof(opts), .interp = &interp_opts, .start = &start_opts};
	struct gorgon_template *template;
	struct gorgon_error *err;
	PyObject *options;
	const char **list;
	void *thread;
	int share;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "sOpIss:_template", &interp_opts.python, &options,
					 &share, &ns_opts.pool_threads, &interp_opts.label,
					 &opts.program) ||
	    !(list = strings_of_host_list(own, options)))
		return NULL;
	ns_opts.share_environment = share;
	start_opts.options = list;
	thread = own->api->PyEval_SaveThread();
	err = gorgon_template_create(&opts, &template);
	own->api->PyEval_RestoreThread(thread);
	free(list);
	if (err)
		return raise_host_error(own, err);
	return API(own, PyCapsule_New)(template, TEMPLATE, free_host_template);
}

static PyObject *own_create(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts), .large_arenas = true};
	// A pool's workers end as those of multiprocessing do, without a last collection.
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts), .ns = &ns_opts, .end = GORGON_END_QUICK};
	struct gorgon_start_opts start_opts = {.size = sizeof(start_opts),
					       .progress = report_to_host};
	PyObject *options, *progress, *from = NULL;
	struct gorgon_interp *interp;
	struct gorgon_error *err;
	unsigned long long memory_limit;
	const char **list, **environment = NULL;
	int share, lines;
	void *thread;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "sOOKpi|O:_create", &opts.python, &options, &progress,
					 &memory_limit, &share, &lines, &from) ||
	    (from && !(opts.from = API(own, PyCapsule_GetPointer)(from, TEMPLATE))) ||
	    !(list = strings_of_host_list(own, options)))
		return NULL;
	ns_opts.share_environment = share;
	if (!share && !from && !(ns_opts.environment = environment = copy_environment(own))) {
		free(list);
		return NULL;
	}
	opts.memory_limit = memory_limit;
	opts.python_lines = (enum gorgon_python_lines)lines;
	start_opts.options = from ? NULL : list; // they were the template's
	start_opts.progress_ctx = progress;
	thread = own->api->PyEval_SaveThread();
	err = start_for_host(&opts, &start_opts, &interp);
	own->api->PyEval_RestoreThread(thread);
	free(list);
	free(environment);
	if (err)
		return raise_host_error(own, err);
	own->api->Py_IncRef(progress);
	return API(own, PyCapsule_New)(interp, CAPSULE, NULL);
}

static PyObject *own_call(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	struct gorgon_value values, result;
	const char *module, *function;
	PyObject *capsule, *list, *ret = NULL;
	struct gorgon_interp *interp;
	struct gorgon_error *err;
	void *thread;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "OssO:_call", &capsule, &module, &function, &list) ||
	    !(interp = API(own, PyCapsule_GetPointer)(capsule, CAPSULE)))
		return NULL;
	err = gorgon_value_from_python(own, list, "args", &values);
	if (err)
		return raise_host_error(own, err);
	make_plain(&values);
	thread = own->api->PyEval_SaveThread();
	// Before the first work the package imports its own modules.
	if (!strcmp(function, "run") || !strcmp(function, "do"))
		gorgon_lines_started(interp);
	err = gorgon_interp_call(interp, module, function, &values, NULL, &result);
	gorgon_value_deinit(&values);
	own->api->PyEval_RestoreThread(thread);
	gorgon_pins_drop();
	if (err)
		return raise_host_error(own, err);
	make_plain(&result);
	err = gorgon_value_to_python(own, &result, "result", &ret);
	gorgon_value_deinit(&result);
	return err ? raise_host_error(own, err) : ret;
}

static PyObject *own_interrupt(PyObject *self, PyObject *capsule, struct gorgon_interp *own)
{
	struct gorgon_interp *interp = API(own, PyCapsule_GetPointer)(capsule, CAPSULE);
	struct gorgon_error *err;
	void *thread;

	(void)self;
	if (!interp)
		return NULL;
	thread = own->api->PyEval_SaveThread();
	err = gorgon_interp_interrupt(interp);
	own->api->PyEval_RestoreThread(thread);
	return err ? raise_host_error(own, err) : gorgon_none(own);
}

static PyObject *own_memory(PyObject *self, PyObject *capsule, struct gorgon_interp *own)
{
	struct gorgon_interp *interp = API(own, PyCapsule_GetPointer)(capsule, CAPSULE);

	(void)self;
	return interp ? API(own, PyLong_FromUnsignedLong)(gorgon_usage_held(&interp->ns->usage))
		      : NULL;
}

static PyObject *own_stop(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	struct gorgon_interp *interp;
	struct gorgon_error *err;
	PyObject *capsule;
	void *thread;
	int limit;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "Oi:_stop", &capsule, &limit) ||
	    !(interp = API(own, PyCapsule_GetPointer)(capsule, CAPSULE)))
		return NULL;
	thread = own->api->PyEval_SaveThread();
	err = gorgon_interp_stop_within(interp, (unsigned)limit);
	own->api->PyEval_RestoreThread(thread);
	gorgon_pins_drop();
	return err ? raise_host_error(own, err) : gorgon_none(own);
}

static PyObject *own_destroy(PyObject *self, PyObject *capsule, struct gorgon_interp *own)
{
	struct gorgon_interp *interp = API(own, PyCapsule_GetPointer)(capsule, CAPSULE);
	PyObject *progress;
	struct gorgon_error *err;
	void *thread;

	(void)self;
	if (!interp)
		return NULL;
	progress = interp->progress_ctx;
	thread = own->api->PyEval_SaveThread();
	err = gorgon_interp_destroy(interp);
	// Each thread had an arena of malloc()'s of its own. Blocks that extensions leave behind
	// lie between the blocks that were freed. Without this a program that makes executors one
	// after the other grows until every arena has been full.
	if (!err && !gorgon_interp_count())
		malloc_trim(0);
	own->api->PyEval_RestoreThread(thread);
	gorgon_pins_drop();
	if (err)
		return raise_host_error(own, err);
	own->api->Py_DecRef(progress);
	// Nobody gets the pointer out of it any more.
	API(own, PyCapsule_SetName)(capsule, NULL);
	return gorgon_none(own);
}

// --- the module ---------------------------------------------------------------------------

static struct gorgon_error *create_host_ns(struct gorgon_interp *own)
{
	struct gorgon_thunk thunks[GORGON_MODULE_THUNKS];
	struct gorgon_ns *ns = calloc(1, sizeof(*ns));
	struct gorgon_error *err;

	if (!ns)
		return &gorgon_error_nomem;
	gorgon_module_thunks(own, thunks);
	thunks[GORGON_THUNK_OWN_FILES] = (struct gorgon_thunk){own_files, 2, own};
	thunks[GORGON_THUNK_OWN_TEMPLATE] = (struct gorgon_thunk){own_template, 2, own};
	thunks[GORGON_THUNK_OWN_CREATE] = (struct gorgon_thunk){own_create, 2, own};
	thunks[GORGON_THUNK_OWN_CALL] = (struct gorgon_thunk){own_call, 2, own};
	thunks[GORGON_THUNK_OWN_INTERRUPT] = (struct gorgon_thunk){own_interrupt, 2, own};
	thunks[GORGON_THUNK_OWN_MEMORY] = (struct gorgon_thunk){own_memory, 2, own};
	thunks[GORGON_THUNK_OWN_STOP] = (struct gorgon_thunk){own_stop, 2, own};
	thunks[GORGON_THUNK_OWN_DESTROY] = (struct gorgon_thunk){own_destroy, 2, own};
	thunks[GORGON_THUNK_OWN_ADOPT] = (struct gorgon_thunk){gorgon_data_handler_adopt, 2, own};
	if ((err = gorgon_thunks_create(thunks, GORGON_MODULE_THUNKS, &ns->thunks))) {
		free(ns);
		return err;
	}
	gorgon_calls_init(&own->calls);
	gorgon_shared_refs_init(&own->shared_refs);
	own->ns = ns;
	gorgon_ns_init();
	gorgon_lock();
	gorgon_interp_join_fork(own);
	gorgon_unlock();
	return NULL;
}

void *gorgon_module_create(void *(*find)(const char *name))
{
	struct gorgon_interp *own = &own_interp;
	struct gorgon_error *err = NULL;

	own->find = find;
	// The namespace is made only once, also if the module is made again.
	if (!own->ns)
		err = create_host_ns(own);
	if (!err && !own->api)
		err = gorgon_api_init(own);
	if (err)
		return gorgon_raise(own, err);
	if (!own->error_type)
		own->error_type = API(own, PyErr_NewException)("gorgon.Error",
							       *API(own, PyExc_RuntimeError), NULL);
	return own->error_type ? gorgon_module_init(own) : NULL;
}
