/* SPDX-License-Identifier: MIT */
/* Code and tables that private code does not write to. See patch.c. */
#ifndef GORGON_PROCESS_PATCH_H
#define GORGON_PROCESS_PATCH_H

#include "process/part.h"

extern const struct gorgon_part gorgon_patch_part;

#endif
