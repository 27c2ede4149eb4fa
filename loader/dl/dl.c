// SPDX-License-Identifier: MIT
// The dl family of a namespace: opening, closing, symbols, errors (dl_info.c has what
// only asks). Private code that calls dlopen, dlsym, ... reaches the functions of this file, which
// get the namespace as an added last argument (interpose.c).
//
// A handle is a private object's address, the namespace's own address (dlopen(NULL):
// everything global in it, then the process), or a handle of the system's linker for
// a shared library. To tell which, a handle is looked up in our lists and never followed: a
// stale handle is an error and not a crash.
//
// Failures go to the calling thread's dlerror() text.

#define _GNU_SOURCE
#include "ns/closure.h"
#include "base/error.h"
#include "load/load.h"
#include "base/lock.h"
#include "debug/debug_mode.h"
#include "process/interpose.h"
#include "process/permissions.h"
#include "dl.h"
#include "load/scope.h"
#include "ns/search.h"
#include "base/text.h"
#include "ns/thread.h"
#include "load/unload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void gorgon_dl_set_error(char *message)
{
	struct gorgon_thread *thread = gorgon_thread_get();

	if (!thread) {
		free(message);
		return;
	}
	free(thread->dl_error);
	message = gorgon_text_clean(message);
	thread->dl_error = message ?: strdup("no memory for the error's text");
}

static void set_error_from(struct gorgon_error *err)
{
	gorgon_dl_set_error(strdup(gorgon_error_message(err)));
	gorgon_error_destroy(err);
}

// A call that succeeds forgets the failure before it, as the C library's do.
void gorgon_dl_clear_error(void)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	if (!thread)
		return;
	free(thread->dl_error);
	thread->dl_error = NULL;
}

char *gorgon_dl_error(struct gorgon_ns *ns)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	char *message;

	(void)ns;
	if (!thread || !thread->dl_error)
		return NULL;
	message = thread->dl_error;
	thread->dl_error = NULL;
	free(thread->dl_error_shown);
	thread->dl_error_shown = message;
	return message;
}

struct gorgon_object *gorgon_dl_find_handle(struct gorgon_ns *ns, const void *handle)
{
	struct gorgon_object *object = ns->first;

	while (object && object != handle)
		object = object->next;
	return object;
}

static void *open_shared(const char *path, int flags)
{
	struct gorgon_error *err;
	void *handle;

	if (flags & RTLD_NOLOAD)
		// NULL says that the library is not loaded, which is no error
		return dlopen(path, flags);
	if (!(err = gorgon_system_dlopen(path, flags, &handle)))
		return handle;
	set_error_from(err);
	return NULL;
}

// RTLD_NOLOAD with the path of a library that the host has, and this namespace has not:
// dl_iterate_phdr() shows such a library to private code, so private code can open it by its path.
// Two things stay closed: a library that leads to another Python, and a library asked for by name
// alone.
static void *open_library_of_host(const char *path, int flags)
{
	void *handle = dlopen(path, flags & ~(RTLD_GLOBAL | RTLD_NODELETE));

	if (!handle || !dlsym(handle, "Py_GetVersion")) {
		dlerror(); // the look-up of Py_GetVersion has left a text
		return handle;
	}
	dlclose(handle);
	return NULL;
}

// An object by its name, or by the file that the name leads to.
static struct gorgon_error *find_loaded(struct gorgon_ns *ns, const char *name,
					const struct gorgon_object *requester,
					struct gorgon_object **ret)
{
	struct gorgon_object *object = gorgon_ns_find_name(ns, name);
	struct gorgon_error *err = NULL;
	struct stat st;
	char *path;

	*ret = object;
	if (object || (err = gorgon_search(name, gorgon_object_requester(requester), &path)))
		return err;
	if (stat(path, &st))
		err = gorgon_error_create_os(errno, "%s", path);
	free(path);
	if (err)
		return err;
	object = ns->first;
	while (object && (object->doomed || !gorgon_image_is_file(object->image, &st)))
		object = object->next;
	*ret = object;
	return NULL;
}

static void make_global(struct gorgon_object *object)
{
	if (object->global)
		return;
	object->global = true;
	for (size_t i = 0; i < object->dep_count; i++)
		make_global(object->deps[i]);
}

// RTLD_NOLOAD: open a library only if it is loaded already. It is no error when the file is not
// loaded, and an error when the file does not exist.
static struct gorgon_error *open_loaded(struct gorgon_ns *ns, const char *name,
					const struct gorgon_object *requester, int flags,
					struct gorgon_object **ret)
{
	struct gorgon_error *err = find_loaded(ns, name, requester, ret);

	if (err || !*ret)
		return err;
	(*ret)->open_count++;
	if (flags & RTLD_GLOBAL)
		make_global(*ret);
	return NULL;
}

