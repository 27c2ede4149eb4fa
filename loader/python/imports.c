// SPDX-License-Identifier: MIT
// Imports that use what other interpreters have found out of files (pyfiles.c).
//
// importlib.machinery.FileFinder gets another find_spec() and invalidate_caches(),
// importlib.machinery.SourceFileLoader another get_code(), in this interpreter. They ask the store,
// and call CPython's own methods when the store does not know. What they return is what CPython's
// methods would: specs and loaders are objects of CPython's classes.
//
// What a program changes counts: the fast way is taken only for objects of these classes
// themselves, not of subclasses, only for finders that look for the usual files, for loaders
// without attributes but their own, and as long as the other methods of these classes,
// sys.pycache_prefix and the tag of compiled files are as they were. importlib.invalidate_caches()
// makes this interpreter forget what was known before.

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
	const char **suffixes; // of @rules
	uint64_t since;	       // importlib.invalidate_caches()
	PyObject *finder, *loader, *extension_loader, *spec; // classes
	PyObject *find_spec, *invalidate_caches, *get_code;  // CPython's own
	PyObject *get_data, *path_stats;		     // what its get_code() calls
	// what a finder has that looks for the usual files
	PyObject *loaders;
	// marshal.loads(), _imp._fix_co_filename()
	PyObject *loads, *fix_filename;
	PyObject *implementation, *tag;
	PyMethodDef methods_of_finder[2], methods_of_loader[1];
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

// --- finders ------------------------------------------------------------------------------

// Whether a finder looks for the kinds of files that the finders made by Python itself look for:
// extension modules, sources and compiled files.
static bool is_usual_finder(struct gorgon_interp *interp, PyObject *self)
{
	const struct gorgon_api *api = interp->api;
	PyObject *loaders;
	bool ret;

	if ((PyObject *)Py_TYPE(self) != interp->imports->finder || !has_usual_names(interp))
		return false;
	loaders = api->PyObject_GetAttrString(self, "_loaders");
	ret = loaders &&
	      api->PyObject_RichCompareBool(loaders, interp->imports->loaders, Py_EQ) == 1;
	api->Py_DecRef(loaders);
	if (!ret)
		api->PyErr_Clear();
	return ret;
}

// What the store knows of a module in the finder's folder, or NULL.
static const struct gorgon_pyfile *find_in_store(struct gorgon_interp *interp, PyObject *self,
						 PyObject *name)
{
	const struct gorgon_api *api = interp->api;
	const struct gorgon_imports *imports = interp->imports;
	PyObject *path = api->PyObject_GetAttrString(self, "path");
	const char *folder = text_of(interp, path), *whole = text_of(interp, name), *tail;
	const struct gorgon_pyfile *ret = NULL;
	int saved = errno;
	void *thread;

	if (!path)
		api->PyErr_Clear();
	tail = whole ? strrchr(whole, '.') : NULL;
	tail = tail ? tail + 1 : whole;
	if (folder && *folder == '/' && tail && *tail && !strchr(tail, '/')) {
		thread = api->PyEval_SaveThread();
		ret = gorgon_pyfile_find(&imports->rules, folder, tail,
					 __atomic_load_n(&imports->since, __ATOMIC_RELAXED));
		api->PyEval_RestoreThread(thread);
	}
	errno = saved; // programs see it: what is looked for is mostly not there
	api->Py_DecRef(path);
	return ret;
}

// object.name = value, which is consumed.
static bool set_attribute(struct gorgon_interp *interp, PyObject *object, const char *name,
			  PyObject *value)
{
	bool ret = value && !interp->api->PyObject_SetAttrString(object, name, value);

	interp->api->Py_DecRef(value);
	return ret;
}

static PyObject *list_of_one(struct gorgon_interp *interp, PyObject *item)
{
	PyObject *ret = interp->api->PyList_New(0);

	if (ret && item && !interp->api->PyList_Append(ret, item)) {
		interp->api->Py_DecRef(item);
		return ret;
	}
	interp->api->Py_DecRef(item);
	interp->api->Py_DecRef(ret);
	return NULL;
}

