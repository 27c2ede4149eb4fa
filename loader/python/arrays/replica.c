// SPDX-License-Identifier: MIT A replica is an object for all interpreters: its pickle, and a
// reference in each interpreter that has a copy.
//
// The list of copies changes under the lock of all references (held.c). A copy is added with the
// GIL of its interpreter, so of two threads that unpickle at once, because unpickling lets other
// threads run, the second one finds the copy of the first and drops its own. Copies of interpreters
// that have ended go when the next one is added.

#define _GNU_SOURCE
#include "replica.h"
#include "base/error.h"
#include "python/calls/held.h"

#include <stdlib.h>
#include <string.h>

struct copy {
	struct copy *next;
	struct gorgon_pyobject *object;
};

struct gorgon_replica {
	size_t count; // of holders in the host; atomic
	struct copy *copies;
	size_t size;
	char data[];
};

// --- copies ----------------------------------------------------------------------------

// The copy of an interpreter, under the lock, or NULL.
static struct gorgon_pyobject *find_copy(const struct gorgon_replica *replica,
					 const struct gorgon_interp *interp)
{
	const struct copy *copy = replica->copies;

	while (copy && copy->object->interp != interp)
		copy = copy->next;
	return copy ? copy->object : NULL;
}

static void free_copies(struct copy *copy)
{
	struct copy *next;

	for (; copy; copy = next) {
		next = copy->next;
		gorgon_pyobject_release(copy->object);
		free(copy);
	}
}

// Take away the copies of interpreters that have ended. Under the lock.
static struct copy *take_ended(struct gorgon_replica *replica)
{
	struct copy *ret = NULL, **p = &replica->copies, *copy;

	while ((copy = *p)) {
		if (copy->object->interp) {
			p = &copy->next;
			continue;
		}
		*p = copy->next;
		copy->next = ret;
		ret = copy;
	}
	return ret;
}

// Keep @object as the interpreter's copy, unless another thread was first. Releases @object.
// Returns the copy as a new reference; NULL: no memory. With the GIL.
static PyObject *keep_replica(struct gorgon_interp *interp, struct gorgon_replica *replica,
			      PyObject *object)
{
	struct copy *copy = malloc(sizeof(*copy)), *unwanted;
	struct gorgon_pyobject *mine = copy ? gorgon_held_add(interp, object) : NULL, *first;
	PyObject *ret;

	if (!mine) {
		free(copy);
		interp->api->Py_DecRef(object);
		return NULL;
	}
	*copy = (struct copy){NULL, mine};
	gorgon_held_lock();
	unwanted = take_ended(replica);
	first = find_copy(replica, interp);
	if (!first) {
		copy->next = replica->copies;
		replica->copies = copy;
	}
	ret = (first ?: mine)->object;
	gorgon_held_unlock();
	interp->api->Py_IncRef(ret);
	if (first)
		free_copies(copy);
	free_copies(unwanted);
	return ret;
}

static struct gorgon_error *unpickle_replica(struct gorgon_interp *interp,
					     const struct gorgon_replica *replica, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	PyObject *module = api->PyImport_ImportModule("pickle"), *bytes = NULL, *object = NULL;

	if (module)
		bytes = api->PyBytes_FromStringAndSize(replica->data, (Py_ssize_t)replica->size);
	if (bytes)
		object = api->PyObject_CallMethod(module, "loads", "(O)", bytes);
	api->Py_DecRef(bytes);
	api->Py_DecRef(module);
	return gorgon_call_result(interp, object, ret);
}

struct gorgon_error *gorgon_replica_to_python(struct gorgon_interp *interp,
					      struct gorgon_replica *replica, PyObject **ret)
{
	const struct gorgon_api *api = interp->api;
	struct gorgon_pyobject *copy;
	PyObject *object, *found = NULL;
	struct gorgon_error *err;

