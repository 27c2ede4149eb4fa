// SPDX-License-Identifier: MIT
// An interpreter imports modules from compiled files that another interpreter has read.
// The store of these files is in pyfiles.c.
//
// importlib.machinery.SourceFileLoader gets another get_code() in this interpreter. It asks the
// store, and calls CPython's own when the store does not know.
//
// What a program changes counts: the fast way is taken only for objects of this class itself, not
// of subclasses, only for loaders without attributes but their own, and as long as the other
// methods of the class, sys.pycache_prefix and the tag of compiled files are as they were.

#define _GNU_SOURCE
#include "imports.h"
#include "api.h"
#include "pyfiles.h"
#include "thunks.h"
#include "base/thunk.h"
#include "process/interpose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The objects are held by the interpreter's dictionary (PyInterpreterState_GetDict()), so they are
// there as long as Python code runs.
struct gorgon_imports {
	struct gorgon_pyfile_rules rules;
	PyObject *loader;		 // a class
	PyObject *get_code;		 // CPython's own
	PyObject *get_data, *path_stats; // what it calls
	// marshal.loads(), _imp._fix_co_filename()
	PyObject *loads, *fix_filename;
	PyObject *implementation, *tag;
	PyMethodDef method;
};

// --- what the program has changed ---------------------------------------------------------

static bool is_attribute(struct gorgon_interp *interp, PyObject *object, const char *name,
			 const PyObject *value)
{
	PyObject *now = interp->api->PyObject_GetAttrString(object, name);

	interp->api->Py_DecRef(now);
	if (!now)
		interp->api->PyErr_Clear();
	return now && now == value;
}

static bool has_usual_names(struct gorgon_interp *interp)
{
	const struct gorgon_imports *imports = interp->imports;

	return interp->api->PySys_GetObject("pycache_prefix") == interp->api->_Py_NoneStruct &&
	       is_attribute(interp, imports->implementation, "cache_tag", imports->tag);
}

// The UTF-8 of a str; NULL for other objects, and for texts that have no UTF-8 or a NUL. No error
// is set.
static const char *text_of(struct gorgon_interp *interp, PyObject *object)
{
	const struct gorgon_api *api = interp->api;
	const char *ret = NULL;
	Py_ssize_t size = 0;

	if (object && (api->PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_UNICODE_SUBCLASS))
		ret = api->PyUnicode_AsUTF8AndSize(object, &size);
	if (!ret)
		api->PyErr_Clear();
	return ret && strlen(ret) == (size_t)size ? ret : NULL;
}

// --- loaders ------------------------------------------------------------------------------

// Whether the loader has the attributes `name`, which is the module's, and `path`, and no others,
// and its class is as it was.
static bool is_usual_loader(struct gorgon_interp *interp, PyObject *self, PyObject *name)
{
	const struct gorgon_api *api = interp->api;
	const struct gorgon_imports *imports = interp->imports;
	PyObject *attributes, *own;
	const char *text, *wanted;
	bool ret;

	if ((PyObject *)Py_TYPE(self) != imports->loader ||
	    !is_attribute(interp, imports->loader, "get_data", imports->get_data) ||
	    !is_attribute(interp, imports->loader, "path_stats", imports->path_stats) ||
	    !has_usual_names(interp))
		return false;
	attributes = api->PyObject_GetAttrString(self, "__dict__");
	own = api->PyObject_GetAttrString(self, "name");
	text = text_of(interp, own);
	wanted = text_of(interp, name);
	ret = attributes && api->PyDict_Size(attributes) == 2 && text && wanted &&
	      !strcmp(text, wanted);

	api->Py_DecRef(own);
	api->Py_DecRef(attributes);
	if (!ret)
		api->PyErr_Clear();
	return ret;
}

static const struct gorgon_pyfile *find_code_in_store(struct gorgon_interp *interp, PyObject *path)
{
	const char *source = text_of(interp, path);
	const struct gorgon_pyfile *ret;
	int saved = errno;
	void *thread;

	if (!source || *source != '/')
		return NULL;
	thread = interp->api->PyEval_SaveThread();
	ret = gorgon_pyfile_code(&interp->imports->rules, source);
	interp->api->PyEval_RestoreThread(thread);
	errno = saved;
	return ret;
}