// As importlib.util.spec_from_file_location() makes it.
static PyObject *make_spec(struct gorgon_interp *interp, PyObject *name,
			   const struct gorgon_pyfile *found)
{
	const struct gorgon_api *api = interp->api;
	const struct gorgon_imports *imports = interp->imports;
	PyObject *origin = api->PyUnicode_DecodeFSDefault(found->origin), *loader = NULL,
		 *spec = NULL;
	bool done;

	if (origin)
		loader = api->PyObject_CallFunctionObjArgs(found->kind == GORGON_PYFILE_EXTENSION
								   ? imports->extension_loader
								   : imports->loader,
							   name, origin, NULL);
	if (loader)
		spec = api->PyObject_CallFunctionObjArgs(imports->spec, name, loader, NULL);
	done = spec && !api->PyObject_SetAttrString(spec, "origin", origin) &&
	       set_attribute(interp, spec, "_set_fileattr", api->PyBool_FromLong(true)) &&
	       (!found->compiled ||
		set_attribute(interp, spec, "cached",
			      api->PyUnicode_DecodeFSDefault(found->compiled))) &&
	       (!found->folder ||
		set_attribute(interp, spec, "submodule_search_locations",
			      list_of_one(interp, api->PyUnicode_DecodeFSDefault(found->folder))));
	api->Py_DecRef(origin);
	api->Py_DecRef(loader);
	if (done)
		return spec;
	api->Py_DecRef(spec);
	return NULL;
}

// FileFinder.find_spec(self, fullname, target=None)
static PyObject *find_spec(PyObject *self, PyObject *args, PyObject *kwargs,
			   struct gorgon_interp *interp)
{
	static char name_of_fullname[] = "fullname", name_of_target[] = "target";
	char *names[] = {name_of_fullname, name_of_target, NULL};
	const struct gorgon_api *api = interp->api;
	PyObject *name, *target = api->_Py_NoneStruct, *ret;
	const struct gorgon_pyfile *found = NULL;

