/* SPDX-License-Identifier: MIT */
/* Arrays over memory of the process's own CPython. See pin.c. */
#ifndef GORGON_PYTHON_PIN_H
#define GORGON_PYTHON_PIN_H

#include "python/api.h"

/* An array over the memory of an object of this CPython, which stays alive and is not resized
 * as long as the array is held. NULL: a Python exception is set. */
struct gorgon_array *gorgon_pin_buffer(struct gorgon_interp *own, PyObject *object,
				    const struct gorgon_array_layout *layout, bool writable);
/* An array over memory at @lowest_item that an object keeps alive, in the same way. */
struct gorgon_array *gorgon_pin_object(struct gorgon_interp *own, PyObject *object,
				       void *lowest_item, const struct gorgon_array_layout *layout,
				       bool writable);

/* Release objects whose arrays have gone. With the GIL of this CPython. */
void gorgon_pins_drop(void);

#endif
