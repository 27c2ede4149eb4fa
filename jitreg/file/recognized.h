/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Whether GDB will take a file for an object file at all. Internal to jitreg.
 */
#ifndef JITREG_RECOGNIZED_H
#define JITREG_RECOGNIZED_H

#include "object.h"

/** The headers of all sections, of compressed ones too, are such as GDB accepts. */
bool jitreg_object_is_recognized(const struct jitreg_object *object);

#endif
