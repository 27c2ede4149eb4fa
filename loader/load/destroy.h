/* SPDX-License-Identifier: MIT */
/* The end of an object. See destroy.c. */
#ifndef GORGON_LOAD_DESTROY_H
#define GORGON_LOAD_DESTROY_H

#include "ns/object.h"

/* Undo what has been done up to the object's state. Runs no destructors. Accepts NULL. */
void gorgon_object_destroy(struct gorgon_object *object);

#endif
