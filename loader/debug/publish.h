/* SPDX-License-Identifier: MIT */
/* An object becomes known to others, and is forgotten again. See publish.c. */
#ifndef GORGON_DEBUG_PUBLISH_H
#define GORGON_DEBUG_PUBLISH_H

#include "ns/object.h"

/* Tell the unwinder, the debug root and debuggers of an object. After a failure the object is to be
 * destroyed. */
struct gorgon_error *gorgon_object_publish(struct gorgon_object *object);

/* The same for an object that the system's linker has loaded, and that debuggers know from there.
 * The caller has filled in its bias, its range and debug.link_map. */
void gorgon_object_publish_foreign(struct gorgon_object *object);

/* Take back what either of these has done. */
void gorgon_object_unpublish(struct gorgon_object *object);

#endif