	if (!api->PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:find_spec", names, &name, &target))
		return NULL;
	if (is_usual_finder(interp, self))
		found = find_in_store(interp, self, name);
	if (!found)
		return api->PyObject_CallFunctionObjArgs(interp->imports->find_spec, self, name,
							 target, NULL);
	if (found->kind == GORGON_PYFILE_ABSENT)
		api->Py_IncRef(ret = api->_Py_NoneStruct);
	else
		ret = make_spec(interp, name, found);
	gorgon_pyfile_release(found);
	return ret;
}

// FileFinder.invalidate_caches(self)
static PyObject *invalidate_caches(PyObject *self, PyObject *none, struct gorgon_interp *interp)
{
	(void)none;
	__atomic_store_n(&interp->imports->since, gorgon_pyfile_now(), __ATOMIC_RELAXED);
	return interp->api->PyObject_CallFunctionObjArgs(interp->imports->invalidate_caches, self,
							 NULL);
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
	static const char external[] = "_frozen_importlib_external";
	struct gorgon_imports *imports = interp->imports;

	return hold(interp, held, take_from(interp, external, "FileFinder"), &imports->finder) &&
	       hold(interp, held, take_from(interp, external, "SourceFileLoader"),
		    &imports->loader) &&
	       hold(interp, held, take_from(interp, external, "ExtensionFileLoader"),
		    &imports->extension_loader) &&
	       hold(interp, held, take_from(interp, "_frozen_importlib", "ModuleSpec"),
		    &imports->spec) &&
	       hold(interp, held, take_from(interp, "marshal", "loads"), &imports->loads) &&
	       hold(interp, held, take_from(interp, "_imp", "_fix_co_filename"),
		    &imports->fix_filename) &&
	       hold(interp, held, take_from(interp, "sys", "implementation"),
		    &imports->implementation) &&
	       hold_attribute(interp, held, imports->implementation, "cache_tag", &imports->tag) &&
	       hold_attribute(interp, held, imports->finder, "find_spec", &imports->find_spec) &&
	       hold_attribute(interp, held, imports->finder, "invalidate_caches",
			      &imports->invalidate_caches) &&
	       hold_attribute(interp, held, imports->loader, "get_code", &imports->get_code) &&
	       hold_attribute(interp, held, imports->loader, "get_data", &imports->get_data) &&
	       hold_attribute(interp, held, imports->loader, "path_stats", &imports->path_stats);
}

// The loaders of a finder as Python makes it.
static bool hold_loaders(struct gorgon_interp *interp, PyObject *held)
{
	const struct gorgon_api *api = interp->api;
	struct gorgon_imports *imports = interp->imports;
	PyObject *make =
		take_from(interp, "_frozen_importlib_external", "_get_supported_file_loaders");
	PyObject *details = make ? api->PyObject_CallFunctionObjArgs(make, NULL) : NULL,
		 *args = API(interp, Py_BuildValue)("[s]", "/");
	PyObject *all = details && args ? api->PySequence_InPlaceConcat(args, details) : NULL,
		 *tuple = all ? api->PyList_AsTuple(all) : NULL;
	PyObject *finder = tuple ? api->PyObject_Call(imports->finder, tuple, NULL) : NULL;
	bool done = finder && hold_attribute(interp, held, finder, "_loaders", &imports->loaders);

	api->Py_DecRef(finder);
	api->Py_DecRef(tuple);
	api->Py_DecRef(all);
	api->Py_DecRef(args);
	api->Py_DecRef(details);
	api->Py_DecRef(make);
	return done;
}

static bool add_text(struct gorgon_pyfile_rules *rules, const char *text)
{
	size_t size = strlen(text) + 1;
	char *longer = realloc(rules->text, rules->size + size);

	if (!longer)
		return false;
	memcpy(longer + rules->size, text, size);
	rules->text = longer;
	rules->size += size;
	return true;
}

// The tag of compiled files, as importlib.util.cache_from_source() makes it.
static bool add_tag(struct gorgon_interp *interp)
{
	struct gorgon_imports *imports = interp->imports;
	PyObject *flags = take_from(interp, "sys", "flags"), *optimize = NULL, *verbose = NULL;
	const char *tag = text_of(interp, imports->tag);
	char text[80];
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
		size = level ? snprintf(text, sizeof(text), "%s.opt-%ld", tag, level)
			     : snprintf(text, sizeof(text), "%s", tag);
	return size > 0 && (size_t)size < sizeof(text) && add_text(&imports->rules, text);
}

// The suffixes of extension modules are in front of the others in the list of loaders.
static bool add_suffixes(struct gorgon_interp *interp, size_t *count)
{
	const struct gorgon_api *api = interp->api;
	struct gorgon_imports *imports = interp->imports;
	Py_ssize_t size = api->PyList_Size(imports->loaders);

	for (*count = 0; (Py_ssize_t)*count < size; ++*count) {
		PyObject *pair = api->PyList_GetItem(imports->loaders, (Py_ssize_t)*count);
		const char *suffix = text_of(interp, api->PyTuple_GetItem(pair, 0));

		if (api->PyTuple_GetItem(pair, 1) != imports->extension_loader)
			return true;
		if (!suffix || !add_text(&imports->rules, suffix))
			return false;
	}
	return false;
}

static bool make_rules(struct gorgon_interp *interp)
{
	struct gorgon_imports *imports = interp->imports;
	struct gorgon_pyfile_rules *rules = &imports->rules;
	long magic = API(interp, PyImport_GetMagicNumber)();
	size_t count;
	const char *text;

	for (int i = 0; i < 4; i++)
		rules->magic[i] = (char)(magic >> 8 * i);
	if (!add_tag(interp) || !add_suffixes(interp, &count) ||
	    !(imports->suffixes = calloc(count + 1, sizeof(*imports->suffixes))))
		return false;
	text = rules->tag = rules->text;
	for (size_t i = 0; i < count; i++)
		imports->suffixes[i] = text += strlen(text) + 1;
	rules->suffixes = imports->suffixes;
	return true;
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

static bool replace_method(struct gorgon_interp *interp, PyObject *class, PyMethodDef *method)
{
	return set_attribute(interp, class, method->ml_name,
			     API(interp, PyDescr_NewMethod)((PyTypeObject *)class, method));
}

// The definitions outlive Python.
static bool replace_methods(struct gorgon_interp *interp)
{
	struct gorgon_imports *imports = interp->imports;

	imports->methods_of_finder[0] = (PyMethodDef){
		"find_spec",
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_IMPORTS_FIND_SPEC),
		METH_VARARGS | METH_KEYWORDS,
		"find_spec($self, fullname, target=None)\n--\n\nThe spec of a module in the "
		"finder's folder, or None."};
	imports->methods_of_finder[1] = (PyMethodDef){
		"invalidate_caches",
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_IMPORTS_INVALIDATE),
		METH_NOARGS, "invalidate_caches($self)\n--\n\nLook at the folder anew."};
	imports->methods_of_loader[0] = (PyMethodDef){
		"get_code",
		(PyCFunction)gorgon_interpose_thunk(interp->ns, GORGON_THUNK_IMPORTS_GET_CODE),
		METH_O, "get_code($self, fullname)\n--\n\nThe module's code object."};
	return replace_method(interp, imports->finder, &imports->methods_of_finder[0]) &&
	       replace_method(interp, imports->finder, &imports->methods_of_finder[1]) &&
	       replace_method(interp, imports->loader, &imports->methods_of_loader[0]);
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
	    !hold_loaders(interp, held) || !make_rules(interp) || !keep_held(interp, held) ||
	    !replace_methods(interp))
		api->PyErr_Clear();
	api->Py_DecRef(held);
}

