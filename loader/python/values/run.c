// SPDX-License-Identifier: MIT
// What a host does in a started interpreter: run a string, a file, a module; call a function.
//
// All of it happens with the GIL, in calls (call.c), through functions of the stable ABI.

#define _GNU_SOURCE
#include "run.h"
#include "value.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

// As CPython does, before it runs a string or a file: who watches what is executed is told
// (PEP 578), debuggers' Python lines among them.
static bool audit(struct gorgon_interp *interp, PyObject *code)
{
	int (*audit_event)(const char *, const char *, ...) =
		(int (*)(const char *, const char *, ...))gorgon_interp_find_symbol(interp,
										    "PySys_Audit");

	return !audit_event || !audit_event("exec", "O", code);
}

// Run a code object in `__main__`. Releases the code object.
static struct gorgon_error *run_code(struct gorgon_interp *interp, PyObject *code)
{
	const struct gorgon_api *api = interp->api;
	PyObject *module = api->PyImport_AddModule("__main__"); // borrowed
	PyObject *globals = module ? api->PyModule_GetDict(module) : NULL;
	PyObject *result = globals && audit(interp, code)
				   ? api->PyEval_EvalCode(code, globals, globals)
				   : NULL;
	struct gorgon_error *err = result ? NULL : gorgon_call_fail(interp);

	api->Py_DecRef(result);
	api->Py_DecRef(code);
	return err;
}

// --- run ----------------------------------------------------------------------------------

struct source {
	const char *text, *name;
};

static struct gorgon_error *run_string(struct gorgon_interp *interp, void *ctx)
{
	const struct source *source = ctx;
	struct gorgon_error *err;
	PyObject *code;

	err = gorgon_call_result(interp,
				 interp->api->Py_CompileString(
					 source->text, source->name ?: "<string>", Py_file_input),
				 &code);
	return err ?: run_code(interp, code);
}

struct gorgon_error *gorgon_interp_run_string(struct gorgon_interp *interp, const char *source,
					      const char *name)
{
	struct source string = {source, name};

	return gorgon_call_job(interp, (struct gorgon_job_name){name ?: "<string>", NULL},
			       run_string, &string);
}

// The bytes of a file: compile_to_run() finds out about its encoding.
static struct gorgon_error *read_file_to_run(struct gorgon_interp *interp, PyObject *path,
					     PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	PyObject *io = api->PyImport_ImportModule("io"), *file = NULL, *closed = NULL,
		 *bytes = NULL;

	if (io)
		file = api->PyObject_CallMethod(io, "open_code", "(O)", path);
	if (file)
		bytes = api->PyObject_CallMethod(file, "read", NULL);
	if (bytes)
		closed = api->PyObject_CallMethod(file, "close", NULL);
	api->Py_DecRef(io);
	api->Py_DecRef(file);
	if (!closed) {
		api->Py_DecRef(bytes);
		return gorgon_call_fail(interp);
	}
	api->Py_DecRef(closed);
	*ret = bytes;
	return NULL;
}

static struct gorgon_error *compile_to_run(struct gorgon_interp *interp, PyObject *source,
					   PyObject *path, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	PyObject *builtins = api->PyImport_ImportModule("builtins"), *code = NULL;

	if (builtins)
		code = api->PyObject_CallMethod(builtins, "compile", "(OOs)", source, path, "exec");
	api->Py_DecRef(builtins);
	return gorgon_call_result(interp, code, ret);
}

static struct gorgon_error *run_path(struct gorgon_interp *interp, PyObject *path)
{
	const struct gorgon_api *api = interp->api;
	PyObject *source = NULL, *code, *module = api->PyImport_AddModule("__main__");
	struct gorgon_error *err = read_file_to_run(interp, path, &source);

	if (err)
		return err;
	err = compile_to_run(interp, source, path, &code);
	api->Py_DecRef(source);
	if (err)
		return err;
	if (!module || api->PyObject_SetAttrString(module, "__file__", path)) {
		api->Py_DecRef(code);
		return gorgon_call_fail(interp);
	}
	return run_code(interp, code);
}

static struct gorgon_error *run_file(struct gorgon_interp *interp, void *ctx)
{
	struct gorgon_error *err;
	PyObject *path;

	err = gorgon_call_result(interp, interp->api->PyUnicode_DecodeFSDefault(ctx), &path);
	if (err)
		return err;
	err = run_path(interp, path);
	interp->api->Py_DecRef(path);
	return err;
}

struct gorgon_error *gorgon_interp_run_file(struct gorgon_interp *interp, const char *path)
{
	return gorgon_call_job(interp, (struct gorgon_job_name){path, NULL}, run_file,
			       (void *)path);
}

