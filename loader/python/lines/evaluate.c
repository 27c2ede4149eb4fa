// SPDX-License-Identifier: MIT
// This file runs Python code that somebody types in a debugger: print py("n + 1"). It also makes
// the variables of frames that a debugger sees, and takes over what it writes there.
//
// Each Python function has a variable `py` for debuggers, a pointer to a function. Each frame of a
// stack has another function there, so that the code runs in the frame that is selected. A debugger
// calls it on the thread of the frame, which has stopped in a stub, with the GIL, or anywhere in C.
// Python code that runs then is neither stopped nor told of.
//
// An expression becomes the body of a lambda, whose parameters are the frame's values, so that
// functions inside it see them. Statements run with a dict of these values. What they have changed
// there is changed in the frame, too. The body of a class has a mapping for its names, and may have
// values of the functions around it: the dict has the names of both then. A function's frame may
// have a mapping, too, before CPython 3.13: what its values were when locals() was last called.
//
// What a debugger writes into a frame's variables (set var n = 5, an editor's "Set Value") becomes
// the frame's when the debugger lets it go on.

#define _GNU_SOURCE
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// How many frames of a stack have values while a debugger stops at a Python line.
#define FRAMES_MAX 32

struct scope {
	struct gorgon_lines *lines;
	const struct gorgon_lines_function *function;
	uintptr_t *values;
	PyObject *globals;
	PyObject *locals; // a mapping, or NULL: the values are the locals
};

static PyObject *get_value(const struct scope *scope, unsigned i)
{
	const struct gorgon_lines *lines = scope->lines;

	return gorgon_lines_value_get(lines->interp, lines->values_api, scope->values[i]);
}

static PyObject *run(const struct scope *scope, const char *source, int start, PyObject *locals)
{
	const struct gorgon_api *api = scope->lines->interp->api;
	PyObject *code = api->Py_CompileString(source, "<py>", start), *ret = NULL;

	if (code)
		ret = api->PyEval_EvalCode(code, scope->globals, locals);
	api->Py_DecRef(code);
	return ret;
}

static bool is_expression(const struct gorgon_api *api, const char *text)
{
	PyObject *code = api->Py_CompileString(text, "<py>", Py_eval_input);

	api->PyErr_Clear();
	api->Py_DecRef(code);
	return code;
}

static bool has_value(const struct scope *scope, unsigned i)
{
	PyObject *value = get_value(scope, i);

	scope->lines->interp->api->Py_DecRef(value);
	return value;
}

static char *make_lambda(const struct scope *scope, const char *text)
{
	char *ret = NULL;
	size_t size;
	FILE *file = open_memstream(&ret, &size);

	if (!file)
		return NULL;
	fputs("lambda ", file);
	for (unsigned i = 0; i < scope->function->value_count; i++)
		if (has_value(scope, i))
			fprintf(file, "%s,", scope->function->values[i]);
	fprintf(file, ": (%s\n)", text);
	if (!fclose(file))
		return ret;
	free(ret);
	return NULL;
}

static PyObject *call_lambda(const struct scope *scope, const char *text)
{
	struct gorgon_interp *interp = scope->lines->interp;
	const struct gorgon_api *api = interp->api;
	char *source = make_lambda(scope, text);
	PyObject *function = NULL, *list = api->PyList_New(0), *args = NULL, *ret = NULL;

	if (source)
		function = run(scope, source, Py_eval_input, scope->globals);
	else
		api->PyErr_NoMemory();
	for (unsigned i = 0; function && list && i < scope->function->value_count; i++) {
		PyObject *value = get_value(scope, i);

		if (value && api->PyList_Append(list, value)) {
			api->Py_DecRef(list);
			list = NULL;
		}
		api->Py_DecRef(value);
	}
	if (function && list)
		args = api->PyList_AsTuple(list);
	if (args)
		ret = api->PyObject_Call(function, args, NULL);
	api->Py_DecRef(args);
	api->Py_DecRef(list);
	api->Py_DecRef(function);
	free(source);
	return ret;
}

static void set_value(const struct scope *scope, unsigned i, PyObject *value)
{
	const struct gorgon_lines *lines = scope->lines;
	PyObject *before = get_value(scope, i);

	if (value != before)
		gorgon_lines_value_set(lines->interp, lines->values_api, &scope->values[i], value);
	lines->interp->api->Py_DecRef(before);
}

// A dict of the values, and of the names in the mapping.
static PyObject *make_dict(const struct scope *scope)
{
	struct gorgon_interp *interp = scope->lines->interp;
	PyObject *ret = interp->api->PyDict_New(), *value;
	bool failed = !ret;

	for (unsigned i = 0; !failed && i < scope->function->value_count; i++) {
		value = get_value(scope, i);
		failed = value &&
			 API(interp, PyDict_SetItemString)(ret, scope->function->values[i], value);
		interp->api->Py_DecRef(value);
	}
	if (!failed && scope->locals)
		failed = API(interp, PyDict_Update)(ret, scope->locals);
	if (!failed)
		return ret;
	interp->api->Py_DecRef(ret);
	return NULL;
}

