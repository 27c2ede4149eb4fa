// SPDX-License-Identifier: MIT
// Destructors of thread_local variables of private objects. They run when the thread ends, from the
// C library's own list, where C++ expects them; or, on the thread that unloads an object, before
// the object goes.

#define _GNU_SOURCE
#include "thread_dtors.h"
#include "parking.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <stdlib.h>

// libstdc++'s ABI and the C library define these; no public header declares them.
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso);
extern void *__dso_handle;

struct gorgon_thread_dtor {
	struct gorgon_thread_dtor *next;
	void (*fn)(void *);
	void *arg;
	uint64_t dso; // an address in the object that registered it
};

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

void gorgon_thread_free_dtors(struct gorgon_thread *thread)
{
	while (thread->dtors) {
		struct gorgon_thread_dtor *dtor = thread->dtors;

		thread->dtors = dtor->next;
		free(dtor);
	}
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
	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		for (struct gorgon_thread_dtor *dtor = thread->dtors; dtor; dtor = dtor->next)
			if (belongs(dtor, object))
				return true;
	return false;
}

void gorgon_thread_each_dtor(const struct gorgon_thread *thread,
			     void (*fn)(void *ctx, void (*dtor)(void *), void *arg, void *dso),
			     void *ctx)
{
	for (const struct gorgon_thread_dtor *dtor = thread->dtors; dtor; dtor = dtor->next)
		fn(ctx, dtor->fn, dtor->arg, (void *)(uintptr_t)dtor->dso);
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

// A destructor of an abandoned interpreter would park the thread.
static bool is_abandoned(const struct gorgon_thread_dtor *dtor)
{
	struct gorgon_ns *ns = gorgon_ns_next(NULL);

	while (ns && !(gorgon_parking_is_abandoned(ns) && gorgon_ns_object_at(ns, dtor->dso)))
		ns = gorgon_ns_next(ns);
	return ns;
}

// Called by the C library at the end of the thread, before pthread keys' destructors.
static void run_all_dtors(void *arg)
{
	struct gorgon_thread *thread = arg;

	for (;;) {
		struct gorgon_thread_dtor *dtor;
		bool dropped;

		gorgon_lock();
		dtor = take_dtor(thread, is_any, NULL);
		dropped = dtor && (thread->dropped || is_abandoned(dtor));
		gorgon_unlock();
		if (!dtor)
			return;
		if (!dropped)
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

void gorgon_thread_forget_dtors(struct gorgon_ns *ns)
{
	struct gorgon_thread_dtor *dtor;

	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		while ((dtor = take_dtor(thread, is_of_ns, ns)))
			free(dtor);
}

void gorgon_thread_drop_dtors(struct gorgon_object *object)
{
	struct gorgon_thread_dtor *dtor;

	run_dtors(is_of_object, object);
	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		while ((dtor = take_dtor(thread, is_of_object, object)))
			free(dtor);
}

// __cxa_thread_atexit_impl for private code. The C library would look the object up
// by @dso to keep it loaded, not find it, and call into unmapped memory later.
int gorgon_thread_atexit(void (*fn)(void *), void *arg, void *dso)
{
	struct gorgon_thread *thread = gorgon_thread_get();
	struct gorgon_thread_dtor *dtor = thread ? malloc(sizeof(*dtor)) : NULL;

	if (!dtor)
		return -1;
	// The C library forgets the hook when it has called it. So the hook is registered whenever
	// the list was empty.
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
