/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Whether GDB will take a file for an object file at all. Internal to jitreg.
 */
#ifndef JITREG_RECOGNIZED_H
#define JITREG_RECOGNIZED_H

#include "object.h"

/** Whether GDB accepts the headers of all sections, and of compressed data in them. */
bool jitreg_object_is_recognized(const struct jitreg_object *object);

#endif