// What such a dict has now.
static bool take_over(const struct scope *scope, PyObject *dict)
{
	struct gorgon_interp *interp = scope->lines->interp;
	PyObject *value;

	for (unsigned i = 0; i < scope->function->value_count; i++) {
		const char *name = scope->function->values[i];

		value = API(interp, PyDict_GetItemString)(dict, name);
		if (!value)
			continue;
		set_value(scope, i, value);
		if (scope->locals && API(interp, PyDict_DelItemString)(dict, name))
			return false;
	}
	if (!scope->locals)
		return true;
	value = interp->api->PyObject_CallMethod(scope->locals, "update", "O", dict);
	interp->api->Py_DecRef(value);
	return value;
}

static PyObject *run_in_dict(const struct scope *scope, const char *text, int start)
{
	const struct gorgon_api *api = scope->lines->interp->api;
	PyObject *locals = make_dict(scope), *ret = locals ? run(scope, text, start, locals) : NULL;

	if (ret && !take_over(scope, locals)) {
		api->Py_DecRef(ret);
		ret = NULL;
	}
	api->Py_DecRef(locals);
	return ret;
}

// "KeyError: 'name'"
static PyObject *describe_error(struct gorgon_interp *interp)
{
	PyObject *type, *value, *traceback, *name, *text, *ret = NULL;

	interp->api->PyErr_Fetch(&type, &value, &traceback);
	interp->api->PyErr_NormalizeException(&type, &value, &traceback);
	name = type ? API(interp, PyType_GetName)((PyTypeObject *)type) : NULL;
	text = value ? interp->api->PyObject_Str(value) : NULL;
	if (name && text)
		ret = API(interp, PyUnicode_FromFormat)("%U: %U", name, text);
	interp->api->Py_DecRef(name);
	interp->api->Py_DecRef(text);
	interp->api->Py_DecRef(type);
	interp->api->Py_DecRef(value);
	interp->api->Py_DecRef(traceback);
	return ret;
}

static PyObject *run_in(const struct scope *scope, const char *text, int start)
{
	if (!scope->locals && start == Py_eval_input)
		return call_lambda(scope, text);
	if (scope->locals && !scope->function->value_count)
		return run(scope, text, start, scope->locals);
	return run_in_dict(scope, text, start);
}

// The frame that has so many older ones, evaluators' own among them.
static uint64_t find_frame(const struct gorgon_lines *lines, uint64_t older)
{
	uint64_t frame, ret = gorgon_lines_newest_frame(lines), count = 0;

	for (frame = ret; frame; count++)
		frame = gorgon_lines_word(frame + lines->layout.frame_previous);
	if (count <= older)
		return 0;
	for (count--; count > older; count--)
		ret = gorgon_lines_word(ret + lines->layout.frame_previous);
	return ret;
}

static struct scope scope_of(struct gorgon_lines *lines, uint64_t frame)
{
	const struct gorgon_lines_function *function = gorgon_lines_function_of(lines, frame);
	uint64_t globals = frame + lines->layout.frame_globals;
	uint64_t locals = function->has_mapping ? gorgon_lines_word(globals + 16) : 0;

	return (struct scope){
		.lines = lines,
		.function = function,
		.values = (uintptr_t *)(uintptr_t)(frame + lines->layout.frame_values),
		.globals = (PyObject *)(uintptr_t)gorgon_lines_word(globals),
		.locals = (PyObject *)(uintptr_t)locals,
	};
}

// A number is an int, unless it has a fraction or the variable was a float.
static PyObject *make_number(const struct scope *scope, double number, unsigned i)
{
	struct gorgon_interp *interp = scope->lines->interp;
	PyObject *before = get_value(scope, i);
	bool real = before && Py_TYPE(before) == interp->api->PyFloat_Type;

	interp->api->Py_DecRef(before);
	if (!real && number >= -0x1p63 && number < 0x1p63 && number == (double)(long long)number)
		return interp->api->PyLong_FromLongLong((long long)number);
	return interp->api->PyFloat_FromDouble(number);
}

// Debuggers take the variable for a pointer. One that leads nowhere is an int: set var n = 5.
static PyObject *make_value(const struct scope *scope, const char *text)
{
	struct gorgon_interp *interp = scope->lines->interp;
	char first;
	struct iovec to = {&first, 1}, from = {(void *)(uintptr_t)text, 1};

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		return interp->api->PyLong_FromLongLong((intptr_t)text);
	return run_in(scope, text + strspn(text, " \t"), Py_eval_input);
}

