// SPDX-License-Identifier: MIT
// The CPython that the process itself runs: a python3 that has imported the package `gorgon`
// (../../python/), and is the host of private interpreters.
//
// It has its place among them as far as arrays go, so the code for these (share.c,
// data_handler.c, value.c) is the same: a struct gorgon_interp without a libpython, whose C
// API the extension module finds. Its namespace has thunks and a lock, loads nothing, and
// debuggers do not see it.
//
// Unlike a copy it lives as long as the process. So its objects' memory is shared where it
// is: an array pins the object. The last holder may be any thread, with another
// interpreter's GIL or none, so what is not needed any more waits in a list until this
// CPython's main thread, or a thread that comes back from a call, drops it.
//
// Private interpreters are capsules here. Who uses them (the package) sees to it that none
// is destroyed while it is called or interrupted. Each runs on a thread of its own (home.c), which
// has descriptors and a current directory of its own: the thread of this CPython that calls it
// waits there, and keeps its own for what it does next.

#define _GNU_SOURCE
#include "own.h"
#include "array.h"
#include "home.h"
#include "share.h"
#include "value.h"
#include "../elf/error.h"
#include "../elf/exits.h"
#include "../elf/ns.h"
#include "../elf/replace.h"

#include <stdlib.h>
#include <unistd.h>

#define CAPSULE "gorgon.interpreter"

static struct gorgon_interp own_interp = {.own = true};

// --- pins -------------------------------------------------------------------------------

struct pin {
	struct pin *next;
	PyObject *object; // NULL: it is the view's
	Py_buffer view;
};

static struct pin *unpinned; // atomic
static bool asked;	     // the main thread is, to drop them; atomic

// With the GIL.
static void give_up(struct gorgon_interp *own, struct pin *pin)
{
	if (pin->object)
		own->api->Py_DecRef(pin->object);
	else
		own->api->PyBuffer_Release(&pin->view);
	free(pin);
}

static int drop(void *ctx)
{
	struct pin *pin, *next;

	(void)ctx;
	__atomic_store_n(&asked, false, __ATOMIC_RELEASE);
	for (pin = __atomic_exchange_n(&unpinned, NULL, __ATOMIC_ACQUIRE); pin; pin = next) {
		next = pin->next;
		give_up(&own_interp, pin);
	}
	return 0;
}

// When too much is asked of the main thread already, the next one to come sees to it.
static void unpin(void *ctx, void *data)
{
	struct pin *pin = ctx;

	(void)data;
	pin->next = __atomic_load_n(&unpinned, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&unpinned, &pin->next, pin, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	if (!__atomic_exchange_n(&asked, true, __ATOMIC_ACQ_REL) &&
	    own_interp.api->Py_AddPendingCall(drop, NULL))
		__atomic_store_n(&asked, false, __ATOMIC_RELEASE);
}

// Where the item of the lowest address is.
static void *lowest(const Py_buffer *view)
{
	char *ret = view->buf;

	for (int i = 0; i < view->ndim && view->len; i++)
		if (view->strides[i] < 0)
			ret += (view->shape[i] - 1) * view->strides[i];
	return ret;
}

static struct gorgon_array *pinned(struct gorgon_interp *own, struct pin *pin,
				   struct gorgon_array_opts *opts)
{
	struct gorgon_array *ret;
	struct gorgon_error *err;

	opts->destroy = unpin;
	opts->ctx = pin;
	err = gorgon_array_create(opts, &ret);
	if (!err)
		return ret;
	give_up(own, pin);
	return (void *)gorgon_share_raise(own, err);
}

struct gorgon_array *gorgon_own_pin(struct gorgon_interp *own, PyObject *object,
				    const struct gorgon_array_layout *layout, bool writable)
{
	struct pin *pin = calloc(1, sizeof(*pin));
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = *layout,
		.writable = writable,
	};

	if (!pin || API(own, PyObject_GetBuffer)(object, &pin->view,
						 writable ? PyBUF_FULL : PyBUF_FULL_RO)) {
		free(pin);
		return pin ? NULL : (void *)API(own, PyErr_NoMemory)();
	}
	opts.layout.shape = pin->view.shape;
	opts.layout.strides = pin->view.strides;
	opts.data = lowest(&pin->view);
	return pinned(own, pin, &opts);
}

struct gorgon_array *gorgon_own_hold(struct gorgon_interp *own, PyObject *object, void *lowest_item,
				     const struct gorgon_array_layout *layout, bool writable)
{
	struct pin *pin = calloc(1, sizeof(*pin));
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = *layout,
		.writable = writable,
		.data = lowest_item,
	};

	if (!pin)
		return (void *)API(own, PyErr_NoMemory)();
	own->api->Py_IncRef(object);
	pin->object = object;
	return pinned(own, pin, &opts);
}

// --- private interpreters ----------------------------------------------------------------

