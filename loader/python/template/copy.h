/* SPDX-License-Identifier: MIT */
/* An interpreter that is a copy of a template's. See template/copy.c. */
#ifndef GORGON_PYTHON_TEMPLATE_COPY_H
#define GORGON_PYTHON_TEMPLATE_COPY_H

#include "python/calls/interp.h"

/* Make an interpreter whose libpython is loaded what the template's was when it was kept, instead
 * of starting Python: a gorgon_call_fn. The calling thread is the main thread, with the GIL in the
 * end. */
struct gorgon_error *gorgon_template_copy(struct gorgon_interp *interp);
/* Release the GIL, when the rest of the start is done. */
void gorgon_template_copied(struct gorgon_interp *interp);

#endif
