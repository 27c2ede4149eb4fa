// SPDX-License-Identifier: MIT
// Functions of the host as callables of Python.
//
// The callable is an ordinary built-in function of the interpreter's CPython, whose `self` is a
// capsule with what the host has given. CPython frees the capsule after the function, so the
// function's definition can lie behind the capsule. What CPython has not freed when it ends, the
// end of the interpreter frees.

#define _GNU_SOURCE
#include "function.h"
#include "value.h"
#include "base/error.h"
#include "base/sized.h"
#include "process/interpose.h"
#include "python/calls/held.h"
#include "python/calls/raise.h"
#include "python/calls/thunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPSULE "gorgon.function"

struct function {
	struct gorgon_link link; // in the interpreter's list; the GIL orders it
	struct gorgon_function_opts opts;
	PyMethodDef def;
	char text[]; // the name, then the documentation
};

// What a function of the host answers.
struct gorgon_answer {
	struct gorgon_value value;
};

struct gorgon_error *gorgon_answer_set(struct gorgon_answer *answer,
				       const struct gorgon_value *value)
{
	struct gorgon_value copy;
	struct gorgon_error *err = gorgon_value_copy(value, "answer", &copy);

	if (err)
		return err;
	gorgon_value_deinit(&answer->value);
	answer->value = copy;
	return NULL;
}

// --- exceptions -------------------------------------------------------------------------

struct gorgon_error *gorgon_exception_create(const char *type, const char *message)
{
	struct gorgon_exception exception = {strdup(type), strdup(message), strdup("")};

	return gorgon_error_create_exception("host", &exception);
}

// The class of a name, "ValueError" or "json.decoder.JSONDecodeError"; NULL without an exception:
// there is none.
static PyObject *find_class(struct gorgon_interp *interp, const char *name)
{
	const char *dot = strrchr(name, '.');
	char *module_name = dot ? strndup(name, (size_t)(dot - name)) : strdup("builtins");
	PyObject *module = module_name ? API(interp, PyImport_ImportModule)(module_name) : NULL;
	PyObject *ret =
		module ? API(interp, PyObject_GetAttrString)(module, dot ? dot + 1 : name) : NULL;

	API(interp, Py_DecRef)(module);
	free(module_name);
	API(interp, PyErr_Clear)();
	if (ret && API(interp, PyObject_IsSubclass)(ret, *API(interp, PyExc_BaseException)) == 1)
		return ret;
	API(interp, PyErr_Clear)();
	API(interp, Py_DecRef)(ret);
	return NULL;
}

// Raise an exception of the class with this message. Returns false, with no exception, if the class
// cannot be called with a message alone, as UnicodeDecodeError cannot.
static bool raise_message(struct gorgon_interp *interp, PyObject *type, const char *message)
{
	PyObject *value = API(interp, PyObject_CallFunction)(type, "s", message);
	bool ret = value && API(interp, PyObject_IsInstance)(value, type) == 1;

	API(interp, PyErr_Clear)();
	if (ret)
		API(interp, PyErr_SetObject)(type, value);
	API(interp, Py_DecRef)(value);
	return ret;
}

// Raise what the host's function has returned, and release it; returns NULL.
static PyObject *raise_answer(struct gorgon_interp *interp, struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);
	PyObject *type = exception ? find_class(interp, exception->type) : NULL;
	int errnum = gorgon_error_errno(err);

	if (type && raise_message(interp, type, exception->message))
		; // done
	else if (gorgon_error_code(err) == GORGON_ERROR_NOMEM)
		API(interp, PyErr_NoMemory)();
	else if (errnum)
		API(interp, PyErr_Format)(*API(interp, PyExc_OSError), "[Errno %d] %s", errnum,
					  gorgon_error_message(err));
	else
		API(interp, PyErr_SetString)(*API(interp, PyExc_RuntimeError),
					     gorgon_error_message(err));
	API(interp, Py_DecRef)(type);
	gorgon_error_destroy(err);
	return NULL;
}

// --- the callable -------------------------------------------------------------------------

static PyObject *call_of_values(struct gorgon_interp *interp, const struct function *function,
				const struct gorgon_value *args, const struct gorgon_value *kwargs)
{
	struct gorgon_answer answer = {{.kind = GORGON_VALUE_NONE}};
	void *thread = API(interp, PyEval_SaveThread)();
	struct gorgon_error *err = function->opts.call(function->opts.ctx, args, kwargs, &answer);
	PyObject *ret = NULL;

	API(interp, PyEval_RestoreThread)(thread);
	if (err)
		raise_answer(interp, err);
	else if ((err = gorgon_value_to_python(interp, &answer.value, "answer", &ret)))
		raise_answer(interp, err);
	gorgon_value_deinit(&answer.value);
	return err ? NULL : ret;
}