static const char *invalid_mode(int flags)
{
	if (flags &
	    ~(RTLD_LAZY | RTLD_NOW | RTLD_NOLOAD | RTLD_DEEPBIND | RTLD_GLOBAL | RTLD_NODELETE))
		return "dlopen: invalid mode: unknown flags";
	if (!(flags & (RTLD_LAZY | RTLD_NOW)))
		return "dlopen: invalid mode: neither RTLD_LAZY nor RTLD_NOW";
	return NULL;
}

// The search paths (DT_RUNPATH and the like) of the object that contains @caller count. A call from
// elsewhere (a pointer to dlopen() that was passed to a shared library) has no search paths.
static void *dl_open_for(uint64_t caller, const char *path, int flags, struct gorgon_ns *ns)
{
	struct gorgon_open_opts opts = {.size = sizeof(opts)};
	struct gorgon_object *requester, *object = NULL;
	struct gorgon_error *err;
	struct jitreg_prepared *prepared;
	bool shared;

	if (invalid_mode(flags)) {
		gorgon_dl_set_error(strdup(invalid_mode(flags)));
		return NULL;
	}
	gorgon_dl_clear_error();
	if (!path || !*path)
		return ns;
	opts.flags = (flags & RTLD_GLOBAL ? GORGON_OPEN_GLOBAL : 0) |
		     (flags & RTLD_DEEPBIND ? GORGON_OPEN_DEEPBIND : 0);
	prepared = gorgon_debug_mode_lock(ns, path);
	requester = gorgon_ns_object_at(ns, caller);
	err = gorgon_permissions_check_open(ns, requester, path) ?:
	      gorgon_closure_shares(ns, path, gorgon_object_requester(requester), &shared);
	if (!err && !shared && flags & RTLD_NOLOAD)
		err = open_loaded(ns, path, requester, flags, &object);
	else if (!err && !shared)
		err = gorgon_ns_load(ns, path, requester, &opts, &object);
	if (object && flags & RTLD_NODELETE)
		object->nodelete = true;
	gorgon_debug_mode_unlock(prepared);
	if (err)
		set_error_from(err);
	else if (shared)
		return open_shared(path, flags);
	else if (!object && strchr(path, '/'))
		return open_library_of_host(path, flags);
	return object;
}

void *gorgon_dl_open(const char *path, int flags, struct gorgon_ns *ns)
{
	return dl_open_for((uintptr_t)__builtin_return_address(0), path, flags, ns);
}

// LM_ID_BASE is the private namespace, as RTLD_DI_LMID says of its objects. Every other namespace
// is refused: the system's linker would load into it, the libraries would outlive the private
// namespace, and dlsym() and dlclose() of private code would not know their handles.
void *gorgon_dlm_open(Lmid_t id, const char *path, int flags, struct gorgon_ns *ns)
{
	char *message;

	if (id == LM_ID_BASE)
		return dl_open_for((uintptr_t)__builtin_return_address(0), path, flags, ns);
	if (asprintf(&message, "%s: dlmopen: namespace %ld: private code has LM_ID_BASE (0) only",
		     path ?: "(program)", id) < 0)
		message = NULL;
	gorgon_dl_set_error(message);
	return NULL;
}

bool gorgon_dl_is_system_handle(const void *handle)
{
	char *message;

	if (gorgon_system_is_handle(handle))
		return true;
	if (asprintf(&message, "%p: invalid handle", handle) < 0)
		message = NULL;
	gorgon_dl_set_error(message);
	return false;
}

int gorgon_dl_close(void *handle, struct gorgon_ns *ns)
{
	struct gorgon_object *object;
	char *message = NULL;
	bool open;

	gorgon_dl_clear_error();
	if (handle == ns)
		return 0;
	gorgon_lock();
	object = gorgon_dl_find_handle(ns, handle);
	open = object && (object->open_count || object->nodelete || object->image->nodelete);
	if (object && !open && asprintf(&message, "%s: dlclose: not open", object->path) < 0)
		message = NULL;
	if (open)
		gorgon_ns_close(ns, object);
	gorgon_unlock();
	if (open)
		return 0;
	if (object) {
		gorgon_dl_set_error(message);
		return -1;
	}
	if (!gorgon_dl_is_system_handle(handle))
		return -1;
	if (dlclose(handle)) {
		gorgon_dl_set_error(strdup(dlerror()));
		return -1;
	}
	return 0;
}

// A definition in the shared libraries that @objects need, or our function in its place.
static struct gorgon_binding find_shared(const struct gorgon_ns *ns,
					 struct gorgon_object *const *objects, size_t count,
					 const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};

	for (size_t i = 0; i < count && !ret.found; i++)
		ret.found = gorgon_system_find_in(query, objects[i]->system,
						  objects[i]->system_count, &ret.system);
	if (ret.found)
		ret.system.addr =
			gorgon_interpose_find(ns, NULL, NULL, query->name) ?: ret.system.addr;
	return ret;
}

