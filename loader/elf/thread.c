// SPDX-License-Identifier: MIT
// What the loader keeps per thread: TLS blocks of private objects, destructors of
// their thread_local variables, values of their keys, the dlerror() text, and which
// namespace started it.
//
// Life of a record: made on first use, freed at thread exit by a pthread key's
// destructor. That destructor runs in rounds with those of other keys, which may use
// TLS again; so it re-arms itself and frees in the last round but one that the C library
// gives (PTHREAD_DESTRUCTOR_ITERATIONS); in the last one a thread sanitizer's runtime
// has left the thread already. thread_local destructors run earlier,
// through the C library's own list, where C++ expects them.
//
// The list of all records hangs on the debug root and is guarded by the loader's lock. A
// record's slots are
// grown and filled under the lock by its own thread and emptied under the lock by
// whoever unloads; its thread reads them without the lock, which is safe because an
// object that is being unloaded is not used any more.

#define _GNU_SOURCE
#include "thread.h"
#include "altstack.h"
#include "debug_writer.h"
#include "keys.h"
#include "locales.h"
#include "lock.h"
#include "ns.h"
#include "static_tls.h"
#include "tls.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

// Of libstdc++'s ABI and the C library; declared by no public header.
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso);
extern void *__dso_handle;

// Initial-exec: one word, which fits in the surplus even when this library is
// itself loaded with dlopen(). Read by tlsdesc_*.S as well.
__thread struct gorgon_thread *gorgon_thread_current __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;
static uint64_t serials; // given so far; under the lock
static struct gorgon_thread *threads; // the newest first; under the lock

static void link_thread(struct gorgon_thread *thread)
{
	gorgon_debug_begin();
	thread->next = threads;
	if (thread->next)
		thread->next->prev = thread;
	threads = thread;
	gorgon_debug_root.thread_head = (uintptr_t)thread;
	gorgon_debug_root.thread_count++;
	gorgon_debug_end();
}

static void unlink_thread(struct gorgon_thread *thread)
{
	gorgon_debug_begin();
	if (thread->prev)
		thread->prev->next = thread->next;
	else
		threads = thread->next;
	if (thread->next)
		thread->next->prev = thread->prev;
	gorgon_debug_root.thread_head = (uintptr_t)threads;
	gorgon_debug_root.thread_count--;
	gorgon_debug_end();
}

// Blocks in static TLS are the C library's.
static void free_block(const struct gorgon_thread *thread, void *block)
{
	if (!gorgon_static_tls_contains(thread->tp, block))
		gorgon_tls_free_block(block);
}

static void free_thread(struct gorgon_thread *thread)
{
	for (size_t i = 0; i < thread->slot_count; i++)
		free_block(thread, thread->slots[i].block);
	while (thread->dtors) {
		struct gorgon_thread_dtor *dtor = thread->dtors;

		thread->dtors = dtor->next;
		free(dtor);
	}
	free(thread->slots);
	free(thread->values);
	free(thread->dl_error);
	free(thread->dl_error_shown);
	gorgon_altstack_free(thread);
	free(thread);
}

static void at_thread_exit(void *arg)
{
	struct gorgon_thread *thread = arg;

	gorgon_keys_at_thread_exit(thread);
	if (++thread->exit_round < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && !pthread_setspecific(key, thread))
		return;
	gorgon_lock();
	unlink_thread(thread);
	if (thread->ns) {
		thread->ns->thread_count--;
		gorgon_lock_broadcast();
	}
	gorgon_unlock();
	gorgon_thread_current = NULL;
	gorgon_altstack_disable(thread);
	free_thread(thread);
}

static void create_key(void)
{
	key_error = pthread_key_create(&key, at_thread_exit);
}

struct gorgon_thread *gorgon_thread_peek(void)
{
	return gorgon_thread_current;
}

struct gorgon_thread *gorgon_thread_get(void)
{
	struct gorgon_thread *thread = gorgon_thread_current;

	if (thread)
		return thread;
	pthread_once(&key_once, create_key);
	thread = key_error ? NULL : calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (pthread_setspecific(key, thread)) {
		free(thread);
		return NULL;
	}
	thread->tid = (uint64_t)gettid();
	thread->tp = __builtin_thread_pointer();
	gorgon_thread_current = thread;
	gorgon_lock();
	thread->serial = ++serials;
	link_thread(thread);
	gorgon_unlock();
	return thread;
}

uint64_t gorgon_thread_serial(void)
{
	const struct gorgon_thread *thread = gorgon_thread_get();

	return thread ? thread->serial : 0;
}

void gorgon_thread_after_fork(void)
{
	struct gorgon_thread *next;

	for (struct gorgon_thread *thread = threads; thread; thread = next) {
		next = thread->next;
		if (thread == gorgon_thread_current)
			continue;
		unlink_thread(thread);
		free_thread(thread);
	}
	if (gorgon_thread_current)
		gorgon_thread_current->tid = (uint64_t)gettid();
}

static bool belongs(const struct gorgon_thread_dtor *dtor, const struct gorgon_object *object)
{
	return dtor->dso >= object->start && dtor->dso < object->end;
}

static bool is_of_object(const struct gorgon_thread_dtor *dtor, void *object)
{
	return belongs(dtor, object);
}

