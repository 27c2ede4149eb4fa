/* SPDX-License-Identifier: MIT */
/*
 * Walking DT_RELR (gABI, "Relative Relocation Table"). An even entry is the address of a word to
 * relocate. An odd entry is a bitmap for the 63 words behind those that the entry before it was
 * about, also when no bit is set.
 * image_dynamic.c checks with this walk and reloc.c writes with it: an address is written to
 * only if that very address was checked.
 */
#ifndef GORGON_IMAGE_RELR_H
#define GORGON_IMAGE_RELR_H

#include <stdbool.h>
#include <stdint.h>

#define GORGON_RELR_BITMAP_WORDS 63

struct gorgon_relr_walk {
	uint64_t next;	/* vaddr of the first word that a bitmap would be about */
	bool placed;	/* an address has been there */
};

/* Words to relocate: bit n of @words is the one at @vaddr + 8 * n. */
struct gorgon_relr_step {
	uint64_t vaddr, words;
};

/* What the next entry of the list says. False: a bitmap without an address before it. */
static inline bool gorgon_relr_step(struct gorgon_relr_walk *walk, uint64_t entry,
				    struct gorgon_relr_step *step)
{
	if (entry & 1) {
		*step = (struct gorgon_relr_step){walk->next, entry >> 1};
		walk->next += GORGON_RELR_BITMAP_WORDS * sizeof(uint64_t);
		return walk->placed;
	}
	*step = (struct gorgon_relr_step){entry, 1};
	*walk = (struct gorgon_relr_walk){entry + sizeof(uint64_t), true};
	return true;
}

#endif
