/* SPDX-License-Identifier: MIT */
/* Objects that others know, and the way back. See publish.c. */
#ifndef GORGON_DEBUG_PUBLISH_H
#define GORGON_DEBUG_PUBLISH_H

#include "ns/object.h"

/* Tell unwinder, debug root and debuggers. After a failure it is to be destroyed. */
struct gorgon_error *gorgon_object_publish(struct gorgon_object *object);

/* The same for one that the system's linker has loaded and that debuggers know from there, with
 * bias, range and debug.link_map filled in. */
void gorgon_object_publish_foreign(struct gorgon_object *object);

/* The way back from either. */
void gorgon_object_unpublish(struct gorgon_object *object);

#endif