struct gorgon_error *gorgon_interp_run_module(struct gorgon_interp *interp, const char *name)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST}, items[3] = {
		{.kind = GORGON_VALUE_STRING, .text = {name, strlen(name)}},
		{.kind = GORGON_VALUE_NONE},
		{.kind = GORGON_VALUE_STRING, .text = {"__main__", 8}},
	};
	struct gorgon_value alter_sys[2] = {
		{.kind = GORGON_VALUE_STRING, .text = {"alter_sys", 9}},
		{.kind = GORGON_VALUE_BOOL, .boolean = true},
	};
	struct gorgon_value kwargs = {.kind = GORGON_VALUE_DICT, .list = {alter_sys, 1}};

	args.list.items = items;
	args.list.count = 3;
	return gorgon_interp_call(interp, "runpy", "run_module", &args, &kwargs, NULL);
}

// --- call ---------------------------------------------------------------------------------

struct function_call {
	const char *module, *function;
	const struct gorgon_value *args, *kwargs;
	struct gorgon_value *ret;
};

struct gorgon_error *gorgon_run_get_attribute(struct gorgon_interp *interp, PyObject *object,
					      const char *names, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	char *copy = strdup(names);

	if (!copy) {
		api->Py_DecRef(object);
		return &gorgon_error_nomem;
	}
	for (char *rest, *part = strtok_r(copy, ".", &rest); object && part;
	     part = strtok_r(NULL, ".", &rest)) {
		PyObject *attribute = api->PyObject_GetAttrString(object, part);

		api->Py_DecRef(object);
		object = attribute;
	}
	free(copy);
	return gorgon_call_result(interp, object, ret);
}

// Positional arguments as the tuple that Python wants.
static struct gorgon_error *make_args_to_run(struct gorgon_interp *interp,
					     const struct gorgon_value *args, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	struct gorgon_error *err;
	PyObject *list;

	if (!args)
		return gorgon_call_result(interp, api->PyTuple_New(0), ret);
	if ((err = gorgon_value_to_python(interp, args, "args", &list)))
		return err;
	err = gorgon_call_result(interp, api->PyList_AsTuple(list), ret);
	api->Py_DecRef(list);
	return err;
}

struct gorgon_error *gorgon_run_call(struct gorgon_interp *interp, PyObject *function,
				     const struct gorgon_value *args,
				     const struct gorgon_value *kwargs, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	PyObject *tuple = NULL, *dict = NULL;
	struct gorgon_error *err = make_args_to_run(interp, args, &tuple);

	if (!err && kwargs)
		err = gorgon_value_to_python(interp, kwargs, "kwargs", &dict);
	if (!err)
		err = gorgon_call_result(interp, api->PyObject_Call(function, tuple, dict), ret);
	api->Py_DecRef(tuple);
	api->Py_DecRef(dict);
	return err;
}

static struct gorgon_error *call_function(struct gorgon_interp *interp, void *ctx)
{
	const struct gorgon_api *api = interp->api;
	const struct function_call *call = ctx;
	PyObject *module, *function, *result;
	struct gorgon_error *err;

	err = gorgon_call_result(interp, api->PyImport_ImportModule(call->module ?: "__main__"),
				 &module);
	if (err || (err = gorgon_run_get_attribute(interp, module, call->function, &function)))
		return err;
	err = gorgon_run_call(interp, function, call->args, call->kwargs, &result);
	api->Py_DecRef(function);
	if (err)
		return err;
	if (call->ret)
		return gorgon_value_take(interp, result, "result", call->ret);
	api->Py_DecRef(result);
	return NULL;
}

struct gorgon_error *gorgon_run_check(const char *what, const struct gorgon_value *args,
				      const struct gorgon_value *kwargs)
{
	if (args && args->kind != GORGON_VALUE_LIST)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "%s: args is of kind %d, expected a list (%d)", what,
					   (int)args->kind, GORGON_VALUE_LIST);
	if (kwargs && kwargs->kind != GORGON_VALUE_DICT)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "%s: kwargs is of kind %d, expected a dict (%d)", what,
					   (int)kwargs->kind, GORGON_VALUE_DICT);
	return NULL;
}

struct gorgon_error *gorgon_interp_call(struct gorgon_interp *interp, const char *module,
					const char *function, const struct gorgon_value *args,
					const struct gorgon_value *kwargs, struct gorgon_value *ret)
{
	struct function_call call = {module, function, args, kwargs, ret};

	return gorgon_run_check(function, args, kwargs)
		       ?: gorgon_call_job(interp, (struct gorgon_job_name){module, function},
					  call_function, &call);
}