	gorgon_held_lock();
	copy = find_copy(replica, interp);
	if (copy)
		found = copy->object;
	gorgon_held_unlock();
	if (found) {
		api->Py_IncRef(found);
		*ret = found;
		return NULL;
	}
	if ((err = unpickle_replica(interp, replica, &object)))
		return err;
	object = keep_replica(interp, replica, object);
	if (!object)
		return &gorgon_error_nomem;
	*ret = object;
	return NULL;
}

// --- the host's functions ----------------------------------------------------------------

struct creation {
	struct gorgon_pyobject *object;
	struct gorgon_replica *ret;
};

// The object itself is its interpreter's copy.
static struct gorgon_error *make_replica(struct gorgon_interp *interp, PyObject *object,
					 PyObject *bytes, struct gorgon_replica **ret)
{
	struct gorgon_replica *replica;
	Py_ssize_t size;
	char *data;

	if (interp->api->PyBytes_AsStringAndSize(bytes, &data, &size))
		return gorgon_call_fail(interp);
	replica = malloc(sizeof(*replica) + (size_t)size);
	if (!replica)
		return &gorgon_error_nomem;
	*replica = (struct gorgon_replica){.count = 1, .size = (size_t)size};
	memcpy(replica->data, data, (size_t)size);
	interp->api->Py_IncRef(object);
	object = keep_replica(interp, replica, object);
	if (!object) {
		free(replica);
		return &gorgon_error_nomem;
	}
	interp->api->Py_DecRef(object);
	*ret = replica;
	return NULL;
}

static struct gorgon_error *create_replica(struct gorgon_interp *interp, void *ctx)
{
	const struct gorgon_api *api = interp->api;
	struct creation *creation = ctx;
	PyObject *object = creation->object->object, *module = api->PyImport_ImportModule("pickle"),
		 *bytes = NULL;
	struct gorgon_error *err;

	// -1: the newest protocol.
	if (module)
		bytes = api->PyObject_CallMethod(module, "dumps", "(Oi)", object, -1);
	api->Py_DecRef(module);
	err = gorgon_call_result(interp, bytes, &bytes);
	if (err)
		return err;
	err = make_replica(interp, object, bytes, &creation->ret);
	api->Py_DecRef(bytes);
	return err;
}

struct gorgon_error *gorgon_replica_create(struct gorgon_pyobject *object,
					   struct gorgon_replica **ret)
{
	struct creation creation = {.object = object};
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_held_enter(object, &interp);

	if (err)
		return err;
	err = gorgon_call_python(interp, create_replica, &creation);
	gorgon_held_leave(interp);
	if (!err)
		*ret = creation.ret;
	return err;
}

struct getting {
	struct gorgon_replica *replica;
	struct gorgon_pyobject *ret;
};

static struct gorgon_error *get_replica(struct gorgon_interp *interp, void *ctx)
{
	struct getting *getting = ctx;
	PyObject *object;
	struct gorgon_error *err = gorgon_replica_to_python(interp, getting->replica, &object);

	if (err)
		return err;
	getting->ret = gorgon_held_add(interp, object);
	if (getting->ret)
		return NULL;
	interp->api->Py_DecRef(object);
	return &gorgon_error_nomem;
}

struct gorgon_error *gorgon_replica_get(struct gorgon_replica *replica,
					struct gorgon_interp *interp, struct gorgon_pyobject **ret)
{
	struct getting getting = {.replica = replica};
	struct gorgon_error *err = gorgon_call_python(interp, get_replica, &getting);

	if (!err)
		*ret = getting.ret;
	return err;
}

size_t gorgon_replica_size(const struct gorgon_replica *replica)
{
	return replica->size;
}

struct gorgon_replica *gorgon_replica_retain(struct gorgon_replica *replica)
{
	__atomic_add_fetch(&replica->count, 1, __ATOMIC_RELAXED);
	return replica;
}

void gorgon_replica_release(struct gorgon_replica *replica)
{
	if (!replica || __atomic_sub_fetch(&replica->count, 1, __ATOMIC_ACQ_REL))
		return;
	free_copies(replica->copies);
	free(replica);
}
