// SPDX-License-Identifier: MIT The Python objects that the host holds. Each interpreter has a list
// of references, and a list of references that the host has released while the interpreter has not
// given up the object yet.
//
// Releasing a reference does not wait for a GIL. The reference goes into the list of released
// references, and the next call of the host, which has the GIL, gives up the object. If a call runs
// on Python's main thread just then, Python is asked to call us there between two bytecodes.
// Otherwise Python is not asked: such a request, while the main thread is not in Python, slows down
// the bytecode of all other threads.
//
// A reference outlives its interpreter. It refers to the interpreter until that has given up the
// object; both change under one lock for all interpreters, which is held for a few instructions.

#define _GNU_SOURCE
#include "held.h"
#include "base/error.h"

#include <stdlib.h>

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER; // an interpreter has no users any more

void gorgon_held_lock(void)
{
	pthread_mutex_lock(&held_lock);
}

void gorgon_held_unlock(void)
{
	pthread_mutex_unlock(&held_lock);
}

void gorgon_held_after_fork(bool child)
{
	// The condition counts those who wait for it, and they do not exist in the child.
	if (child)
		left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	gorgon_held_unlock();
}

// --- lists, under the lock -------------------------------------------------------------

// The first reference of a list, which is in no list afterwards, or NULL.
static struct gorgon_pyobject *list_take(struct gorgon_link *head)
{
	struct gorgon_link *link = head->next;

	if (link == head)
		return NULL;
	gorgon_link_remove(link);
	return (struct gorgon_pyobject *)link;
}

void gorgon_held_init(struct gorgon_interp *interp)
{
	gorgon_link_init(&interp->held.alive);
	gorgon_link_init(&interp->held.released);
}

// --- references ------------------------------------------------------------------------

struct gorgon_pyobject *gorgon_held_add(struct gorgon_interp *interp, PyObject *object)
{
	struct gorgon_pyobject *ret = malloc(sizeof(*ret));

	if (!ret)
		return NULL;
	*ret = (struct gorgon_pyobject){
		.interp = interp, .number = interp->number, .count = 1, .object = object};
	gorgon_held_lock();
	gorgon_link_add(&interp->held.alive, &ret->link);
	gorgon_held_unlock();
	return ret;
}

PyObject *gorgon_held_object(const struct gorgon_pyobject *object,
			     const struct gorgon_interp *interp)
{
	PyObject *ret;

	gorgon_held_lock();
	ret = object->interp == interp ? object->object : NULL;
	gorgon_held_unlock();
	return ret;
}

struct gorgon_pyobject *gorgon_pyobject_retain(struct gorgon_pyobject *object)
{
	__atomic_add_fetch(&object->count, 1, __ATOMIC_RELAXED);
	return object;
}

unsigned gorgon_pyobject_interp(const struct gorgon_pyobject *object)
{
	return object->number;
}

bool gorgon_pyobject_is(const struct gorgon_pyobject *a, const struct gorgon_pyobject *b)
{
	bool ret;

	gorgon_held_lock();
	ret = a->interp && a->interp == b->interp && a->object == b->object;
	gorgon_held_unlock();
	return ret;
}

// Called by Python between two bytecodes of its main thread.
static int drain_pending(void *ctx)
{
	struct gorgon_interp *interp = ctx;

	gorgon_held_lock();
	interp->held.call_pending = false;
	gorgon_held_unlock();
	gorgon_held_drain(interp);
	return 0;
}

// Under the lock: whether Python is to be asked. Then the caller is a user of the interpreter, so
// that it does not end meanwhile.
static bool must_ask(struct gorgon_interp *interp)
{
	if (interp->held.call_pending || interp->held.closed ||
	    !__atomic_load_n(&interp->calls.main_entries, __ATOMIC_ACQUIRE))
		return false;
	interp->held.call_pending = true;
	interp->held.users++;
	return true;
}

// Without the lock: from CPython 3.13 on Python waits for its own lock with thread-local variables,
// and the first use of a thread-local variable takes the loader's lock. A full queue of Python's
// is no loss: the next call gives up the object. CPython 3.11 tells only threads that take the GIL.
static void ask_to_drain(struct gorgon_interp *interp)
{
	if (interp->api->Py_AddPendingCall(drain_pending, interp)) {
		gorgon_held_lock();
		interp->held.call_pending = false;
		gorgon_held_unlock();
	}
	gorgon_held_leave(interp);
}

void gorgon_pyobject_release(struct gorgon_pyobject *object)
{
	struct gorgon_interp *interp;
	bool ask = false;

	if (!object || __atomic_sub_fetch(&object->count, 1, __ATOMIC_ACQ_REL))
		return;
	gorgon_held_lock();
	interp = object->interp;
	if (interp) {
		gorgon_link_remove(&object->link);
		gorgon_link_add(&interp->held.released, &object->link);
		__atomic_store_n(&interp->held.waiting, true, __ATOMIC_RELAXED);
		ask = must_ask(interp);
	}
	gorgon_held_unlock();
	if (ask)
		ask_to_drain(interp);
	if (!interp)
		free(object);
}

// Objects are given up one at a time, because an object's destructor may release others, and may
// call exit(), which does not return here.
void gorgon_held_drain(struct gorgon_interp *interp)
{
	struct gorgon_pyobject *object;
	PyObject *given_up;

	// Calls are many, and releases few: a look without the lock.
	while (__atomic_load_n(&interp->held.waiting, __ATOMIC_RELAXED)) {
		gorgon_held_lock();
		object = list_take(&interp->held.released);
		if (!object)
			__atomic_store_n(&interp->held.waiting, false, __ATOMIC_RELAXED);
		gorgon_held_unlock();
		if (!object)
			return;
		given_up = object->object;
		free(object);
		interp->api->Py_DecRef(given_up);
	}
}

// --- calls and the end -----------------------------------------------------------------

struct gorgon_error *gorgon_held_enter(const struct gorgon_pyobject *object,
				       struct gorgon_interp **ret)
{
	struct gorgon_interp *interp;

	gorgon_held_lock();
	interp = object->interp;
	if (interp && interp->held.closed)
		interp = NULL;
	if (interp)
		interp->held.users++;
	gorgon_held_unlock();
	if (!interp)
		return gorgon_error_create(GORGON_ERROR_BUSY,
					   "interpreter %u: has ended, and with it the host's "
					   "references to its objects",
					   object->number);
	*ret = interp;
	return NULL;
}

void gorgon_held_leave(struct gorgon_interp *interp)
{
	gorgon_held_lock();
	if (interp->held.users && !--interp->held.users)
		pthread_cond_broadcast(&left);
	gorgon_held_unlock();
}

void gorgon_held_close(struct gorgon_interp *interp)
{
	gorgon_held_lock();
	interp->held.closed = true;
	while (interp->held.users)
		pthread_cond_wait(&left, &held_lock);
	gorgon_held_unlock();
}

// The next reference that the interpreter gives up. @object: what it refers to. False: there is
// none.
static bool give_up_one(struct gorgon_interp *interp, PyObject **object)
{
	struct gorgon_pyobject *released, *alive = NULL;

	gorgon_held_lock();
	released = list_take(&interp->held.released);
	if (!released && (alive = list_take(&interp->held.alive)))
		alive->interp = NULL;
	if (released || alive)
		*object = (released ?: alive)->object;
	gorgon_held_unlock();
	free(released);
	return released || alive;
}

void gorgon_held_end(struct gorgon_interp *interp, bool python)
{
	PyObject *object;

	while (give_up_one(interp, &object))
		if (python)
			interp->api->Py_DecRef(object);
}