void gorgon_imports_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list)
{
	list[GORGON_THUNK_IMPORTS_FIND_SPEC] = (struct gorgon_thunk){find_spec, 3, interp};
	list[GORGON_THUNK_IMPORTS_INVALIDATE] = (struct gorgon_thunk){invalidate_caches, 2, interp};
	list[GORGON_THUNK_IMPORTS_GET_CODE] = (struct gorgon_thunk){get_code, 2, interp};
}

size_t gorgon_imports_size(void)
{
	return sizeof(struct gorgon_imports);
}

bool gorgon_imports_copy(const struct gorgon_imports *from, struct gorgon_imports **ret)
{
	struct gorgon_imports *copy = from ? malloc(sizeof(*copy)) : NULL;
	struct gorgon_pyfile_rules *rules;
	size_t count = 0;

	*ret = copy;
	if (!copy)
		return !from;
	*copy = *from;
	while (from->suffixes && from->suffixes[count])
		count++;
	rules = &copy->rules;
	rules->text = malloc(rules->size ?: 1);
	rules->suffixes = copy->suffixes = calloc(count + 1, sizeof(*copy->suffixes));
	if (!rules->text || !copy->suffixes) {
		gorgon_imports_destroy(copy);
		*ret = NULL;
		return false;
	}
	if (rules->size)
		memcpy(rules->text, from->rules.text, rules->size);
	rules->tag = rules->text;
	for (size_t i = 0; i < count; i++)
		copy->suffixes[i] = rules->text + (from->suffixes[i] - from->rules.text);
	return true;
}

// The addresses, from the first class on, are Python's or those of thunks.
void gorgon_imports_move(struct gorgon_imports *imports, void *(*move)(void *ctx, void *addr),
			 void *ctx)
{
	for (void **p = (void **)&imports->finder; imports && p < (void **)(imports + 1); p++)
		*p = move(ctx, *p);
}

void gorgon_imports_destroy(struct gorgon_imports *imports)
{
	if (!imports)
		return;
	free(imports->rules.text);
	free(imports->suffixes);
	free(imports);
}

void gorgon_imports_free(struct gorgon_interp *interp)
{
	gorgon_imports_destroy(interp->imports);
}
