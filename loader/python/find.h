/* SPDX-License-Identifier: MIT */
/* Finding a libpython. See find.c. */
#ifndef GORGON_PYTHON_FIND_H
#define GORGON_PYTHON_FIND_H

#include "gorgon.h"

/* Whether the standard library is where the libpython is. */
bool gorgon_python_is_whole(const struct gorgon_python *python);

#endif