// Of an interpreter, as gorgon.Error. Its code says what kind; the package makes more of it.
static PyObject *raise_error(struct gorgon_interp *own, struct gorgon_error *err)
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

// What a capsule has.
struct guest {
	struct gorgon_interp *interp;
	struct gorgon_home *home; // NULL: it runs on the threads that call it
	PyObject *progress;
	pid_t pid;
};

// With the GIL.
static bool report_here(struct guest *guest, const struct gorgon_value *value)
{
	const struct gorgon_api *api = own_interp.api;
	PyObject *object, *result = NULL;
	struct gorgon_error *err = gorgon_value_to_python(&own_interp, value, "progress", &object);
	bool ret;

	if (err) {
		gorgon_share_raise(&own_interp, err);
	} else {
		result = API(&own_interp, PyObject_CallFunctionObjArgs)(guest->progress, object, NULL);
		api->Py_DecRef(object);
	}
	ret = result && API(&own_interp, PyObject_IsTrue)(result) > 0;
	if (API(&own_interp, PyErr_Occurred)())
		API(&own_interp, PyErr_WriteUnraisable)(guest->progress);
	api->Py_DecRef(result);
	return ret;
}

struct report {
	struct guest *guest;
	const struct gorgon_value *value;
	bool ret;
};

static void report_with_gil(void *ctx)
{
	struct report *report = ctx;
	PyGILState_STATE gil = own_interp.api->PyGILState_Ensure();

	report->ret = report_here(report->guest, report->value);
	own_interp.api->PyGILState_Release(gil);
}

// gorgon.progress() of an interpreter, for the callable that its creator has given.
static bool report(void *ctx, const struct gorgon_value *value)
{
	struct report report = {.guest = ctx, .value = value};

	if (report.guest->home)
		gorgon_home_call_back(report.guest->home, report_with_gil, &report);
	else
		report_with_gil(&report);
	return report.ret;
}

// Without the GIL. What is to be done while a call runs - to interrupt it - cannot wait for its end.
static void at_home(struct guest *guest, void (*fn)(void *ctx), void *ctx)
{
	if (!guest->home || !gorgon_home_run(guest->home, fn, ctx))
		fn(ctx);
}

// Pointers into the strings of a list, with NULL behind them; to be freed. NULL: an exception.
static const char **strings_of(struct gorgon_interp *own, PyObject *list)
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

struct start {
	struct guest *guest;
	const struct gorgon_interp_opts *opts;
	const struct gorgon_start_opts *start_opts;
	struct gorgon_error *err;
};

static void start(void *ctx)
{
	struct start *start = ctx;
	struct gorgon_interp *interp;

	if ((start->err = gorgon_interp_create(start->opts, &interp)))
		return;
	start->err = gorgon_interp_start(interp, start->start_opts);
	// Nothing has run in it that could keep it.
	if (start->err)
		gorgon_error_destroy(gorgon_interp_destroy(interp));
	else
		start->guest->interp = interp;
}

static struct gorgon_error *start_at_home(struct start *ctx, bool share_files)
{
	struct gorgon_error *err = NULL;

	if (!share_files && (err = gorgon_home_create(&ctx->guest->home)))
		return err;
	at_home(ctx->guest, start, ctx);
	if (ctx->err)
		gorgon_home_destroy(ctx->guest->home);
	return ctx->err;
}

// With the GIL.
static void guest_free(struct gorgon_interp *own, struct guest *guest)
{
	own->api->Py_DecRef(guest->progress);
	free(guest);
}

static PyObject *create(struct gorgon_interp *own, const char *python, const char **options,
			PyObject *progress, bool share_files)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	// Signals are this CPython's matter.
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.python = python,
		.ns = {.size = sizeof(opts.ns), .no_signals = true},
	};
	struct gorgon_start_opts start_opts = {
		.size = sizeof(start_opts),
		.progress = report,
		.progress_ctx = guest,
		.options = options,
	};
	struct start ctx = {.guest = guest, .opts = &opts, .start_opts = &start_opts};
	struct gorgon_error *err;
	void *thread;

	if (!guest)
		return API(own, PyErr_NoMemory)();
	guest->pid = getpid();
	guest->progress = progress;
	own->api->Py_IncRef(progress);
	thread = own->api->PyEval_SaveThread();
	err = start_at_home(&ctx, share_files);
	own->api->PyEval_RestoreThread(thread);
	if (!err)
		return API(own, PyCapsule_New)(guest, CAPSULE, NULL);
	guest_free(own, guest);
	return raise_error(own, err);
}

PyObject *gorgon_own_create(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	PyObject *options, *progress, *ret;
	const char *python, **list;
	int share_files;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "sOOp:_create", &python, &options, &progress,
					&share_files) ||
	    !(list = strings_of(own, options)))
		return NULL;
	ret = create(own, python, list, progress, share_files);
	free(list);
	return ret;
}

