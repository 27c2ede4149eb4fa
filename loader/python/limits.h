/* SPDX-License-Identifier: MIT */
/* The limit of an interpreter's memory. See limits.c. */
#ifndef GORGON_PYTHON_LIMITS_H
#define GORGON_PYTHON_LIMITS_H

#include "interp.h"

/* An error if the isolation cannot hold the limits, or one of them makes no sense. */
struct gorgon_error *gorgon_limits_check(const struct gorgon_interp *interp, uint64_t soft, uint64_t hard);
/* From now on: Python is started, and its C API is known. @soft 0: no limit. @hard 0: a quarter more. */
void gorgon_limits_set(struct gorgon_interp *interp, uint64_t soft, uint64_t hard);
/* Python ends: nothing asks it for anything any more. */
void gorgon_limits_end(struct gorgon_interp *interp);

#endif
