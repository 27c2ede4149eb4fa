/* SPDX-License-Identifier: MIT */
/* Unwind data of several objects in one section. See frames.c. Internal to jitreg. */
#ifndef JITREG_FRAMES_H
#define JITREG_FRAMES_H

#include "writer.h"

/** What the section is to be: a `.debug_frame` unless JITREG_FRAMES_EH says `.eh_frame`. */
enum {
	JITREG_FRAMES_EH = 1,
	JITREG_FRAMES_PCREL = 2, /**< Addresses count from their place: the same in every copy. */
};

/**
 * Append what an `.eh_frame` says about functions, but not what it says about exceptions.
 *
 * @param to     The section that is being made; it is to be placed at @p to_vaddr.
 * @param form   JITREG_FRAMES_..., of that section.
 * @param from   The `.eh_frame`, which belongs at @p vaddr.
 * @param delta  What its addresses are to be increased by.
 *
 * @retval -ERANGE   with JITREG_FRAMES_PCREL, more than 2 GiB from the section to a function
 * @retval -ENOEXEC  contradicts itself, or uses what cannot be moved; @p to has a part of it
 * @retval -ENOMEM
 */
int jitreg_frames_append(struct jitreg_bytes *to, uint64_t to_vaddr, unsigned form,
			 const uint8_t *from, size_t size, uint64_t vaddr, uint64_t delta);

/** Whether that would work. */
int jitreg_frames_check(const uint8_t *from, size_t size, uint64_t vaddr);

#endif