// The code object of a compiled file's contents. NULL, and no error: SourceFileLoader is to say
// what is wrong with the file.
static PyObject *load_code(struct gorgon_interp *interp, const struct gorgon_pyfile *pyfile,
			   PyObject *path)
{
	const struct gorgon_api *api = interp->api;
	const struct gorgon_imports *imports = interp->imports;
	PyObject *view = api->PyMemoryView_FromMemory((char *)pyfile->code,
						      (Py_ssize_t)pyfile->code_size, PyBUF_READ);
	PyObject *code = view ? api->PyObject_CallFunctionObjArgs(imports->loads, view, NULL)
			      : NULL,
		 *done = NULL, *released = NULL;

	if (code)
		done = api->PyObject_CallFunctionObjArgs(imports->fix_filename, code, path, NULL);
	if (!done)
		api->PyErr_Clear();
	// An audit hook may have kept the view: then it is of no use afterwards, or the contents
	// stay.
	if (view)
		released = api->PyObject_CallMethod(view, "release", NULL);
	if (released)
		gorgon_pyfile_release(pyfile);
	else
		api->PyErr_Clear();
	api->Py_DecRef(released);
	api->Py_DecRef(view);
	api->Py_DecRef(done);
	errno = 0; // as after CPython's own reading of a file
	if (done)
		return code;
	api->Py_DecRef(code);
	return NULL;
}

// SourceFileLoader.get_code(self, fullname)
static PyObject *get_code(PyObject *self, PyObject *name, struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *path = is_usual_loader(interp, self, name)
				 ? api->PyObject_GetAttrString(self, "path")
				 : NULL;
	const struct gorgon_pyfile *found = path ? find_code_in_store(interp, path) : NULL;
	PyObject *ret = found ? load_code(interp, found, path) : NULL;

	api->Py_DecRef(path);
	if (ret)
		return ret;
	api->PyErr_Clear();
	return api->PyObject_CallFunctionObjArgs(interp->imports->get_code, self, name, NULL);
}

// --- the beginning ------------------------------------------------------------------------

// A new reference to MODULE.NAME, or NULL without an error.
static PyObject *take_from(struct gorgon_interp *interp, const char *module, const char *name)
{
	const struct gorgon_api *api = interp->api;
	PyObject *imported = api->PyImport_ImportModule(module),
		 *ret = imported ? api->PyObject_GetAttrString(imported, name) : NULL;

	api->Py_DecRef(imported);
	if (!ret)
		api->PyErr_Clear();
	return ret;
}

// Put a new reference into the list, from where it is borrowed. False for NULL.
static bool hold(struct gorgon_interp *interp, PyObject *held, PyObject *object, PyObject **ret)
{
	bool done = object && !interp->api->PyList_Append(held, object);

	interp->api->Py_DecRef(object);
	*ret = object;
	return done;
}

static bool hold_attribute(struct gorgon_interp *interp, PyObject *held, PyObject *object,
			   const char *name, PyObject **ret)
{
	return hold(interp, held, interp->api->PyObject_GetAttrString(object, name), ret);
}

static bool hold_objects(struct gorgon_interp *interp, PyObject *held)
{
	struct gorgon_imports *imports = interp->imports;

	return hold(interp, held,
		    take_from(interp, "_frozen_importlib_external", "SourceFileLoader"),
		    &imports->loader) &&
	       hold(interp, held, take_from(interp, "marshal", "loads"), &imports->loads) &&
	       hold(interp, held, take_from(interp, "_imp", "_fix_co_filename"),
		    &imports->fix_filename) &&
	       hold(interp, held, take_from(interp, "sys", "implementation"),
		    &imports->implementation) &&
	       hold_attribute(interp, held, imports->implementation, "cache_tag", &imports->tag) &&
	       hold_attribute(interp, held, imports->loader, "get_code", &imports->get_code) &&
	       hold_attribute(interp, held, imports->loader, "get_data", &imports->get_data) &&
	       hold_attribute(interp, held, imports->loader, "path_stats", &imports->path_stats);
}

