/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_PYOBJECTS_H
#define GORGON_PYOBJECTS_H

#include "api.h"
#include "calls.h"
#include "errors.h"
#include "interpreters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pyobjects: references of the host to Python objects ---------------- */

/*
 * A struct gorgon_pyobject is one hold of the host on one Python object of one interpreter: a
 * model, a function, a module, an iterator. It keeps the object alive until it is released, or
 * until the interpreter ends.
 *
 * Functions with a struct gorgon_error are calls into the interpreter, as those of calls.h: any
 * thread may call, the call takes the GIL, and it has the errors of every call. Python code runs in
 * all of them, also in gorgon_pyobject_get_attr(), which may call a property.
 *
 * - Interrupt: gorgon_interp_interrupt() raises KeyboardInterrupt in a call that runs:
 *   GORGON_ERROR_EXCEPTION. No reference is made then, and those that there were stay.
 * - End: gorgon_interp_stop() gives up all references before the functions of atexit run, so that
 *   Python destroys objects as if the host had never held them. From the beginning of the stop on
 *   each call returns GORGON_ERROR_BUSY. References of the host stay valid to release, before and
 *   after gorgon_interp_destroy(); also calls with them are safe then, and fail with
 *   GORGON_ERROR_BUSY. When a stop is refused, all references are as before.
 * - exit() in the interpreter's code: GORGON_ERROR_PYTHON. The interpreter has ended, and so have
 *   its references.
 * - In a forked child references are usable where the interpreter is.
 *
 * Arguments are values (struct gorgon_value). GORGON_VALUE_OBJECT passes a reference, at any depth
 * of lists and dicts, as the object itself, if it is of the interpreter that is called; if it is
 * not, the error is GORGON_ERROR_ARGUMENT. GORGON_VALUE_REPLICA passes the interpreter's copy of a
 * replica.
 */

/** A reference to the Python object that a value becomes. @p ret is released with
 * gorgon_pyobject_release(), here and below. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_create(struct gorgon_interp *interp, const struct gorgon_value *value,
		       struct gorgon_pyobject **ret);

/**
 * Find what a module has.
 *
 * @param module  Imported if need be; NULL for `__main__`.
 * @param name    Attributes of the module, separated by dots; NULL for the module itself. Since
 *                0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_find(struct gorgon_interp *interp, const char *module, const char *name,
		     struct gorgon_pyobject **ret);

/** Hold a reference once more, for another owner, who releases it; returns @p object. No call: it
 * neither waits for the GIL nor fails. Since 0.1. */
GORGON_API struct gorgon_pyobject *gorgon_pyobject_retain(struct gorgon_pyobject *object);

/**
 * Release a reference, on any thread, at any time, inside a call or not, before or after the
 * interpreter's end. No call: it does not wait for the GIL. When nobody of the host holds the
 * reference any more, Python gives up the object when the interpreter next runs: at the beginning
 * of the host's next call; between two bytecodes of Python's main thread if a call runs there
 * (CPython 3.11 looks after the thread has taken the GIL anew); or at the interpreter's end. The
 * object's destructor runs there. NULL is ignored. Since 0.1.
 */
GORGON_API void gorgon_pyobject_release(struct gorgon_pyobject *object);

/** Number of the interpreter that the object is of, also after its end. No call. Since 0.1. */
GORGON_API unsigned gorgon_pyobject_interp(const struct gorgon_pyobject *object);

/** Whether two references are to one and the same object (`is`); false after its interpreter's end.
 * No call. Since 0.1. */
GORGON_API bool gorgon_pyobject_is(const struct gorgon_pyobject *a,
				   const struct gorgon_pyobject *b);

