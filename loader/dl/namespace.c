// SPDX-License-Identifier: MIT
// The life of a namespace, and the public functions about namespaces and their objects.

#define _GNU_SOURCE
#include "atfork.h"
#include "dl.h"
#include "namespace.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/patience.h"
#include "base/sized.h"
#include "base/stay.h"
#include "base/thunk.h"
#include "debug/debug_mode.h"
#include "image/zones.h"
#include "load/load.h"
#include "load/unload.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/tls.h"
#include "process/interpose.h"
#include "process/kernel/lock_files.h"
#include "process/kernel/signals.h"
#include "process/libc/atexit.h"
#include "process/libc/environment.h"
#include "process/libc/locales.h"
#include "process/memory/frames.h"
#include "process/memory/heap.h"
#include "process/memory/memory.h"
#include "process/part.h"
#include "process/permissions.h"
#include "process/process.h"
#include "process/threads/parking.h"
#include "process/threads/pthread_create.h"
#include "process/threads/thread_dtors.h"
#include "process/threads/thread_exit.h"
#include "process/threads/tsd.h"
#include "process/waiting.h"

#include <stdio.h>
#include <stdlib.h>

// How long gorgon_ns_destroy() waits for threads that are about to end.
#define THREAD_WAIT_MS  500
#define THREAD_AGAIN_MS 20 // when it has waited before

unsigned gorgon_version(void)
{
	return GORGON_VERSION_MAJOR << 16 | GORGON_VERSION_MINOR << 8 | GORGON_VERSION_PATCH;
}

static void ns_free(struct gorgon_ns *ns)
{
	gorgon_signals_destroy(ns->signals);
	gorgon_locale_destroy(ns->locale);
	gorgon_environment_destroy(ns->environment);
	gorgon_parts_end(ns->parts);
	gorgon_thunks_destroy(ns->thunks);
	gorgon_policy_deinit(&ns->policy);
	free(ns->debug_mode);
	free(ns->system);
	gorgon_unique_deinit(&ns->uniques);
	free(ns);
}

static const struct gorgon_interposed *interposed; // of all namespaces

static void init_once(void)
{
	gorgon_stay_loaded();
	gorgon_atfork_init();
	gorgon_thread_at_exit(gorgon_thread_on_exit);
	gorgon_tlsdesc_init();
	gorgon_heap_init();
	gorgon_lock_files_init();
	interposed = gorgon_interposed_create(gorgon_parts);
}

void gorgon_ns_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_once);
}

static void run_destructors(void *ns)
{
	gorgon_lock();
	gorgon_unload_end_program(ns);
	gorgon_unlock();
}

struct gorgon_error *gorgon_ns_create_with(const struct gorgon_ns_opts *opts,
					   const struct gorgon_thunk *thunks, size_t thunk_count,
					   struct gorgon_ns **ret)
{
	struct gorgon_ns_opts given;
	struct gorgon_error *err;
	struct gorgon_ns *ns;

	gorgon_ns_init();
	if (!interposed)
		return &gorgon_error_nomem;

	if ((err = gorgon_sized_read("gorgon_ns_opts", opts, &given, sizeof(given))) ||
	    (err = gorgon_policy_check(given.share, given.keep_private)) ||
	    (err = gorgon_permissions_check(&given)))
		return err;
	if (given.environment && given.share_environment)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_ns_opts: environment is given with "
					   "share_environment, expected one of them");
	ns = calloc(1, sizeof(*ns));
	if (!ns)
		return &gorgon_error_nomem;
	ns->opts = given;
	ns->signals = gorgon_signals_create(!ns->opts.no_signals);
	if (ns->signals && given.deny & GORGON_DENY_SIGNALS)
		gorgon_signals_deny(ns->signals);
	ns->environment =
		gorgon_environment_create(ns->opts.environment, ns->opts.share_environment);
	ns->locale = ns->environment ? gorgon_locale_create(ns->environment) : NULL;
	ns->debug_mode = gorgon_debug_mode_create(ns);
	ns->parts = gorgon_parts_begin(ns);
	if (!ns->signals || !ns->locale || !ns->debug_mode || !ns->parts || !ns->environment ||
	    !gorgon_policy_init(&ns->policy, ns->opts.share, ns->opts.keep_private) ||
	    !gorgon_policy_allow(&ns->policy, ns->opts.extensions)) {
		ns_free(ns);
		return &gorgon_error_nomem;
	}
	if ((err = gorgon_interpose_init(ns, interposed, thunks, thunk_count))) {
		ns_free(ns);
		return err;
	}
	gorgon_atexit_end_with(gorgon_parts_state(ns->parts, &gorgon_atexit_part), run_destructors,
			       ns);
	ns->debug.interp = GORGON_DEBUG_NO_INTERP;
	gorgon_lock();
	gorgon_ns_list(ns);
	gorgon_unlock();
	*ret = ns;
	return NULL;
}

