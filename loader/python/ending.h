/* SPDX-License-Identifier: MIT */
/* How Python ends: as python3 does, or quickly. See ending.c. */
#ifndef GORGON_PYTHON_ENDING_H
#define GORGON_PYTHON_ENDING_H

#include "python/calls/interp.h"

/*
 * Arrange how an interpreter that has just started is to end: enum gorgon_end in its options. With
 * the GIL, before anything of the program runs. GORGON_ERROR_PYTHON: Python has refused.
 */
struct gorgon_error *gorgon_ending_prepare(struct gorgon_interp *interp);

#endif
