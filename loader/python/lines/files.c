// SPDX-License-Identifier: MIT
// The files whose lines an interpreter has, and when debuggers are told of them.
//
// A debugger that is told of a symfile looks for the places of all its breakpoints again, in
// everything that it knows. An import of pandas loads 350 modules: gdb 13 needed 34 s of processor
// time for it with five breakpoints when it was told of each module alone. So modules of installed
// packages wait until the outermost import of such a module ends, and it is told of them together.
// It is told of a module that is the program's own before the module's first line runs, and of
// what waits at that moment, too. Until then a function is `python_code`, like all functions that
// have no lines.
//
// The outermost import ends when the function of importlib that executes the module's code returns:
// CPython calls our code before and after each function (lines/events.c) while something waits.
// Where CPython does not call it, because there is no debugger yet (GORGON_PYTHON_LINES_AUTO),
// nothing waits.
//
// gdb disables a breakpoint that has lost all of its places. So, while gdb listens, it goes on to
// know the files of an interpreter that has ended, with stubs that nobody runs, until another
// interpreter has the same files.

#define _GNU_SOURCE
#include "files.h"
#include "state.h"
#include "strings.h"

#include <jitreg.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A user's step goes over functions without lines to those of the program that they call. So the
// standard library's have lines only if all are asked for.
static bool is_left_out(const struct gorgon_lines *lines, const char *path)
{
	return lines->interp->python_lines != GORGON_PYTHON_LINES_ALL &&
	       gorgon_lines_is_library(path) && !strstr(path, GORGON_LINES_PACKAGES);
}

// NULL: the code has no file's name and is in no text that is known, or is not to have lines.
static char *find_file(struct gorgon_lines *lines, PyObject *code)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *name = api->PyObject_GetAttrString(code, "co_filename");
	const char *text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	char *ret = NULL, *made;
	struct stat st;

	if (!text)
		api->PyErr_Clear();
	else if (*text && *text != '<')
		ret = realpath(text, NULL);
	made = text ? gorgon_lines_file_of_string(lines, code, text, ret) : NULL;
	// A module's bytecode may be there without its source.
	if (!made && !ret && text && *text == '/' && !is_left_out(lines, text))
		made = strdup(text);
	api->Py_DecRef(name);
	if (!made && ret && !is_left_out(lines, ret) && !stat(ret, &st) && S_ISREG(st.st_mode))
		return ret;
	free(ret);
	return made;
}

static void free_files(struct gorgon_lines_file *files)
{
	struct gorgon_lines_file *file;

	while ((file = files)) {
		files = file->next;
		jitreg_unregister(file->jit);
		gorgon_lines_file_free(file);
	}
}

// --- files of interpreters that have ended
// ---------------------------------------------------------------------

// Files that debuggers are told of together; the first one has the entry.
struct left {
	struct left *next;
	struct gorgon_lines_file *files;
};

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;
static struct left *all_left; // under left_lock, which is not held around fork()

// The first file names all that debuggers are told of together.
static void free_left(const struct gorgon_lines_file *files)
{
	struct left **at = &all_left, *found;

	pthread_mutex_lock(&left_lock);
	while (*at && strcmp((*at)->files->path, files->path) != 0)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&left_lock);
	if (found)
		free_files(found->files);
	free(found);
}

// Takes the files from the front of the list that debuggers are told of together.
static void leave_files(struct gorgon_lines_file **files)
{
	struct left *left = calloc(1, sizeof(*left));
	struct gorgon_lines_file *first = *files, *last = first;

	while (last->next && !last->next->jit)
		last = last->next;
	*files = last->next;
	last->next = NULL;
	free_left(first);
	if (!left) {
		free_files(first);
		return;
	}
	left->files = first;
	pthread_mutex_lock(&left_lock);
	left->next = all_left;
	all_left = left;
	pthread_mutex_unlock(&left_lock);
}

void gorgon_lines_files_in_child(void)
{
	pthread_mutex_init(&left_lock, NULL); // the thread that may have had it is not there
}

// --- telling debuggers
// -----------------------------------------------------------------------------------------

// @files: a list, of which the first gets the entry.
static void register_files(const struct gorgon_lines *lines, struct gorgon_lines_file *files)
{
	struct gorgon_lines_bytes symfile = {0};

	gorgon_lines_describe_files(&symfile, files, (uintptr_t)lines->code, &lines->layout);
	if (symfile.failed || jitreg_register_symfile(symfile.data, symfile.size, &files->jit))
		files->jit = NULL; // debuggers know nothing of them
	free(symfile.data);
}

// The code objects of @file belong to the functions of @to.
static void tie_codes(struct gorgon_lines *lines, const struct gorgon_lines_file *file,
		      struct gorgon_lines_file *to)
{
	for (size_t i = 0; i < file->function_count; i++) {
		PyObject *code = file->codes[i];
		struct gorgon_lines_function *before =
			gorgon_lines_function_of_code(lines, (uintptr_t)code);

		if (before) // another code object has it among its constants, too
			before->code = NULL;
		if (lines->api.set_extra(code, lines->extra_index, &to->functions[i])) {
			lines->interp->api->PyErr_Clear();
			continue;
		}
		to->functions[i].code = code;
		gorgon_lines_renew(lines, &to->functions[i]);
	}
}