static bool is_of_ns(const struct gorgon_thread_dtor *dtor, void *ns)
{
	return gorgon_ns_object_at(ns, dtor->dso);
}

static bool is_any(const struct gorgon_thread_dtor *dtor, void *ctx)
{
	(void)dtor;
	(void)ctx;
	return true;
}

typedef bool dtor_filter(const struct gorgon_thread_dtor *dtor, void *ctx);

bool gorgon_thread_has_dtors(const struct gorgon_object *object)
{
	for (struct gorgon_thread *thread = threads; thread; thread = thread->next)
		for (struct gorgon_thread_dtor *dtor = thread->dtors; dtor; dtor = dtor->next)
			if (belongs(dtor, object))
				return true;
	return false;
}

// Take the first destructor that @filter wants from a thread's list.
static struct gorgon_thread_dtor *take_dtor(struct gorgon_thread *thread, dtor_filter *filter,
					    void *ctx)
{
	for (struct gorgon_thread_dtor **p = &thread->dtors; *p; p = &(*p)->next) {
		struct gorgon_thread_dtor *dtor = *p;

		if (!filter(dtor, ctx))
			continue;
		*p = dtor->next;
		return dtor;
	}
	return NULL;
}

// Called by the C library at the end of the thread, before pthread keys' destructors.
static void run_all_dtors(void *arg)
{
	struct gorgon_thread *thread = arg;

	for (;;) {
		struct gorgon_thread_dtor *dtor;

		gorgon_lock();
		dtor = take_dtor(thread, is_any, NULL);
		gorgon_unlock();
		if (!dtor)
			return;
		dtor->fn(dtor->arg);
		free(dtor);
	}
}

static void run_dtors(dtor_filter *filter, void *ctx)
{
	struct gorgon_thread_dtor *dtor;

	while (gorgon_thread_current && (dtor = take_dtor(gorgon_thread_current, filter, ctx))) {
		gorgon_unlock();
		dtor->fn(dtor->arg);
		free(dtor);
		gorgon_lock();
	}
}

void gorgon_thread_run_dtors(struct gorgon_ns *ns)
{
	run_dtors(is_of_ns, ns);
}

void gorgon_thread_drop_dtors(struct gorgon_object *object)
{
	struct gorgon_thread_dtor *dtor;

	run_dtors(is_of_object, object);
	for (struct gorgon_thread *thread = threads; thread; thread = thread->next)
		while ((dtor = take_dtor(thread, is_of_object, object)))
			free(dtor);
}

void gorgon_thread_drop_tls(uint64_t module)
{
	for (struct gorgon_thread *thread = threads; thread; thread = thread->next) {
		for (size_t i = 0; i < thread->slot_count; i++) {
			if (thread->slots[i].module != module)
				continue;
			free_block(thread, thread->slots[i].block);
			thread->slots[i] = (struct gorgon_tls_slot){0};
		}
	}
}

void gorgon_thread_clear_values(size_t index)
{
	for (struct gorgon_thread *thread = threads; thread; thread = thread->next)
		if (index < thread->value_count)
			__atomic_store_n(&thread->values[index], NULL, __ATOMIC_RELAXED);
}

bool gorgon_thread_has_tls(uint64_t module)
{
	for (const struct gorgon_thread *thread = threads; thread; thread = thread->next)
		for (size_t i = 0; i < thread->slot_count; i++)
			if (thread->slots[i].module == module)
				return true;
	return false;
}

// __cxa_thread_atexit_impl for private code. The C library would look the object up
// by @dso to keep it loaded, not find it, and call into unmapped memory later.
int gorgon_thread_atexit(void (*fn)(void *), void *arg, void *dso)
{
	struct gorgon_thread *thread = gorgon_thread_get();
	struct gorgon_thread_dtor *dtor = thread ? malloc(sizeof(*dtor)) : NULL;

	if (!dtor)
		return -1;
	// The hook is registered again whenever the list was empty: the C library
	// forgets it once it has run.
	if (!thread->dtors && __cxa_thread_atexit_impl(run_all_dtors, thread, &__dso_handle)) {
		free(dtor);
		return -1;
	}
	gorgon_lock();
	*dtor = (struct gorgon_thread_dtor){thread->dtors, fn, arg, (uintptr_t)dso};
	thread->dtors = dtor;
	gorgon_unlock();
	return 0;
}

struct start {
	void *(*fn)(void *);
	void *arg;
	struct gorgon_ns *ns;
};

static void uncount(struct gorgon_ns *ns)
{
	gorgon_lock();
	ns->thread_count--;
	gorgon_lock_broadcast();
	gorgon_unlock();
}

static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	struct gorgon_thread *thread = gorgon_thread_get();

	free(arg);
	// Without a record the thread stays counted for good: its namespace is then
	// never unmapped under it.
	if (thread)
		thread->ns = start.ns;
	gorgon_locale_enter(start.ns->locale);
	return start.fn(start.arg);
}

// pthread_create for private code: the namespace counts its threads, so that it is
// not unmapped under them.
int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns)
{
	struct start *start = malloc(sizeof(*start));
	int err;

	if (!start)
		return EAGAIN;
	*start = (struct start){fn, arg, ns};
	gorgon_lock();
	ns->thread_count++;
	gorgon_unlock();
	err = pthread_create(thread, attr, start_thread, start);
	if (err) {
		uncount(ns);
		free(start);
	}
	return err;
}
