// SPDX-License-Identifier: MIT
// The dl family of a namespace: opening, closing, symbols, errors (dl_info.c has what
// only asks). What private code calls dlopen, dlsym, ... is this file, with the namespace as an added last argument (replace.c).
//
// A handle is a private object's address, the namespace's own address (dlopen(NULL):
// everything global in it, then the process), or a handle of the system's linker for
// a shared library. Which of them a handle is decides a look-up in our lists, never
// its contents, so that a stale handle is an error and not a crash.
//
// Failures go to the calling thread's dlerror() text.

#define _GNU_SOURCE
#include "closure.h"
#include "error.h"
#include "lock.h"
#include "replace.h"
#include "dl.h"
#include "scope.h"
#include "thread.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gorgon_dl_set_error(char *message)
{
	struct gorgon_thread *thread = gorgon_thread_get();

	if (!thread) {
		free(message);
		return;
	}
	free(thread->dl_error);
	thread->dl_error = message ?: strdup("no memory for the error's text");
}

static void set_error_from(struct gorgon_error *err)
{
	gorgon_dl_set_error(strdup(gorgon_error_message(err)));
	gorgon_error_destroy(err);
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

	if (!(err = gorgon_system_dlopen(path, flags, &handle)))
		return handle;
	set_error_from(err);
	return NULL;
}

// An object by its name, or by a path that leads to the same file.
static struct gorgon_object *find_loaded(struct gorgon_ns *ns, const char *path)
{
	struct gorgon_object *object = gorgon_ns_find_name(ns, path);
	struct stat st;

	if (object || !strchr(path, '/') || stat(path, &st))
		return object;
	object = ns->first;
	while (object && (object->doomed || !gorgon_image_is_file(object->image, &st)))
		object = object->next;
	return object;
}

// RTLD_NOLOAD: only what is there.
static void *open_loaded(struct gorgon_ns *ns, const char *path, int flags)
{
	struct gorgon_object *object;
	char *message = NULL;

	gorgon_lock();
	object = find_loaded(ns, path);
	if (object) {
		object->open_count++;
		object->global |= (flags & RTLD_GLOBAL) != 0;
	}
	gorgon_unlock();
	if (!object && asprintf(&message, "%s: not loaded (RTLD_NOLOAD)", path) >= 0)
		gorgon_dl_set_error(message);
	return object;
}

void *gorgon_dl_open(const char *path, int flags, struct gorgon_ns *ns)
{
	// Search paths are those of the object that called. A call from elsewhere (a
	// pointer that went through a shared library) has none.
	uint64_t caller = (uintptr_t)__builtin_return_address(0);
	struct gorgon_error *err;
	struct gorgon_object *object;
	bool shared;

	if (!path || !*path)
		return ns;
	if (!(flags & (RTLD_LAZY | RTLD_NOW))) {
		gorgon_dl_set_error(strdup("dlopen: invalid mode: neither RTLD_LAZY nor RTLD_NOW"));
		return NULL;
	}
	gorgon_lock();
	err = gorgon_closure_shares(ns, path, gorgon_ns_object_at(ns, caller), &shared);
	gorgon_unlock();
	if (err) {
		set_error_from(err);
		return NULL;
	}
	if (shared)
		return open_shared(path, flags);
	if (flags & RTLD_NOLOAD)
		return open_loaded(ns, path, flags);
	gorgon_lock();
	err = gorgon_ns_load(ns, path, gorgon_ns_object_at(ns, caller),
			     flags & RTLD_GLOBAL ? GORGON_OPEN_GLOBAL : 0, &object);
	if (!err && flags & RTLD_NODELETE)
		object->open_count++; // never given back
	gorgon_unlock();
	if (err) {
		set_error_from(err);
		return NULL;
	}
	return object;
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

	if (handle == ns)
		return 0;
	gorgon_lock();
	object = gorgon_dl_find_handle(ns, handle);
	if (object)
		gorgon_ns_close(ns, object);
	gorgon_unlock();
	if (object)
		return 0;
	if (!gorgon_dl_is_system_handle(handle))
		return -1;
	if (dlclose(handle)) {
		gorgon_dl_set_error(strdup(dlerror()));
		return -1;
	}
	return 0;
}

// After the objects up to and with the caller's, as RTLD_NEXT wants.
static struct gorgon_binding find_next(struct gorgon_ns *ns, uint64_t caller,
				       const struct gorgon_symbol_query *query)
{
	struct gorgon_object *object = gorgon_ns_object_at(ns, caller);
	struct gorgon_binding ret = {0};

	for (struct gorgon_object *o = object ? object->next : NULL; o && !ret.found; o = o->next)
		ret = gorgon_scope_find_private(ns, &o, 1, query);
	return ret.found ? ret : gorgon_scope_find_outside(ns, object, query);
}

static struct gorgon_binding find_from(struct gorgon_ns *ns, struct gorgon_object *object,
				       const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};
	size_t count;
	struct gorgon_object **list = gorgon_object_closure(object, &count);

	if (!list)
		return ret;
	ret = gorgon_scope_find_private(ns, list, count, query);
	// A library's shared dependencies are part of what its handle covers, and so is
	// the process: what the object itself is bound to must be found through it.
	if (!ret.found)
		ret = gorgon_scope_find_outside(ns, object, query);
	free(list);
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

	gorgon_lock();
	if (handle == ns || handle == RTLD_DEFAULT)
		binding = gorgon_scope_find(ns, NULL, NULL, 0, &query);
	else if (handle == RTLD_NEXT)
		binding = find_next(ns, caller, &query);
	else if ((object = gorgon_dl_find_handle(ns, handle)))
		binding = find_from(ns, object, &query);
	else
		system = true;
	gorgon_unlock();
	if (system) {
		// Names that are replaced are replaced in shared libraries' handles too:
		// ctypes.CDLL("libc.so.6").dlopen must load into this namespace.
		if ((addr = gorgon_replace_find(ns, NULL, name)))
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
