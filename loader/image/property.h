/* SPDX-License-Identifier: MIT */
/* What a file asks of the processor. See property.c. */
#ifndef GORGON_IMAGE_PROPERTY_H
#define GORGON_IMAGE_PROPERTY_H

#include "image.h"

/* GORGON_ERROR_MACHINE if this processor lacks what the file needs. The segments are read; those of
 * code get what else the file's features ask for when they are mapped. */
struct gorgon_error *gorgon_property_check(struct gorgon_image *image);

#endif