/** An attribute, or an attribute of an attribute, separated by dots. AttributeError if there is
 * none. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_get_attr(struct gorgon_pyobject *object, const char *name,
			 struct gorgon_pyobject **ret);

/** Whether gorgon_pyobject_get_attr() finds an attribute: an AttributeError is the answer false,
 * another exception an error. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_has_attr(struct gorgon_pyobject *object, const char *name, bool *ret);

/** Set one attribute; dots in @p name are no separators here. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_set_attr(struct gorgon_pyobject *object, const char *name,
			 const struct gorgon_value *value);

/** `object[key]`. KeyError, IndexError, TypeError as in Python. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_get_item(struct gorgon_pyobject *object, const struct gorgon_value *key,
			 struct gorgon_pyobject **ret);

/** `object[key] = value`. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_set_item(struct gorgon_pyobject *object, const struct gorgon_value *key,
			 const struct gorgon_value *value);

/**
 * Call an object.
 *
 * @param      args    A LIST, or NULL for no positional arguments.
 * @param      kwargs  A DICT with strings as keys, or NULL.
 * @param[out] ret     A reference to the result; NULL: the result is dropped.
 * @return and GORGON_ERROR_ARGUMENT, as gorgon_interp_call(). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_call(struct gorgon_pyobject *object, const struct gorgon_value *args,
		     const struct gorgon_value *kwargs, struct gorgon_pyobject **ret);

/** An iterator over an object (`iter()`), for gorgon_pyobject_next(). Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_iterate(struct gorgon_pyobject *object, struct gorgon_pyobject **ret);

/** The next object of an iterator (`next()`); NULL at the end, which is no error. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_next(struct gorgon_pyobject *iterator, struct gorgon_pyobject **ret);

/** Copy an object out, as results of gorgon_interp_call() are: GORGON_ERROR_UNSUPPORTED if it or a
 * part of it is no value. Arrays are copied. @p ret is given back with gorgon_value_deinit(). Since
 * 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_get_value(struct gorgon_pyobject *object, struct gorgon_value *ret);

/** The type of an object (`type()`). Its name is the attribute `__qualname__`, its module
 * `__module__`. Since 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_get_type(struct gorgon_pyobject *object, struct gorgon_pyobject **ret);

/** `isinstance(object, type)`. GORGON_ERROR_ARGUMENT: both are not of the same interpreter. Since
 * 0.1. */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_is_instance(struct gorgon_pyobject *object, const struct gorgon_pyobject *type,
			    bool *ret);

/*
 * A struct gorgon_replica is one object for all interpreters: the interpreter that it comes from
 * has the object itself, every other one a copy, which is made where and when it is first used, and
 * kept. The module `pickle` makes it: classes and functions are found by name, so what an
 * interpreter cannot import raises there. Nothing is shared: what one interpreter changes no other
 * sees.
 *
 * A replica outlives the interpreters, also that of the object. An interpreter's end gives up its
 * copy.
 */

/**
 * Pickle an object, once for all interpreters. PicklingError, TypeError as pickle.dumps() raises.
 * GORGON_ERROR_BUSY and interrupts as for calls. Since 0.1.
 *
 * @param[out] ret  To be released with gorgon_replica_release().
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_replica_create(struct gorgon_pyobject *object, struct gorgon_replica **ret);

/**
 * A reference to an interpreter's copy, a call into that interpreter. The first one unpickles it;
 * what that raises is the error, and the next one tries again. Threads that come first at once get
 * the same copy. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_replica_get(struct gorgon_replica *replica, struct gorgon_interp *interp,
		   struct gorgon_pyobject **ret);

/** Bytes of the pickle. Since 0.1. */
GORGON_API size_t gorgon_replica_size(const struct gorgon_replica *replica);

/** Hold a replica once more; returns @p replica. Since 0.1. */
GORGON_API struct gorgon_replica *gorgon_replica_retain(struct gorgon_replica *replica);

/** Release a replica, on any thread, as gorgon_pyobject_release(). When nobody holds it, its copies
 * are released; references that gorgon_replica_get() has returned keep theirs. NULL is ignored.
 * Since 0.1. */
GORGON_API void gorgon_replica_release(struct gorgon_replica *replica);

#ifdef __cplusplus
}
#endif

#endif
