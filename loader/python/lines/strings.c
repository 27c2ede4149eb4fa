// SPDX-License-Identifier: MIT
// Code that is in no file: `python3 -c`, exec() of a text, cells of a notebook, modules in a zip
// file.
//
// CPython tells an audit hook of each text that it compiles, and of the name that the text's code
// objects will have as their file. The newest texts are remembered. When such code runs while a
// debugger is there, its text is written to a file, so that the debugger shows lines.
//
// Several texts may have the same name: exec() calls all of them <string>. The newest text is taken
// that has the names which the code uses. Libraries make classes by exec(), and what a library
// calls <string> is left out.

#define _GNU_SOURCE
#include "strings.h"
#include "files.h"
#include "state.h"

#include <jitreg.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRINGS_MAX 64
#define BYTES_MAX   (4u << 20) // together
#define FILES_MAX   256        // of an interpreter

struct gorgon_lines_string {
	struct gorgon_lines_string *next; // older
	size_t size;
	char *name;
	char text[];
};

static void drop_string(struct gorgon_lines *lines, struct gorgon_lines_string **at)
{
	struct gorgon_lines_string *dropped = *at;

	*at = dropped->next;
	lines->strings_size -= dropped->size;
	lines->strings_count--;
	free(dropped->name);
	free(dropped);
}

void gorgon_lines_forget_strings(struct gorgon_lines *lines)
{
	while (lines->strings)
		drop_string(lines, &lines->strings);
}

static void add_string(struct gorgon_lines *lines, const char *name, const char *text, size_t size)
{
	struct gorgon_lines_string *added = malloc(sizeof(*added) + size + 1), **last;

	if (!added)
		return;
	added->name = strdup(name);
	if (!added->name) {
		free(added);
		return;
	}
	memcpy(added->text, text, size);
	added->text[size] = '\0';
	added->size = size;
	added->next = lines->strings;
	lines->strings = added;
	lines->strings_size += size;
	lines->strings_count++;
	while (lines->strings_count > STRINGS_MAX || lines->strings_size > BYTES_MAX) {
		for (last = &lines->strings; (*last)->next; last = &(*last)->next)
			;
		drop_string(lines, last);
	}
}

// A text of one line shows nothing, and has nothing to stop at, unless it is the whole program.
static bool has_lines(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);

	return end && (size_t)(end - text) + 1 < size;
}

static bool is_a(const struct gorgon_lines *lines, PyObject *object, unsigned long flag)
{
	return object && lines->interp->api->PyType_GetFlags(Py_TYPE(object)) & flag;
}

// A file of Python has the text that is compiled. An engine for templates, say, makes code of
// another file, and that code has lines of its own.
static bool is_python_file(const char *name)
{
	size_t size = strlen(name);

	return size > 3 && !strcmp(name + size - 3, ".py") && *name == '/' && !access(name, F_OK);
}

void gorgon_lines_note_string(struct gorgon_lines *lines, PyObject *args)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *source = api->PyTuple_GetItem(args, 0), *file = api->PyTuple_GetItem(args, 1);
	const char *name = is_a(lines, file, Py_TPFLAGS_UNICODE_SUBCLASS)
				   ? api->PyUnicode_AsUTF8AndSize(file, NULL)
				   : NULL,
		   *text = NULL;
	Py_ssize_t size = 0;

	if (!name || is_python_file(name))
		;
	else if (is_a(lines, source, Py_TPFLAGS_UNICODE_SUBCLASS))
		text = api->PyUnicode_AsUTF8AndSize(source, &size);
	else if (is_a(lines, source, Py_TPFLAGS_BYTES_SUBCLASS))
		api->PyBytes_AsStringAndSize(source, (char **)(void *)&text, &size);
	api->PyErr_Clear(); // surrogates
	if (text && (size_t)size <= BYTES_MAX &&
	    (lines->runs_command || has_lines(text, (size_t)size)))
		add_string(lines, name, text, (size_t)size);
	lines->runs_command = false;
}

// --- which text a code object is of --------------------------------------------------------------

static bool has_names(struct gorgon_lines *lines, PyObject *code, const char *attribute,
		      const char *text)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *names = api->PyObject_GetAttrString(code, attribute);
	Py_ssize_t count = names ? api->PyTuple_Size(names) : 0;
	bool ret = names;

	for (Py_ssize_t i = 0; ret && i < count; i++) {
		const char *name =
			api->PyUnicode_AsUTF8AndSize(api->PyTuple_GetItem(names, i), NULL);

		// the compiler's own names are not in the text
		ret = name && (*name == '.' || *name == '_' || strstr(text, name));
	}
	api->Py_DecRef(names);
	api->PyErr_Clear();
	return ret;
}

static const struct gorgon_lines_string *find_string(struct gorgon_lines *lines, PyObject *code,
						     const char *name)
{
	const struct gorgon_lines_string *found = lines->strings;

	while (found && (strcmp(found->name, name) != 0 ||
			 !has_names(lines, code, "co_names", found->text) ||
			 !has_names(lines, code, "co_varnames", found->text)))
		found = found->next;
	return found;
}

static bool is_frozen(const char *name)
{
	return !strncmp(name, "<frozen ", strlen("<frozen "));
}

// Whether a library runs now. What a library runs as <string> belongs to the library.
static bool is_in_library(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	bool ret = false, known = false;

	for (uint64_t frame = gorgon_lines_newest_frame(lines); frame && !known;
	     frame = gorgon_lines_previous_frame(lines, frame)) {
		PyObject *code = (PyObject *)(uintptr_t)gorgon_lines_code_of(lines, frame);
		PyObject *name = api->PyObject_GetAttrString(code, "co_filename");
		const char *text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;

		known = !text || strcmp(text, "<string>") != 0 ||
			gorgon_lines_function_of(lines, frame);
		ret = text && (gorgon_lines_is_library(text) || is_frozen(text));
		api->Py_DecRef(name);
		api->PyErr_Clear();
	}
	return ret;
}

static bool is_contents(const struct gorgon_lines_string *string, const char *path)
{
	char *bytes = malloc(string->size + 1);
	FILE *file = bytes ? fopen(path, "re") : NULL;
	bool ret = file && fread(bytes, 1, string->size + 1, file) == string->size &&
		   !memcmp(bytes, string->text, string->size);

	if (file)
		fclose(file);
	free(bytes);
	return ret;
}

char *gorgon_lines_file_of_string(struct gorgon_lines *lines, PyObject *code, const char *name,
				  const char *path)
{
	const struct gorgon_lines_string *string;
	const char *last = strrchr(name, '/');
	char *ret = NULL;

	if (lines->strings_files >= FILES_MAX || !*name || is_frozen(name) ||
	    (!strcmp(name, "<string>") && is_in_library(lines)))
		return NULL;
	string = find_string(lines, code, name);
	if (!string || (path && is_contents(string, path)))
		return NULL;
	last = last ? last + 1 : name;
	if ((!jitreg_find_tracer() || jitreg_keep_source(last, string->text, string->size, &ret)) &&
	    asprintf(&ret, "/%s", last) < 0)
		ret = NULL;
	lines->strings_files += ret != NULL;
	return ret;
}