// What a handle covers: the object and everything that it needs, private definitions
// before shared ones. @after: only what comes behind that object.
static struct gorgon_binding find_from(struct gorgon_ns *ns, struct gorgon_object *root,
				       const struct gorgon_object *after,
				       const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};
	struct gorgon_object **list;
	size_t count, start = 0;

	// The object itself comes first, most often has it, and takes no memory: CPython, which
	// asks for a module's function, does not read dlerror().
	if (!after)
		ret = gorgon_scope_find_private(ns, &root, 1, query);
	if (ret.found || ret.no_memory)
		return ret;
	list = gorgon_object_closure(root, &count);
	if (!list)
		return (struct gorgon_binding){.no_memory = true};
	while (after && start < count && list[start++] != after)
		;
	ret = gorgon_scope_find_private(ns, list + start, count - start, query);
	if (!ret.found && !ret.no_memory)
		ret = find_shared(ns, list, count, query);
	free(list);
	return ret;
}

// The object whose opening has brought @object in: a look-up for @object sees all that this object
// needs.
static struct gorgon_object *root_of(struct gorgon_object *object)
{
	const struct gorgon_requester *first = gorgon_object_requester(object);

	if (!first)
		return NULL;
	while (first->loader)
		first = first->loader;
	return (struct gorgon_object *)((uintptr_t)first -
					offsetof(struct gorgon_object, requester));
}

// RTLD_NEXT: the objects behind the caller in the group that it was loaded with. For a caller
// outside private code, the process is searched.
static struct gorgon_binding find_next(struct gorgon_ns *ns, struct gorgon_object *caller,
				       const struct gorgon_symbol_query *query)
{
	return caller ? find_from(ns, root_of(caller), caller, query)
		      : gorgon_scope_find_outside(ns, NULL, NULL, query);
}

// RTLD_DEFAULT: the definition that a reference in the caller would be bound to. The object that
// has it stays loaded as long as the caller, as if the caller had such a reference.
static struct gorgon_binding find_default(struct gorgon_ns *ns, struct gorgon_object *caller,
					  const struct gorgon_symbol_query *query)
{
	struct gorgon_object **list = NULL;
	struct gorgon_scope scope = {0};
	struct gorgon_binding ret;

	if (caller && !(list = gorgon_object_closure(root_of(caller), &scope.local_count)))
		return (struct gorgon_binding){.no_memory = true};
	scope.local = list;
	ret = gorgon_scope_find(ns, caller, &scope, query);
	free(list);
	if (caller && ret.object && !gorgon_object_add_ref(caller, ret.object))
		return (struct gorgon_binding){.no_memory = true};
	return ret;
}

static void *look_up(void *handle, const char *name, const char *version, uint64_t caller,
		     struct gorgon_ns *ns)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, version);
	struct gorgon_binding binding = {0};
	struct gorgon_object *object;
	bool system = false;
	char *message = NULL;
	void *addr;

	if (caller)
		gorgon_dl_clear_error();
	gorgon_lock();
	if (handle == ns)
		binding = gorgon_scope_find(ns, NULL, &(struct gorgon_scope){0}, &query);
	else if (handle == RTLD_DEFAULT)
		binding = find_default(ns, gorgon_ns_object_at(ns, caller), &query);
	else if (handle == RTLD_NEXT)
		binding = find_next(ns, gorgon_ns_object_at(ns, caller), &query);
	else if ((object = gorgon_dl_find_handle(ns, handle)))
		binding = find_from(ns, object, NULL, &query);
	else
		system = true;
	gorgon_unlock();
	if (system) {
		// Our functions take the place of a shared library's here, too:
		// ctypes.CDLL("libc.so.6").dlopen must load into this namespace.
		if ((addr = gorgon_interpose_find(ns, NULL, NULL, name)))
			return addr;
		if (!gorgon_dl_is_system_handle(handle))
			return NULL;
		addr = version ? dlvsym(handle, name, version) : dlsym(handle, name);
		if (!addr && (message = dlerror()))
			gorgon_dl_set_error(strdup(message));
		return addr;
	}
	// Outside the lock: TLS blocks are made and IFUNC resolvers run here.
	if (binding.found || !caller)
		return gorgon_binding_address(&binding);
	if (binding.no_memory) {
		set_error_from(&gorgon_error_nomem);
		return NULL;
	}
	object = handle == ns || handle == RTLD_DEFAULT || handle == RTLD_NEXT ? NULL : handle;
	if (asprintf(&message, "%s: undefined symbol: %s%s%s",
		     object ? object->path : "private namespace", name, version ? ", version " : "",
		     version ?: "") < 0)
		message = NULL;
	gorgon_dl_set_error(message);
	return NULL;
}

void *gorgon_dl_sym(void *handle, const char *name, struct gorgon_ns *ns)
{
	return look_up(handle, name, NULL, (uintptr_t)__builtin_return_address(0), ns);
}

void *gorgon_dl_vsym(void *handle, const char *name, const char *version, struct gorgon_ns *ns)
{
	return look_up(handle, name, version, (uintptr_t)__builtin_return_address(0), ns);
}

void *gorgon_dl_find(struct gorgon_object *object, const char *name, const char *version)
{
	return look_up(object, name, version, 0, object->ns);
}
