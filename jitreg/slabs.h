/* SPDX-License-Identifier: MIT */
/* Symfiles of one library's copies, which share their common part. See slabs.c. */
#ifndef JITREG_SLABS_H
#define JITREG_SLABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitreg_slab {
	struct jitreg_slab *next; // in jitreg_model.slabs while it has an empty slot
	uint8_t *block;
	size_t size;
	size_t slot_count, used_count;
	bool used[];
};

struct jitreg_model;

/** Where a symfile is: its private part is a slot, and the file ends with the slab. */
struct jitreg_slot {
	struct jitreg_slab *slab;
	size_t index;
};

/** Find an empty slot. 0 or -ENOMEM. The caller holds jitreg_lock(), here and below. */
int jitreg_slot_acquire(struct jitreg_model *model, struct jitreg_slot *ret);

/** Give a slot back; the last slot in use frees the slab. */
void jitreg_slot_release(struct jitreg_model *model, struct jitreg_slot slot);

/** The symfile's first byte. */
uint8_t *jitreg_slot_bytes(const struct jitreg_model *model, struct jitreg_slot slot);

/** Bytes between the private part and the common part. */
size_t jitreg_slot_distance(const struct jitreg_model *model, struct jitreg_slot slot);

#endif