struct own_call {
	struct guest *guest;
	const char *module, *function;
	struct gorgon_value *args, *result;
	struct gorgon_error *err;
};

static void call(void *ctx)
{
	struct own_call *call = ctx;
	struct gorgon_interp *interp = call->guest->interp;

	call->err = gorgon_interp_call(interp, call->module, call->function, call->args, NULL,
				       call->result);
	// A child that it has forked has nobody who waits for the result.
	if (call->guest->home && call->guest->pid != getpid())
		gorgon_exits_leave(interp->ns, call->err != NULL);
}

PyObject *gorgon_own_call(PyObject *self, PyObject *args, struct gorgon_interp *own)
{
	struct gorgon_value values, result;
	PyObject *capsule, *list, *ret = NULL;
	struct own_call ctx = {.args = &values, .result = &result};
	struct gorgon_error *err;
	void *thread;

	(void)self;
	if (!API(own, PyArg_ParseTuple)(args, "OssO:_call", &capsule, &ctx.module, &ctx.function,
					&list) ||
	    !(ctx.guest = API(own, PyCapsule_GetPointer)(capsule, CAPSULE)))
		return NULL;
	err = gorgon_value_from_python(own, list, "args", &values);
	if (err)
		return raise_error(own, err);
	thread = own->api->PyEval_SaveThread();
	at_home(ctx.guest, call, &ctx);
	gorgon_value_deinit(&values);
	own->api->PyEval_RestoreThread(thread);
	drop(NULL);
	if (ctx.err)
		return raise_error(own, ctx.err);
	err = gorgon_value_to_python(own, &result, "result", &ret);
	gorgon_value_deinit(&result);
	return err ? raise_error(own, err) : ret;
}

PyObject *gorgon_own_interrupt(PyObject *self, PyObject *capsule, struct gorgon_interp *own)
{
	struct guest *guest = API(own, PyCapsule_GetPointer)(capsule, CAPSULE);
	struct gorgon_error *err;
	void *thread;

	(void)self;
	if (!guest)
		return NULL;
	thread = own->api->PyEval_SaveThread();
	err = gorgon_interp_interrupt(guest->interp);
	own->api->PyEval_RestoreThread(thread);
	return err ? raise_error(own, err) : gorgon_none(own);
}

struct end {
	struct gorgon_interp *interp;
	struct gorgon_error *err;
};

static void end(void *ctx)
{
	struct end *end = ctx;

	end->err = gorgon_interp_destroy(end->interp);
}

PyObject *gorgon_own_destroy(PyObject *self, PyObject *capsule, struct gorgon_interp *own)
{
	struct guest *guest = API(own, PyCapsule_GetPointer)(capsule, CAPSULE);
	struct end ctx;
	void *thread;

	(void)self;
	if (!guest)
		return NULL;
	ctx = (struct end){.interp = guest->interp};
	thread = own->api->PyEval_SaveThread();
	at_home(guest, end, &ctx);
	if (!ctx.err)
		gorgon_home_destroy(guest->home);
	own->api->PyEval_RestoreThread(thread);
	drop(NULL);
	if (ctx.err)
		return raise_error(own, ctx.err);
	guest_free(own, guest);
	// Nobody gets the pointer out of it any more.
	API(own, PyCapsule_SetName)(capsule, NULL);
	return gorgon_none(own);
}

// --- the module ---------------------------------------------------------------------------

static void lock(void)
{
	pthread_mutex_lock(&own_interp.ns->heap.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&own_interp.ns->heap.lock);
}

static struct gorgon_error *create_ns(struct gorgon_interp *own)
{
	struct gorgon_thunk thunks[GORGON_MODULE_THUNKS];
	struct gorgon_ns *ns = calloc(1, sizeof(*ns));
	struct gorgon_error *err;

	if (!ns)
		return &gorgon_error_nomem;
	gorgon_module_thunks(own, thunks);
	if ((err = gorgon_replace_init(ns, thunks, GORGON_MODULE_THUNKS))) {
		free(ns);
		return err;
	}
	gorgon_heap_init(&ns->heap);
	gorgon_holdings_init(&own->holdings);
	own->ns = ns;
	// A leaf, as the locks of other namespaces, which are taken around fork(), too.
	return pthread_atfork(lock, unlock, unlock) ? &gorgon_error_nomem : NULL;
}

void *gorgon_module_create(void *(*find)(const char *name))
{
	struct gorgon_interp *own = &own_interp;
	struct gorgon_error *err = NULL;

	own->find = find;
	// Once; a module that is made again finds the rest as it was.
	if (!own->ns)
		err = create_ns(own);
	if (!err && !own->api)
		err = gorgon_api_init(own);
	if (err)
		return gorgon_share_raise(own, err);
	if (!own->error_type)
		own->error_type = API(own, PyErr_NewException)("gorgon.Error",
							       *API(own, PyExc_RuntimeError), NULL);
	return own->error_type ? gorgon_module_init(own) : NULL;
}
