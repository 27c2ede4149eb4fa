/* SPDX-License-Identifier: MIT */
/* The limit of an interpreter's processor time. See cpu_limit.c. */
#ifndef GORGON_PYTHON_CPU_LIMIT_H
#define GORGON_PYTHON_CPU_LIMIT_H

#include "interp.h"

/* An error if the limits in the interpreter's options make no sense. */
struct gorgon_error *gorgon_cpu_limit_check(const struct gorgon_interp *interp);
/* Begin to watch an interpreter with a limit; GORGON_ERROR_OS: there is no thread for that. */
struct gorgon_error *gorgon_cpu_limit_begin(struct gorgon_interp *interp);
/* If it is being stopped at its hard limit, wait until it is. */
void gorgon_cpu_limit_settle(struct gorgon_interp *interp);
/* Whether its limit is used up, so that it has been interrupted, and may have been stopped. */
bool gorgon_cpu_limit_is_reached(const struct gorgon_interp *interp);
/* End watching an interpreter, which has ended, or was never run. */
void gorgon_cpu_limit_end(struct gorgon_interp *interp);

#endif
