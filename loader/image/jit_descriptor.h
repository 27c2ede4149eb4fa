/* SPDX-License-Identifier: MIT */
/* Files with a JIT descriptor of their own. See jit_descriptor.c. */
#ifndef GORGON_IMAGE_JIT_DESCRIPTOR_H
#define GORGON_IMAGE_JIT_DESCRIPTOR_H

#include <stdint.h>

#define GORGON_JIT_DESCRIPTOR_SIZE 24

struct gorgon_image;

/* Link-time address of the __jit_debug_descriptor that a file defines; 0: it defines none.
 * The loader's lock is held. */
uint64_t gorgon_jit_descriptor(struct gorgon_image *image);

#endif
