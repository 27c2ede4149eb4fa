/* SPDX-License-Identifier: MIT */
/* The Python objects that the host holds. See held.c. */
#ifndef GORGON_PYTHON_HELD_H
#define GORGON_PYTHON_HELD_H

#include "python/api.h"

struct gorgon_pyobject {
	struct gorgon_link link; /* in a list of its interpreter */
	struct gorgon_interp *interp; /* NULL: it has given up the object */
	unsigned number; /* of the interpreter */
	size_t count;	 /* of holders in the host; atomic */
	PyObject *object;
};

/* The lock of all references, of the copies of replicas and of charges for shared memory. It is a
 * leaf, and is held for a few instructions. */
void gorgon_held_lock(void);
void gorgon_held_unlock(void);
/* After fork(), before which the lock was taken. */
void gorgon_held_after_fork(bool child);

void gorgon_held_init(struct gorgon_interp *interp);

/* Make a reference that takes over a hold on @object. With the GIL. NULL: no memory, and the hold
 * is still the caller's. */
struct gorgon_pyobject *gorgon_held_add(struct gorgon_interp *interp, PyObject *object);
/* The object, borrowed, or NULL if it belongs to another interpreter. With the GIL, from a call
 * that runs. */
PyObject *gorgon_held_object(const struct gorgon_pyobject *object,
			     const struct gorgon_interp *interp);

/* Keep the object's interpreter from being freed until gorgon_held_leave(); GORGON_ERROR_BUSY: it
 * has ended. */
struct gorgon_error *gorgon_held_enter(const struct gorgon_pyobject *object,
				       struct gorgon_interp **ret);
void gorgon_held_leave(struct gorgon_interp *interp);

/* Give up the objects that the host has released. With the GIL, and no exception set. */
void gorgon_held_drain(struct gorgon_interp *interp);

/* From now on references refuse calls; returns when nobody is between gorgon_held_enter() and
 * gorgon_held_leave(). */
void gorgon_held_close(struct gorgon_interp *interp);
/* After gorgon_held_close(): give up all objects. @python: with the GIL; otherwise Python is gone,
 * and so are they. */
void gorgon_held_end(struct gorgon_interp *interp, bool python);

#endif
