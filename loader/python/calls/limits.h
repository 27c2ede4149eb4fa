/* SPDX-License-Identifier: MIT */
/* The limit of an interpreter's memory. See limits.c. */
#ifndef GORGON_PYTHON_LIMITS_H
#define GORGON_PYTHON_LIMITS_H

#include "interp.h"

/* An error if the isolation cannot enforce limits, or a limit makes no sense. */
struct gorgon_error *gorgon_limits_check(const struct gorgon_interp *interp, uint64_t soft,
					 uint64_t hard);
/* Limit memory from now on. Python is started, and its C API is known. @soft 0: no limit. @hard 0:
 * @soft and a quarter. */
void gorgon_limits_set(struct gorgon_interp *interp, uint64_t soft, uint64_t hard);
/* Limit memory no more: Python ends, and must not be asked to call us. */
void gorgon_limits_end(struct gorgon_interp *interp);

/* The calling thread is not shielded any more: what was put off is done. With the GIL. */
void gorgon_limits_catch_up(struct gorgon_interp *interp);

#endif
