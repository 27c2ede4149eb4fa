/* SPDX-License-Identifier: MIT */
/* Pages of the data of a copy that was unloaded, for the next one. See kept.c. */
#ifndef GORGON_LOAD_KEPT_H
#define GORGON_LOAD_KEPT_H

#include "ns/object.h"

#include <stdbool.h>

/* Called before an object is unmapped, with the loader's lock. It keeps the pages of the object's
 * data for the next copy, unless pages of an earlier copy are kept already. */
void gorgon_kept_give(struct gorgon_object *object);
/* Called with the loader's lock. It moves the pages that are kept of a segment to where an object
 * has the segment; they still have the earlier copy's bytes. False: no pages are kept. */
bool gorgon_kept_take(struct gorgon_object *object, struct gorgon_segment *segment);

#endif
