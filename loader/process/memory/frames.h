/* SPDX-License-Identifier: MIT */
/* Unwind data that private code has registered. See frames.c. */
#ifndef GORGON_PROCESS_FRAMES_H
#define GORGON_PROCESS_FRAMES_H

#include "process/part.h"

struct gorgon_frames;

extern const struct gorgon_part gorgon_frames_part;

/* Take back what was registered and not taken back. The lock is held. */
void gorgon_frames_drop(struct gorgon_frames *frames);

#endif
