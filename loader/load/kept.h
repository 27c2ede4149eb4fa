/* SPDX-License-Identifier: MIT */
/* Pages of the data of a copy that was unloaded, for the next one. See kept.c. */
#ifndef GORGON_LOAD_KEPT_H
#define GORGON_LOAD_KEPT_H

#include "ns/object.h"

#include <stdbool.h>

/* Before an object is unmapped: keep pages of its data, if none are kept. The lock is held. */
void gorgon_kept_give(struct gorgon_object *object);
/* Put what is kept of a segment where an object has it. The bytes are the other copy's. False:
 * nothing is kept. The lock is held. */
bool gorgon_kept_take(struct gorgon_object *object, struct gorgon_segment *segment);

#endif
