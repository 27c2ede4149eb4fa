/* SPDX-License-Identifier: MIT */
/* Unwind data that private code has registered. See frames.c. */
#ifndef GORGON_PROCESS_FRAMES_H
#define GORGON_PROCESS_FRAMES_H

struct gorgon_ns;

/* Take back what @ns has registered and not taken back. The lock is held. */
void gorgon_frames_drop(struct gorgon_ns *ns);

/* --- replacements (see replacements.c) ------------------------------------------ */

void gorgon_frames_register(void *begin, struct gorgon_ns *ns);
void gorgon_frames_deregister(void *begin, struct gorgon_ns *ns);

#endif