// A function that comes from elsewhere by value, again and again, has a new code object each time,
// and its old one is gone.
static bool take_old_file(struct gorgon_lines *lines, struct gorgon_lines_file *file)
{
	struct gorgon_lines_file *old = lines->files;

	while (old && !gorgon_lines_file_replaces(file, old))
		old = old->next;
	if (!old)
		return false;
	tie_codes(lines, file, old);
	for (size_t i = 0; i < file->function_count; i++) {
		lines->budget.units -= file->functions[i].unit_count;
		lines->budget.stubs -= file->functions[i].line_count;
	}
	gorgon_lines_file_free(file);
	return true;
}

// Debuggers are told of a list of files, whose functions have lines from now on.
static void tell(struct gorgon_lines *lines, struct gorgon_lines_file *files)
{
	struct gorgon_lines_file *last = files;

	for (struct gorgon_lines_file *file = files; file; last = file, file = file->next)
		tie_codes(lines, file, file);
	register_files(lines, files);
	free_left(files);
	last->next = lines->files;
	__atomic_store_n(&lines->files, files, __ATOMIC_RELEASE);
	if (gorgon_lines_changed(lines) && !gorgon_lines_is_busy)
		gorgon_lines_update_thread(lines);
}

// --- files that wait -----------------------------------------------------------------------------

static void release_code(struct gorgon_lines *lines, struct gorgon_lines_file *file)
{
	lines->interp->api->Py_DecRef(file->held);
	file->held = NULL;
}

static struct gorgon_lines_file *take_waiting(struct gorgon_lines *lines)
{
	struct gorgon_lines_file *files = lines->waiting;

	lines->waiting = NULL;
	lines->waiting_count = 0;
	return files;
}

static void tell_waiting(struct gorgon_lines *lines)
{
	struct gorgon_lines_file *files = take_waiting(lines), *end = lines->files;
	PyObject *type, *value, *traceback;

	if (!files)
		return;
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	tell(lines, files);
	for (struct gorgon_lines_file *file = files; file != end; file = file->next)
		release_code(lines, file);
	lines->api.restore(type, value, traceback);
}

// Whether the import that was outermost is not at its end. Its thread's stack may be gone.
static bool is_importing(const struct gorgon_lines *lines)
{
	const struct gorgon_lines_record *record = gorgon_lines_newest();

	while (record && record != lines->import && record->older > (uintptr_t)record)
		record = (const struct gorgon_lines_record *)(uintptr_t)record->older;
	return record && record == lines->import && gorgon_lines_is_live(lines, record) &&
	       record->frame == lines->import_frame;
}

// Whether the thread's newest frame is one of importlib.
static bool is_import(struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *code, *name;
	const char *text;
	bool ret;

	if (!record || !gorgon_lines_is_live(lines, record))
		return false;
	code = (PyObject *)gorgon_lines_code_of(lines, record->frame);
	name = api->PyObject_GetAttrString(code, "co_filename");
	text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	ret = text && !strncmp(text, "<frozen importlib", strlen("<frozen importlib"));
	api->Py_DecRef(name);
	api->PyErr_Clear();
	return ret;
}

// False: debuggers are to be told of the file at once.
static bool wait(struct gorgon_lines *lines, struct gorgon_lines_file *file, PyObject *code)
{
	struct gorgon_lines_record *record = gorgon_lines_newest();

	if (!gorgon_lines_is_library(file->path) || !is_import(lines, record))
		return false;
	if (lines->waiting && !is_importing(lines)) // another thread imports
		return false;
	if (lines->waiting_count == GORGON_LINES_FILES_MAX)
		tell_waiting(lines);
	if (!lines->waiting && !is_importing(lines)) {
		lines->import = record;
		record->entry |= GORGON_LINES_RETURNS;
		lines->import_frame = record->frame;
	}
	lines->interp->api->Py_IncRef(code);
	file->held = code;
	file->next = lines->waiting;
	lines->waiting = file;
	lines->waiting_count++;
	return true;
}

void gorgon_lines_returned(struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	if (record != lines->import)
		return;
	lines->import = NULL;
	tell_waiting(lines);
}

void gorgon_lines_add(struct gorgon_lines *lines, PyObject *code, bool executed)
{
	struct gorgon_lines_file *file = NULL;
	char *path = NULL;

	if (!gorgon_lines_function_of_code(lines, (uintptr_t)code))
		path = find_file(lines, code);
	if (path)
		file = gorgon_lines_file_create(lines->interp, code, path, &lines->budget);
	free(path);
	if (!file || take_old_file(lines, file) || (executed && wait(lines, file, code)))
		return;
	tell_waiting(lines);
	tell(lines, file);
}

void gorgon_lines_forget(struct gorgon_lines *lines)
{
	struct gorgon_lines_file *files = lines->links ? take_waiting(lines) : NULL, *file;

	while ((file = files)) {
		files = file->next;
		release_code(lines, file);
		gorgon_lines_file_free(file);
	}
}

void gorgon_lines_remove(struct gorgon_lines *lines)
{
	if (jitreg_find_tracer() == JITREG_TRACER_GDB)
		while (lines->files)
			leave_files(&lines->files);
	free_files(lines->files);
	free_files(lines->waiting);
	lines->files = lines->waiting = NULL;
}
