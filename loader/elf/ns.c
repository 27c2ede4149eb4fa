// SPDX-License-Identifier: MIT
// Namespaces: creation, look-up of objects, unloading.
//
// Unloading: an object stays while somebody has it open, when it was made to
// (DF_1_NODELETE, RTLD_NODELETE, a GNU_UNIQUE definition in use), while some thread has
// thread_local variables of it to destroy, or while an object that stays needs it
// (DT_NEEDED) or is bound to it (a symbol). What does not stay is doomed: nobody finds it
// by name any more, it is finalised in reverse order of initialisation, and all of it
// before the first is unmapped.

#define _GNU_SOURCE
#include "ns.h"
#include "dl.h"
#include "environment.h"
#include "error.h"
#include "frames.h"
#include "keys.h"
#include "locales.h"
#include "memory.h"
#include "packing.h"
#include "place.h"
#include "lock.h"
#include "replace.h"
#include "signals.h"
#include "system.h"
#include "text.h"
#include "thread.h"
#include "thunk.h"
#include "../process/part.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// How long gorgon_ns_destroy() waits for threads that are about to end.
#define THREAD_WAIT_MS 500

static uint64_t next_id = 1;

uint64_t gorgon_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct timespec gorgon_deadline(int timeout_ms)
{
	struct timespec ret;

	clock_gettime(CLOCK_MONOTONIC, &ret);
	ret.tv_sec += timeout_ms / 1000;
	ret.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (ret.tv_nsec >= 1000000000L) {
		ret.tv_nsec -= 1000000000L;
		ret.tv_sec++;
	}
	return ret;
}

unsigned gorgon_version(void)
{
	return GORGON_VERSION_MAJOR << 16 | GORGON_VERSION_MINOR << 8 | GORGON_VERSION_PATCH;
}

void gorgon_ns_log(const struct gorgon_ns *ns, const char *format, ...)
{
	char *line;
	va_list args;

	if (!ns->opts.log)
		return;
	va_start(args, format);
	line = vasprintf(&line, format, args) < 0 ? NULL : gorgon_text_clean(line);
	if (line)
		ns->opts.log(ns->opts.log_ctx, line);
	free(line);
	va_end(args);
}

struct gorgon_object *gorgon_ns_object_at(struct gorgon_ns *ns, uint64_t addr)
{
	struct gorgon_object *object = ns->first;

	while (object && (addr < object->start || addr >= object->end))
		object = object->next;
	return object;
}

bool gorgon_ns_add_system(struct gorgon_ns *ns, struct gorgon_system_library *library)
{
	struct gorgon_system_library **grown;

	for (size_t i = 0; i < ns->system_count; i++)
		if (ns->system[i] == library)
			return true;
	grown = reallocarray(ns->system, ns->system_count + 1, sizeof(*grown));
	if (!grown)
		return false;
	ns->system = grown;
	grown[ns->system_count++] = library;
	return true;
}

bool gorgon_ns_has_system(const struct gorgon_ns *ns, const char *name)
{
	for (size_t i = 0; i < ns->system_count; i++) {
		const char *opened = ns->system[i]->name, *slash = strrchr(opened, '/');

		// By its path, when only an object's search path leads to it.
		if (!strcmp(opened, name) || (slash && !strcmp(slash + 1, name)))
			return true;
	}
	return false;
}

static void ns_free(struct gorgon_ns *ns)
{
	gorgon_signals_destroy(ns->signals);
	gorgon_locale_destroy(ns->locale);
	gorgon_environment_destroy(ns->environment);
	gorgon_environment_destroy(ns->time_zone);
	gorgon_parts_end(ns->parts);
	gorgon_thunks_destroy(ns->thunks);
	gorgon_policy_deinit(&ns->policy);
	gorgon_heap_release(&ns->heap);
	free(ns->system);
	gorgon_unique_deinit(&ns->uniques);
	free(ns);
}

struct gorgon_error *gorgon_ns_create_with(const struct gorgon_ns_opts *opts,
					   const struct gorgon_thunk *thunks, size_t thunk_count,
					   struct gorgon_ns **ret)
{
	struct gorgon_error *err;
	struct gorgon_ns *ns;

