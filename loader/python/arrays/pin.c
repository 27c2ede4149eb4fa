// SPDX-License-Identifier: MIT Arrays over memory of the process's own CPython (host_python.c).
// That CPython lives as long as the process, so memory of its objects is shared without a copy: an
// array holds the object. The array may be released on any thread, with another interpreter's GIL
// or none. So the object waits in a list until the main thread of this CPython, or a thread that
// comes back from a call, releases it.

#define _GNU_SOURCE
#include "pin.h"
#include "array.h"
#include "python/calls/raise.h"

#include <stdlib.h>

struct pin {
	struct pin *next;
	struct gorgon_interp *own;
	PyObject *object; // NULL: the view holds it
	Py_buffer view;
};

static struct pin *unpinned; // atomic
static bool call_pending;    // the main thread has been asked to release them; atomic

// With the GIL.
static void give_up_pin(struct pin *pin)
{
	if (pin->object)
		pin->own->api->Py_DecRef(pin->object);
	else
		pin->own->api->PyBuffer_Release(&pin->view);
	free(pin);
}

static int drop_all_pins(void *ctx)
{
	struct pin *pin, *next;

	(void)ctx;
	__atomic_store_n(&call_pending, false, __ATOMIC_RELEASE);
	for (pin = __atomic_exchange_n(&unpinned, NULL, __ATOMIC_ACQUIRE); pin; pin = next) {
		next = pin->next;
		give_up_pin(pin);
	}
	return 0;
}

// If the main thread cannot be asked, because too much is asked of it already, the next unpin()
// asks again.
static void unpin(void *ctx, void *data)
{
	struct pin *pin = ctx;
	const struct gorgon_api *api = pin->own->api; // the pin may be gone at once

	(void)data;
	pin->next = __atomic_load_n(&unpinned, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&unpinned, &pin->next, pin, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	if (!__atomic_exchange_n(&call_pending, true, __ATOMIC_ACQ_REL) &&
	    api->Py_AddPendingCall(drop_all_pins, NULL))
		__atomic_store_n(&call_pending, false, __ATOMIC_RELEASE);
}

// The address of the item with the lowest address.
static void *lowest_pinned(const Py_buffer *view)
{
	char *ret = view->buf;

	for (int i = 0; i < view->ndim && view->len; i++)
		if (view->strides[i] < 0)
			ret += (view->shape[i] - 1) * view->strides[i];
	return ret;
}

static struct gorgon_array *pinned(struct gorgon_interp *own, struct pin *pin,
				   struct gorgon_array_opts *opts)
{
	struct gorgon_array *ret;
	struct gorgon_error *err;

	pin->own = own;
	opts->destroy = unpin;
	opts->ctx = pin;
	err = gorgon_array_create(opts, &ret);
	if (!err)
		return ret;
	give_up_pin(pin);
	return (void *)gorgon_raise(own, err);
}

struct gorgon_array *gorgon_pin_buffer(struct gorgon_interp *own, PyObject *object,
				    const struct gorgon_array_layout *layout, bool writable)
{
	struct pin *pin = calloc(1, sizeof(*pin));
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = *layout,
		.writable = writable,
	};

	if (!pin || API(own, PyObject_GetBuffer)(object, &pin->view,
						 writable ? PyBUF_FULL : PyBUF_FULL_RO)) {
		free(pin);
		return pin ? NULL : (void *)API(own, PyErr_NoMemory)();
	}
	opts.layout.shape = pin->view.shape;
	opts.layout.strides = pin->view.strides;
	opts.data = lowest_pinned(&pin->view);
	return pinned(own, pin, &opts);
}

struct gorgon_array *gorgon_pin_object(struct gorgon_interp *own, PyObject *object,
				       void *lowest_item, const struct gorgon_array_layout *layout,
				       bool writable)
{
	struct pin *pin = calloc(1, sizeof(*pin));
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = *layout,
		.writable = writable,
		.data = lowest_item,
	};

	if (!pin)
		return (void *)API(own, PyErr_NoMemory)();
	own->api->Py_IncRef(object);
	pin->object = object;
	return pinned(own, pin, &opts);
}

void gorgon_pins_drop(void)
{
	drop_all_pins(NULL);
}