static void assign(const struct scope *scope, unsigned i, PyObject *value)
{
	struct gorgon_interp *interp = scope->lines->interp;
	PyObject *error;
	char line[256];

	if (value) {
		set_value(scope, i, value);
		interp->api->Py_DecRef(value);
		return;
	}
	error = describe_error(interp);
	snprintf(line, sizeof(line), "%s keeps its value: %s", scope->function->values[i],
		 error ? interp->api->PyUnicode_AsUTF8AndSize(error, NULL) ?: "" : "");
	gorgon_lines_complain(scope->lines, line);
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(error);
}

static void assign_frame(struct gorgon_lines *lines, uint64_t frame,
			 const union gorgon_lines_value *values)
{
	const struct scope scope = scope_of(lines, frame);
	const struct gorgon_lines_function *function = scope.function;
	const unsigned count = function->value_count;
	uint32_t yields = gorgon_lines_yields(lines);

	for (unsigned i = 0; i < count; i++) {
		if (gorgon_lines_values_has_text(function, values, i))
			assign(&scope, i, make_value(&scope, values[i].text));
		if (gorgon_lines_values_has_number(function, values, i))
			assign(&scope, i, make_number(&scope, values[count + i].number, i));
	}
	gorgon_lines_set_yields(lines, yields);
}

static void fill_values(struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	if (record->values)
		gorgon_lines_values_fill(
			lines->interp, lines->values_api,
			gorgon_lines_function_of(lines, record->frame),
			(const uintptr_t *)(uintptr_t)(record->frame + lines->layout.frame_values),
			(union gorgon_lines_value *)(uintptr_t)record->values);
}

void gorgon_lines_make_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX;
	     i++, record = gorgon_lines_older_record(lines, record)) {
		record->values = (uintptr_t)gorgon_lines_values_create(
			gorgon_lines_function_of(lines, record->frame));
		fill_values(lines, record);
	}
}

void gorgon_lines_free_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX;
	     i++, record = gorgon_lines_older_record(lines, record)) {
		free((void *)(uintptr_t)record->values);
		record->values = 0;
	}
}

// The newest frame may have none: it returns, and the stub is its caller's.
void gorgon_lines_take_values(struct gorgon_lines *lines)
{
	struct gorgon_lines_record *record =
		gorgon_lines_known_record(lines, gorgon_lines_newest_frame(lines));

	for (unsigned i = 0; record && i <= FRAMES_MAX;
	     i++, record = gorgon_lines_older_record(lines, record))
		if (record->values)
			assign_frame(lines, record->frame, (void *)(uintptr_t)record->values);
}

static void renew_values(struct gorgon_lines *lines)
{
	struct gorgon_lines_record *record =
		gorgon_lines_known_record(lines, gorgon_lines_newest_frame(lines));

	for (unsigned i = 0; record && i <= FRAMES_MAX;
	     i++, record = gorgon_lines_older_record(lines, record))
		fill_values(lines, record);
}

// With the GIL and without a Python error.
static const char *evaluate(const char *text, uint64_t frame, struct gorgon_lines *lines)
{
	struct gorgon_interp *interp = lines->interp;
	const struct scope scope = scope_of(lines, frame);
	PyObject *result, *answer = NULL;
	const char *ret;

	text += strspn(text, " \t");
	result = run_in(&scope, text,
			is_expression(interp->api, text) ? Py_eval_input : Py_file_input);
	if (result)
		answer = API(interp, PyObject_Repr)(result);
	interp->api->Py_DecRef(result);
	if (!answer)
		answer = describe_error(interp);
	ret = answer ? interp->api->PyUnicode_AsUTF8AndSize(answer, NULL) : NULL;
	interp->api->PyErr_Clear();
	interp->api->Py_DecRef(lines->answer);
	lines->answer = answer;
	return ret ?: "(no text)";
}

const char *gorgon_lines_evaluate(const char *text, uint64_t offset, struct gorgon_lines *lines)
{
	const uint64_t older = offset / GORGON_LINES_EVALUATE_SIZE - 1;
	PyObject *type, *value, *traceback;
	bool busy = gorgon_lines_is_busy;
	PyGILState_STATE gil = 0;
	uint32_t yields;
	uint64_t frame;
	const char *ret = "(not in a Python frame)";

	if (older == GORGON_LINES_EVALUATE_ALL)
		return ret;
	if (!busy) // the thread has stopped anywhere
		gil = lines->interp->api->PyGILState_Ensure();
	frame = find_frame(lines, older);
	if (frame && gorgon_lines_function_of(lines, frame)) {
		gorgon_lines_is_busy = true;
		yields = gorgon_lines_yields(lines);
		lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
		gorgon_lines_take_values(lines);
		ret = evaluate(text, frame, lines);
		renew_values(lines);
		lines->api.restore(type, value, traceback);
		gorgon_lines_set_yields(lines, yields);
		gorgon_lines_is_busy = busy;
	}
	if (!busy)
		lines->interp->api->PyGILState_Release(gil);
	return ret;
}
