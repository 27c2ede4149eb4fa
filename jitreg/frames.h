/* SPDX-License-Identifier: MIT */
/* Unwind data of several objects in one section. See frames.c. Internal to jitreg. */
#ifndef JITREG_FRAMES_H
#define JITREG_FRAMES_H

#include "writer.h"

/** What the section is to be. */
enum jitreg_frames_form {
	JITREG_FRAMES_DEBUG, /**< `.debug_frame`, with absolute addresses */
	JITREG_FRAMES_EH,    /**< `.eh_frame`; addresses count from their place: the same in every copy */
};

/** The `.eh_frame` of an object, and where that goes. */
struct jitreg_frames {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;      /**< Where it belongs. */
	uint64_t delta;      /**< What its addresses are to be increased by. */
	uint64_t start, end; /**< Functions that are then outside are none of the object's. */
};

/**
 * Append what an `.eh_frame` says about functions, but not what it says about exceptions.
 *
 * @param to     The section that is being made; it is to be placed at @p to_vaddr.
 * @param form   Of that section.
 *
 * @retval -ENOEXEC  contradicts itself, or uses what cannot be moved; @p to has a part of it
 * @retval -ENOMEM
 */
int jitreg_frames_append(struct jitreg_bytes *to, uint64_t to_vaddr,
			 enum jitreg_frames_form form, const struct jitreg_frames *from);

/** What is among the rules of a function. */
struct jitreg_rules {
	uint64_t advance; /**< How far they get, in units of the CIE. */
	size_t open;      /**< States that are remembered at the end. */
	size_t size;      /**< In bytes, without padding. */
	bool odd;         /**< A state is restored that was not remembered. */
};

/** False when there is something among them that cannot be moved. */
bool jitreg_frames_read_rules(const uint8_t *rules, size_t size, struct jitreg_rules *ret);

/** Sorted. */
struct jitreg_addresses {
	uint64_t *items;
	size_t count;
};

/**
 * Make one entry for a row of neighbouring functions without a name; see merge.c.
 *
 * @param frames  What jitreg_frames_append() has made for @p vaddr with
 *                JITREG_FRAMES_EH. Unchanged on failure.
 * @param names   The addresses of symbols.
 * @retval 0 or -ENOMEM
 */
int jitreg_frames_merge(struct jitreg_bytes *frames, uint64_t vaddr,
			const struct jitreg_addresses *names);

/** What is done with each function, or row of them. Not 0: it ends there. */
typedef int (*jitreg_function_fn)(void *ctx, uint64_t start, uint64_t size);

/** For all that jitreg_frames_merge() has left, in the order of addresses. */
int jitreg_frames_for_each(const struct jitreg_bytes *frames, uint64_t vaddr, jitreg_function_fn fn, void *ctx);

/** Make what jitreg_frames_merge() has left the content of a `.debug_frame`; addresses count from their place still. */
void jitreg_frames_make_debug(struct jitreg_bytes *frames);

/** Whether jitreg_frames_append() would work. */
int jitreg_frames_check(const uint8_t *from, size_t size, uint64_t vaddr);

#endif
