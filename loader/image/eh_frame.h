/* SPDX-License-Identifier: MIT */
/* Whether an unwinder may be given an .eh_frame. See eh_frame.c. */
#ifndef GORGON_IMAGE_EH_FRAME_H
#define GORGON_IMAGE_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Whether records fill [start, start + size) up to a terminator. */
bool gorgon_eh_frame_is_terminated(const uint8_t *start, uint64_t size);

/* Whether it is terminated, and __register_frame() and later searches will read nothing outside of
 * it. */
bool gorgon_eh_frame_is_sound(const uint8_t *start, uint64_t size);

#endif