	if (opts && opts->size && opts->size != sizeof(*opts))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_ns_opts: size is %zu, expected %zu", opts->size,
					   sizeof(*opts));
	if (opts && (err = gorgon_policy_check(opts->share, opts->keep_private)))
		return err;
	ns = calloc(1, sizeof(*ns));
	if (!ns)
		return &gorgon_error_nomem;
	if (opts)
		ns->opts = *opts;
	gorgon_heap_init(&ns->heap);
	ns->signals = gorgon_signals_create(!ns->opts.no_signals);
	ns->locale = gorgon_locale_create();
	if (ns->opts.environment)
		ns->environment = gorgon_environment_create(ns->opts.environment);
	ns->parts = gorgon_parts_begin(ns);
	if (!ns->signals || !ns->locale || !ns->parts || (ns->opts.environment && !ns->environment) ||
	    !gorgon_policy_init(&ns->policy, ns->opts.share, ns->opts.keep_private)) {
		ns_free(ns);
		return &gorgon_error_nomem;
	}
	if ((err = gorgon_replace_init(ns, thunks, thunk_count))) {
		ns_free(ns);
		return err;
	}
	ns->debug.interp = GORGON_DEBUG_NO_INTERP;
	gorgon_lock();
	ns->debug.id = next_id++;
	gorgon_debug_ns_link(&ns->debug);
	gorgon_unlock();
	*ret = ns;
	return NULL;
}

struct gorgon_error *gorgon_ns_create(const struct gorgon_ns_opts *opts, struct gorgon_ns **ret)
{
	return gorgon_ns_create_with(opts, NULL, 0, ret);
}

uint64_t gorgon_ns_id(const struct gorgon_ns *ns)
{
	return ns->debug.id;
}

void gorgon_ns_for_each_object(struct gorgon_ns *ns,
			       bool (*fn)(void *ctx, struct gorgon_object *object), void *ctx)
{
	gorgon_lock();
	for (struct gorgon_object *object = ns->first; object; object = object->next)
		if (!fn(ctx, object))
			break;
	gorgon_unlock();
}

static void mark_reachable(struct gorgon_object *object)
{
	if (object->mark)
		return;
	object->mark = true;
	for (size_t i = 0; i < object->dep_count; i++)
		mark_reachable(object->deps[i]);
	for (size_t i = 0; i < object->ref_count; i++)
		mark_reachable(object->refs[i]);
}

// An object in the middle of its constructors is not ours to judge: it stays, with
// what it needs.
static bool is_root(const struct gorgon_object *object)
{
	return !object->doomed && (object->open_count || object->nodelete || object->image->nodelete ||
				   object->state != GORGON_OBJECT_READY ||
				   gorgon_thread_has_dtors(object));
}

// Mark the objects that go as doomed and count them.
static size_t doom(struct gorgon_ns *ns)
{
	size_t count = 0;

	for (struct gorgon_object *o = ns->first; o; o = o->next)
		if (is_root(o))
			mark_reachable(o);
	for (struct gorgon_object *o = ns->first; o; o = o->next) {
		o->doomed |= !o->mark;
		count += !o->mark;
		o->mark = false;
	}
	return count;
}

// Finalise doomed objects, the last initialised first. The lock is released around
// destructors, which may load and unload: the list is searched anew each time.
static void finalise_doomed(struct gorgon_ns *ns)
{
	for (;;) {
		struct gorgon_object *last = NULL;

		for (struct gorgon_object *o = ns->first; o; o = o->next)
			if (o->doomed && o->state == GORGON_OBJECT_READY &&
			    (!last || o->init_order > last->init_order))
				last = o;
		if (!last)
			return;
		gorgon_fini_run(last);
	}
}

static void destroy_doomed(struct gorgon_ns *ns)
{
	struct gorgon_object *prev;

	for (struct gorgon_object *o = ns->last; o; o = prev) {
		prev = o->prev;
		if (o->doomed)
			gorgon_object_destroy(o);
	}
}

void gorgon_ns_close(struct gorgon_ns *ns, struct gorgon_object *object)
{
	if (object->open_count)
		object->open_count--;
	// From a destructor, or while another thread runs one: what is doomed already has its
	// turn in the unload that is under way, and what this close dooms comes after that. An
	// object that the running destructor needs would be finalised here, before it returns.
	if (ns->unloading) {
		ns->unload_again = true;
		return;
	}
	ns->unloading++;
	do {
		ns->unload_again = false;
		if (doom(ns))
			finalise_doomed(ns);
	} while (ns->unload_again);
	if (!--ns->unloading)
		destroy_doomed(ns);
}

void gorgon_ns_after_fork(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();
	struct gorgon_ns *ns = (struct gorgon_ns *)(uintptr_t)gorgon_debug_root.ns_head;

	// The debug root's entry is the first member of each namespace.
	for (; ns; ns = (struct gorgon_ns *)(uintptr_t)ns->debug.next) {
		ns->thread_count = thread && thread->ns == ns;
		gorgon_parts_in_child(ns->parts);
	}
}

struct gorgon_error *gorgon_ns_wait_for_threads(struct gorgon_ns *ns)
{
	uint64_t until = gorgon_now() + THREAD_WAIT_MS * 1000000ull;

