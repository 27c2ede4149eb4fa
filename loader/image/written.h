/* SPDX-License-Identifier: MIT */
/* Which pages of a file's data each copy writes to as soon as it is loaded. See written.c. */
#ifndef GORGON_IMAGE_WRITTEN_H
#define GORGON_IMAGE_WRITTEN_H

#include "image.h"

/* Fill in @written and the segments' @shared of an image whose relocations are checked. False: no
 * memory. */
bool gorgon_image_find_written(struct gorgon_image *image);

#endif