struct gorgon_error *gorgon_ns_create(const struct gorgon_ns_opts *opts, struct gorgon_ns **ret)
{
	return gorgon_ns_create_with(opts, NULL, 0, ret);
}

// A daemon thread ends when it asks for the GIL of a Python that has ended. In a blocking call it
// never would.
static void wake_threads(const struct gorgon_ns *ns)
{
	for (const struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		if (gorgon_thread_ns(thread) == ns)
			gorgon_signals_wake((pid_t)thread->tid);
}

static void list_awaited_of_ns(const struct gorgon_ns *ns, struct gorgon_awaited *ret)
{
	ret->count = 0;
	for (const struct gorgon_thread *thread = gorgon_thread_next(NULL);
	     thread && ret->count < GORGON_PATIENCE_THREADS; thread = gorgon_thread_next(thread))
		if (gorgon_thread_ns(thread) == ns)
			ret->tids[ret->count++] = (pid_t)thread->tid;
	ret->cpu_ns = gorgon_threads_cpu_ns(ns);
}

struct gorgon_error *gorgon_ns_wait_for_threads(struct gorgon_ns *ns)
{
	// Nobody waits again as long for threads that have stayed.
	uint64_t limit = (ns->waited ? THREAD_AGAIN_MS : THREAD_WAIT_MS) * 1000000ull,
		 until = gorgon_now() + limit;
	struct gorgon_patience patience;
	struct gorgon_awaited awaited;

	if (ns->thread_count && ns->debug.interp != GORGON_DEBUG_NO_INTERP &&
	    !gorgon_parking_is_abandoned(ns))
		gorgon_waiting_end(ns);
	if (ns->thread_count) {
		list_awaited_of_ns(ns, &awaited);
		gorgon_patience_begin(&patience, limit, &awaited);
	}
	while (ns->thread_count && gorgon_now() < until) {
		if (ns->debug.interp != GORGON_DEBUG_NO_INTERP)
			wake_threads(ns);
		gorgon_lock_wait(10);
		list_awaited_of_ns(ns, &awaited);
		until += gorgon_patience_look(&patience, &awaited);
	}
	if (!ns->thread_count)
		return NULL;
	ns->waited = true;
	return gorgon_error_create(GORGON_ERROR_BUSY,
				   "namespace %lu: %u threads that its libraries started still run",
				   ns->debug.id, ns->thread_count);
}

// The end of a process ends its threads, and never closes a descriptor that a thread still uses. So
// threads that wait end here, and threads that compute have time to end, before the program's
// descriptors are given back: Rust's library ends the process when it cannot close a directory.
void gorgon_ns_end_program(struct gorgon_ns *ns, int status)
{
	if (gorgon_process_end(ns, status)) {
		gorgon_lock();
		gorgon_error_destroy(gorgon_ns_wait_for_threads(ns));
		gorgon_unlock();
	}
	// As at the end of a python3. fflush(NULL) would wait for the lock of each stream, and a
	// thread of the host that waits for input holds such a lock.
	fflush(stdout);
}

static void show_unloading(struct gorgon_ns *ns)
{
	gorgon_debug_begin();
	ns->debug.state = GORGON_DEBUG_NS_UNLOADING;
	gorgon_debug_touch(&ns->debug);
	gorgon_debug_end();
}

// In the order of exit(): this thread's thread_local variables, functions of atexit(), destructors.
// Destructors may join threads (OpenBLAS ends its pool), so they run before the threads are
// counted. A second call after GORGON_ERROR_BUSY finds nothing left to finalise.
static struct gorgon_error *namespace_finalise(struct gorgon_ns *ns)
{
	struct gorgon_atexit *exits = gorgon_parts_state(ns->parts, &gorgon_atexit_part);

	show_unloading(ns);
	gorgon_thread_run_dtors(ns);
	gorgon_atexit_run(exits);
	gorgon_unload_finalise_all(ns);
	// the functions of objects whose destructors do not call __cxa_finalize()
	gorgon_atexit_run(exits);
	gorgon_atexit_forget(exits);
	return gorgon_ns_wait_for_threads(ns);
}

// No code of an abandoned namespace runs any more, not even to clean up: locks may be held for
// good.
static struct gorgon_error *namespace_drop(struct gorgon_ns *ns)
{
	struct gorgon_atexit *exits = gorgon_parts_state(ns->parts, &gorgon_atexit_part);
	struct gorgon_error *err = gorgon_ns_wait_for_threads(ns);

	if (err)
		return err;
	show_unloading(ns);
	gorgon_thread_forget_dtors(ns);
	gorgon_atexit_discard(exits);
	gorgon_atexit_forget(exits);
	gorgon_unload_drop_all(ns);
	return NULL;
}

struct gorgon_error *gorgon_ns_destroy(struct gorgon_ns *ns)
{
	struct gorgon_error *err;

	if (!ns)
		return NULL;
	gorgon_lock();
	if ((err = gorgon_parking_is_abandoned(ns) ? namespace_drop(ns) : namespace_finalise(ns))) {
		gorgon_unlock();
		return err;
	}
	gorgon_parts_stop(ns->parts);
	gorgon_thread_detach_left(ns);
	gorgon_tsd_drop(ns);
	gorgon_frames_drop(gorgon_parts_state(ns->parts, &gorgon_frames_part));
	// A signal handler is taken back before its code is unmapped.
	gorgon_signals_destroy(ns->signals);
	ns->signals = NULL;
	gorgon_debug_mode_close(ns);
	gorgon_unload_destroy_doomed(ns);
	gorgon_debug_mode_forget(ns);
	gorgon_walk_drop_all(ns);
	if (ns->user.on_end)
		ns->user.on_end(ns->user.ctx);
	gorgon_memory_release(gorgon_parts_state(ns->parts, &gorgon_memory_part));
	gorgon_zone_drop_ns(ns);
	gorgon_ns_unlist(ns);
	gorgon_debug_mode_unlock(NULL);
	ns_free(ns);
	return NULL;
}

struct gorgon_error *gorgon_object_open(struct gorgon_ns *ns, const char *path,
					const struct gorgon_open_opts *opts,
					struct gorgon_object **ret)
{
	struct jitreg_prepared *prepared;
	struct gorgon_open_opts given;
	struct gorgon_error *err =
		gorgon_sized_read("gorgon_open_opts", opts, &given, sizeof(given));

	if (err)
		return err;
	if (given.flags & ~(unsigned)(GORGON_OPEN_GLOBAL | GORGON_OPEN_DEEPBIND))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "%s: flags are %#x, expected at most %#x", path,
					   given.flags, GORGON_OPEN_GLOBAL | GORGON_OPEN_DEEPBIND);
	if (ns->linked)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: namespace %lu was made by the system's linker: "
					   "objects can be loaded only beside interpreters that "
					   "Gorgon's loader isolates",
					   path, ns->debug.id);
	for (struct gorgon_object *const *p = given.search; p && *p; p++)
		if ((*p)->ns != ns)
			return gorgon_error_create(
				GORGON_ERROR_ARGUMENT,
				"gorgon_open_opts: search has %s of namespace %lu, "
				"expected objects of namespace %lu",
				(*p)->path, (*p)->ns->debug.id, ns->debug.id);
	prepared = gorgon_debug_mode_lock(ns, path);
	err = gorgon_ns_load(ns, path, NULL, &given, ret);
	gorgon_debug_mode_unlock(prepared);
	return err;
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