	while (ns->thread_count && gorgon_now() < until)
		gorgon_lock_wait(10);
	if (!ns->thread_count)
		return NULL;
	return gorgon_error_create(GORGON_ERROR_BUSY,
				   "namespace %lu: %u threads that its libraries started still run",
				   ns->debug.id, ns->thread_count);
}

// Mark all objects as doomed; whether one was not before.
static bool doom_all(struct gorgon_ns *ns)
{
	bool any = false;

	for (struct gorgon_object *o = ns->first; o; o = o->next) {
		any |= !o->doomed;
		o->doomed = true;
	}
	return any;
}

// In exit()'s order: this thread's thread_local variables, what was registered for the end,
// destructors. Those may join threads (an OpenBLAS ends its pool), so they come before the
// threads are counted. A second call after BUSY finds nothing left to finalise.
struct gorgon_error *gorgon_ns_destroy(struct gorgon_ns *ns)
{
	struct gorgon_error *err;

	if (!ns)
		return NULL;
	gorgon_lock();
	gorgon_debug_begin();
	ns->debug.state = GORGON_DEBUG_NS_UNLOADING;
	gorgon_debug_touch(&ns->debug);
	gorgon_debug_end();
	gorgon_thread_run_dtors(ns);
	gorgon_exits_run(ns);
	// For good: when threads live on, a dlclose() of theirs must not unmap what they run in.
	ns->unloading++;
	while (doom_all(ns)) // again for what destructors have loaded
		finalise_doomed(ns);
	gorgon_exits_run(ns); // of objects without a destructor that calls __cxa_finalize()
	gorgon_exits_forget(ns);
	if ((err = gorgon_ns_wait_for_threads(ns))) {
		gorgon_unlock();
		return err;
	}
	gorgon_parts_stop(ns->parts);
	gorgon_keys_drop(ns);
	gorgon_frames_drop(ns);
	// Handlers go before the code that they are in.
	gorgon_signals_destroy(ns->signals);
	ns->signals = NULL;
	gorgon_packing_close(ns);
	destroy_doomed(ns);
	gorgon_packing_forget(ns);
	gorgon_memory_release(ns);
	gorgon_place_drop_ns(ns);
	gorgon_debug_ns_unlink(&ns->debug);
	gorgon_unlock();
	ns_free(ns);
	return NULL;
}

struct gorgon_error *gorgon_object_open_with(struct gorgon_ns *ns, const char *path,
					     const struct gorgon_open_opts *opts,
					     struct gorgon_object **ret)
{
	static const struct gorgon_open_opts defaults = {.size = sizeof(defaults)};
	struct jitreg_prepared *prepared;
	struct gorgon_error *err;

	opts = opts ?: &defaults;
	if (opts->size != sizeof(*opts))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_open_opts: size is %zu, expected %zu", opts->size,
					   sizeof(*opts));
	if (ns->linked)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: namespace %lu is the system's linker's: objects can be "
					   "loaded only beside interpreters that the loader isolates",
					   path, ns->debug.id);
	for (struct gorgon_object *const *p = opts->search; p && *p; p++)
		if ((*p)->ns != ns)
			return gorgon_error_create(GORGON_ERROR_ARGUMENT,
						   "gorgon_open_opts: search has %s of namespace %lu, "
						   "expected objects of namespace %lu",
						   (*p)->path, (*p)->ns->debug.id, ns->debug.id);
	prepared = gorgon_packing_lock(ns, path);
	err = gorgon_ns_load(ns, path, NULL, opts, ret);
	gorgon_packing_unlock(prepared);
	return err;
}

struct gorgon_error *gorgon_object_open(struct gorgon_ns *ns, const char *path, unsigned flags,
					struct gorgon_object **ret)
{
	struct gorgon_open_opts opts = {.size = sizeof(opts), .flags = flags};

	return gorgon_object_open_with(ns, path, &opts, ret);
}

void gorgon_object_close(struct gorgon_object *object)
{
	gorgon_lock();
	gorgon_ns_close(object->ns, object);
	gorgon_unlock();
}

void *gorgon_object_find_symbol(struct gorgon_object *object, const char *name, const char *version)
{
	return gorgon_dl_find(object, name, version);
}

void gorgon_object_get_info(const struct gorgon_object *object, struct gorgon_object_info *ret)
{
	*ret = (struct gorgon_object_info){
		.path = object->path,
		.soname = object->image->soname,
		.bias = object->bias,
		.start = object->start,
		.end = object->end,
		.debug_path = (const char *)(uintptr_t)object->debug.debug_path,
	};
}
