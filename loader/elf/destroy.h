/* SPDX-License-Identifier: MIT */
/* The end of an object. See destroy.c. */
#ifndef GORGON_ELF_DESTROY_H
#define GORGON_ELF_DESTROY_H

#include "object.h"

/* Undo everything up to the object's state, except destructors. Accepts NULL. */
void gorgon_object_destroy(struct gorgon_object *object);

#endif
