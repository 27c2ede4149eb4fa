/* SPDX-License-Identifier: MIT */
/*
 * Whole pages of a target: a stack lies in few of them, so that reading it takes few calls of the
 * kernel, and what lies in one page is of one moment.
 */
#ifndef GORGON_SYMDUMP_PAGES_H
#define GORGON_SYMDUMP_PAGES_H

#include "symdump.h"

#define PAGE_BYTES 4096u

struct pages {
	struct target target; /* to be read like any other, with target_read() */
	const struct target *real;
	struct map map; /* address: index in the list, or PAGE_NONE */
	uint8_t (*list)[PAGE_BYTES];
	size_t count, room;
};

void pages_init(struct pages *pages, const struct target *real);
void pages_deinit(struct pages *pages);
/* Forget them: what is read from now on is read anew. */
void pages_forget(struct pages *pages);

#endif