static PyObject *call_function(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp)
{
	const struct function *function = API(interp, PyCapsule_GetPointer)(self, CAPSULE);
	struct gorgon_value c_args, c_kwargs = {.kind = GORGON_VALUE_DICT};
	struct gorgon_error *err;
	PyObject *ret = NULL;

	if (!function)
		return NULL;
	err = gorgon_value_of_arguments(interp, args, "argument", &c_args);
	if (err) {
		API(interp, PyErr_SetString)(*API(interp, PyExc_TypeError),
					     gorgon_error_message(err));
		gorgon_error_destroy(err);
		return NULL;
	}
	err = kwargs ? gorgon_value_of_arguments(interp, kwargs, "keyword argument", &c_kwargs)
		     : NULL;
	if (err) {
		API(interp, PyErr_SetString)(*API(interp, PyExc_TypeError),
					     gorgon_error_message(err));
		gorgon_error_destroy(err);
	} else {
		ret = call_of_values(interp, function, &c_args, &c_kwargs);
		gorgon_value_deinit(&c_kwargs);
	}
	gorgon_value_deinit(&c_args);
	return ret;
}

PyObject *gorgon_function_call(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp)
{
	PyObject *ret;

	gorgon_call_begin_inner(interp);
	ret = call_function(self, args, kwargs, interp);
	gorgon_call_end_inner(interp);
	return ret;
}

static void end_function(struct function *function)
{
	gorgon_link_remove(&function->link);
	if (function->opts.destroy)
		function->opts.destroy(function->opts.ctx);
	free(function);
}

void gorgon_function_free(PyObject *capsule, struct gorgon_interp *interp)
{
	end_function(API(interp, PyCapsule_GetPointer)(capsule, CAPSULE));
}

void gorgon_functions_end(struct gorgon_interp *interp)
{
	while (interp->functions.next != &interp->functions)
		end_function((struct function *)interp->functions.next);
}

static struct function *create_function(struct gorgon_interp *interp,
					const struct gorgon_function_opts *opts)
{
	size_t name_size = strlen(opts->name) + 1, doc_size = opts->doc ? strlen(opts->doc) + 1 : 0;
	struct function *ret = malloc(sizeof(*ret) + name_size + doc_size);

	if (!ret)
		return NULL;
	*ret = (struct function){.opts = *opts};
	memcpy(ret->text, opts->name, name_size);
	memcpy(ret->text + name_size, opts->doc ?: "", doc_size);
	ret->def = (PyMethodDef){
		.ml_name = ret->text,
		.ml_meth =
			(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_FUNCTION_CALL),
		.ml_flags = METH_VARARGS | METH_KEYWORDS,
		.ml_doc = opts->doc ? ret->text + name_size : NULL,
	};
	return ret;
}

struct creation {
	const struct gorgon_function_opts *opts;
	struct gorgon_pyobject *ret;
};

static struct gorgon_error *create_callable(struct gorgon_interp *interp, void *ctx)
{
	struct creation *creation = ctx;
	struct function *function = create_function(interp, creation->opts);
	PyObject *capsule, *callable;

	if (!function)
		return &gorgon_error_nomem;
	capsule = API(interp, PyCapsule_New)(function, CAPSULE,
					     (PyCapsule_Destructor)gorgon_interpose_thunk(
						     interp->ns, GORGON_THUNK_FUNCTION_FREE));
	if (!capsule) {
		free(function);
		return gorgon_call_fail(interp);
	}
	// What the host has given is the host's until nothing can fail any more.
	function->opts.destroy = NULL;
	gorgon_link_add(&interp->functions, &function->link);
	callable = API(interp, PyCMethod_New)(&function->def, capsule, NULL, NULL);
	API(interp, Py_DecRef)(capsule);
	if (!callable)
		return gorgon_call_fail(interp);
	creation->ret = gorgon_held_add(interp, callable);
	if (!creation->ret) {
		API(interp, Py_DecRef)(callable);
		return &gorgon_error_nomem;
	}
	function->opts.destroy = creation->opts->destroy;
	return NULL;
}

struct gorgon_error *gorgon_function_create(struct gorgon_interp *interp,
					    const struct gorgon_function_opts *opts,
					    struct gorgon_pyobject **ret)
{
	struct gorgon_function_opts whole;
	struct creation creation = {&whole, NULL};
	struct gorgon_error *err =
		gorgon_sized_read("gorgon_function_opts", opts, &whole, sizeof(whole));

	if (err)
		return err;
	if (!whole.name || !whole.call)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT, "function: has no %s",
					   whole.name ? "call" : "name");
	err = gorgon_call_python(interp, create_callable, &creation);
	if (!err)
		*ret = creation.ret;
	return err;
}
