/* SPDX-License-Identifier: MIT */
/* Unwind data of several objects in one section. See frames.c. Internal to jitreg. */
#ifndef JITREG_FRAMES_H
#define JITREG_FRAMES_H

#include "writer.h"

/** What kind of section is made. */
enum jitreg_frames_form {
	JITREG_FRAMES_DEBUG, /**< `.debug_frame`, with absolute addresses */
	/** `.eh_frame`, with addresses relative to their place: equal in every copy */
	JITREG_FRAMES_EH,
};

/** The `.eh_frame` of an object, and where the object will be. */
struct jitreg_frames {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;      /**< Its address in the file. */
	uint64_t delta;      /**< What is added to addresses. */
	/** Entries are left out whose functions, with @c delta added, are outside of this range. */
	uint64_t start, end;
};

/**
 * Append what an `.eh_frame` says about functions, but not what it says about exceptions.
 *
 * @param to     The section that is made; it will be at @p to_vaddr.
 * @param form   What kind of section @p to is.
 *
 * @retval -ENOEXEC  @p from contradicts itself, or has rules that cannot be moved; a part of it is
 *                   in @p to
 * @retval -ENOMEM
 */
int jitreg_frames_append(struct jitreg_bytes *to, uint64_t to_vaddr,
			 enum jitreg_frames_form form, const struct jitreg_frames *from);

/** What the rules of a function are made of. */
struct jitreg_rules {
	uint64_t advance; /**< How far they advance, in units of the CIE. */
	size_t open;      /**< How many states are remembered and not restored. */
	size_t size;      /**< Bytes, without padding. */
	bool odd;         /**< They restore a state that they have not remembered. */
};

/** Read the rules of a function. False: there are rules among them that cannot be moved. */
bool jitreg_frames_read_rules(const uint8_t *rules, size_t size, struct jitreg_rules *ret);

/** Addresses, sorted. */
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

/** Called for each function, or row of functions, until it returns something other than 0. */
typedef int (*jitreg_function_fn)(void *ctx, uint64_t start, uint64_t size);

/** Call @p fn for each entry of what jitreg_frames_merge() has made, in the order of addresses. */
int jitreg_frames_for_each(const struct jitreg_bytes *frames, uint64_t vaddr, jitreg_function_fn fn,
			   void *ctx);

/**
 * Turn what jitreg_frames_merge() has made into the contents of a `.debug_frame`; addresses stay
 * relative to their place.
 */
void jitreg_frames_make_debug(struct jitreg_bytes *frames);

/** Return what jitreg_frames_append() would return for this `.eh_frame`. */
int jitreg_frames_check(const uint8_t *from, size_t size, uint64_t vaddr);

#endif