// The tag of compiled files, as importlib.util.cache_from_source() makes it.
static bool make_rules(struct gorgon_interp *interp)
{
	struct gorgon_imports *imports = interp->imports;
	char *text = imports->rules.tag;
	const size_t most = sizeof(imports->rules.tag);
	long magic = API(interp, PyImport_GetMagicNumber)();
	PyObject *flags = take_from(interp, "sys", "flags"), *optimize = NULL, *verbose = NULL;
	const char *tag = text_of(interp, imports->tag);
	long level = -1, talks = 1;
	int size = -1;

	if (flags) {
		optimize = interp->api->PyObject_GetAttrString(flags, "optimize");
		verbose = interp->api->PyObject_GetAttrString(flags, "verbose");
	}
	if (optimize && verbose) {
		level = API(interp, PyLong_AsLong)(optimize);
		talks = API(interp, PyLong_AsLong)(verbose);
	}
	interp->api->Py_DecRef(flags);
	interp->api->Py_DecRef(optimize);
	interp->api->Py_DecRef(verbose);
	if (tag && !talks && level >= 0)
		size = level ? snprintf(text, most, "%s.opt-%ld", tag, level)
			     : snprintf(text, most, "%s", tag);
	for (int i = 0; i < 4; i++)
		imports->rules.magic[i] = (char)(magic >> 8 * i);
	return size > 0 && (size_t)size < most;
}

static bool has_utf8_names(struct gorgon_interp *interp)
{
	PyObject *sys = interp->api->PyImport_ImportModule("sys");
	PyObject *name =
		sys ? interp->api->PyObject_CallMethod(sys, "getfilesystemencoding", NULL) : NULL;
	const char *text = text_of(interp, name);
	bool ret = text && !strcmp(text, "utf-8");

	interp->api->Py_DecRef(name);
	interp->api->Py_DecRef(sys);
	return ret;
}

// The definition outlives Python.
static bool replace_method(struct gorgon_interp *interp)
{
	struct gorgon_imports *imports = interp->imports;
	PyObject *method;
	bool ret;

	imports->method = (PyMethodDef){
		"get_code",
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_IMPORTS_GET_CODE),
		METH_O, "get_code($self, fullname)\n--\n\nThe module's code object."};
	method = API(interp, PyDescr_NewMethod)((PyTypeObject *)imports->loader, &imports->method);
	ret = method && !interp->api->PyObject_SetAttrString(imports->loader, "get_code", method);
	interp->api->Py_DecRef(method);
	return ret;
}

// Keep what is held until Python's end.
static bool keep_held(struct gorgon_interp *interp, PyObject *held)
{
	PyObject *dict =
		API(interp, PyInterpreterState_GetDict)(API(interp, PyInterpreterState_Get)());

	return dict && !API(interp, PyDict_SetItemString)(dict, "gorgon.imports", held);
}

void gorgon_imports_begin(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *held;

	if (!gorgon_pyfile_is_on() || !(interp->imports = calloc(1, sizeof(*interp->imports))))
		return;
	held = api->PyList_New(0);
	if (!held || !has_utf8_names(interp) || !hold_objects(interp, held) ||
	    !make_rules(interp) || !keep_held(interp, held) || !replace_method(interp))
		api->PyErr_Clear();
	api->Py_DecRef(held);
}

void gorgon_imports_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	list[GORGON_THUNK_IMPORTS_GET_CODE] = (struct gorgon_thunk){get_code, 2, interp};
}

size_t gorgon_imports_size(void)
{
	return sizeof(struct gorgon_imports);
}

bool gorgon_imports_copy(const struct gorgon_imports *from, struct gorgon_imports **ret)
{
	*ret = from ? malloc(sizeof(**ret)) : NULL;
	if (*ret)
		**ret = *from;
	return *ret || !from;
}

// The addresses, from the class on, are Python's or those of thunks.
void gorgon_imports_move(struct gorgon_imports *imports, void *(*move)(void *ctx, void *addr),
			 void *ctx)
{
	for (void **p = (void **)&imports->loader; imports && p < (void **)(imports + 1); p++)
		*p = move(ctx, *p);
}

void gorgon_imports_destroy(struct gorgon_imports *imports)
{
	free(imports);
}
