/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_VIEWS_H
#define GORGON_VIEWS_H

#include "api.h"
#include "arrays.h"
#include "errors.h"
#include "pyobjects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- views: the memory of an object -------------------------------------- */

/** The memory of an object that has the buffer protocol (PEP 3118): an ndarray, bytes, a
 * bytearray, an array.array. */
struct gorgon_view;

/**
 * Look at an object's memory, without a copy. The memory stays where it is as long as the view is
 * held: an object that could move it (a bytearray) refuses to, with BufferError. Nothing guards
 * the items from the interpreter's threads. The view must not be used after the interpreter's end
 * has begun (gorgon_interp_stop(), gorgon_interp_destroy()), only released.
 *
 * @param      writable  The host wants to write. Without it the memory must not be written to,
 *                       whatever gorgon_view_get_info() says.
 * @param[out] ret       To be given back with gorgon_view_release().
 * @return and GORGON_ERROR_EXCEPTION (TypeError: the object has no buffer; BufferError: it is
 *         read-only), GORGON_ERROR_UNSUPPORTED (memory in several pieces). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pyobject_view(struct gorgon_pyobject *object, bool writable, struct gorgon_view **ret);

/** Where a view's items are, what they mean, and whether the object lets them be written to. What
 * @p ret refers to lives as long as the view. Since 0.1. */
GORGON_API void gorgon_view_get_info(const struct gorgon_view *view, struct gorgon_array_info *ret);

/** Give a view back, on any thread, as gorgon_pyobject_release(). NULL is ignored. Since 0.1. */
GORGON_API void gorgon_view_release(struct gorgon_view *view);

#ifdef __cplusplus
}
#endif

#endif
