// SPDX-License-Identifier: MIT
/*
 * Symfiles of one library's copies, side by side, with the part that is equal in all copies at the
 * end.
 *
 *     block                                                      block + size
 *     | slot 0 | slot 1 | ... | slot n-1 |  common part          |
 *              ^ symfile of slot 1 ............................. ^
 *
 * A slot has the ELF header and the section headers, which differ (model.c puts them first). The
 * common part is unwind data and names. Each symfile reaches from its slot to the end of the slab:
 * the offsets in its section headers lead over the slots in between.
 *
 * LLDB reads a symfile as a whole, so the slots nearest to the common part are used
 * first, and a slab has only so many slots that each object's share of the common part is small.
 *
 * An alternative would be a shared mapping of one file behind each slot. But GDB then warns about
 * every core ("Can't open file /memfd:... (deleted)"; also for /dev/zero), and each slot takes
 * mappings, of which a process has few.
 */
#include "slabs.h"

#include "arena.h"
#include "symfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes of the common part each object may cost when a slab is full. */
#define COMMON_SIZE 2048

#define MIN_SLOTS 8
#define MAX_SLOTS 256

static size_t common_size(const struct jitreg_model *model)
{
	return model->size - model->private_size;
}

static size_t count_slots(const struct jitreg_model *model)
{
	size_t objects = model->member_count ? model->member_count : 1;
	size_t count = common_size(model) / objects / COMMON_SIZE;

	if (count < MIN_SLOTS)
		return MIN_SLOTS;
	return count < MAX_SLOTS ? count : MAX_SLOTS;
}

static struct jitreg_slab *create_slab(const struct jitreg_model *model)
{
	size_t slot_count = count_slots(model);
	struct jitreg_slab *slab = calloc(1, sizeof(*slab) + slot_count * sizeof(*slab->used));

	if (!slab)
		return NULL;
	slab->slot_count = slot_count;
	slab->size = slot_count * model->private_size + common_size(model);
	slab->block = jitreg_arena_alloc(slab->size);
	if (!slab->block) {
		free(slab);
		return NULL;
	}
	memcpy(slab->block + slot_count * model->private_size,
	       model->bytes + model->private_size, common_size(model));
	return slab;
}

static void remove_slab(struct jitreg_model *model, const struct jitreg_slab *slab)
{
	struct jitreg_slab **link = &model->slabs;

	while (*link != slab)
		link = &(*link)->next;
	*link = slab->next;
}

int jitreg_slot_acquire(struct jitreg_model *model, struct jitreg_slot *ret)
{
	struct jitreg_slab *slab = model->slabs;
	size_t index;

	if (!slab) {
		slab = create_slab(model);
		if (!slab)
			return -ENOMEM;
		model->slabs = slab;
	}
	for (index = slab->slot_count - 1; slab->used[index]; index--)
		;
	slab->used[index] = true;
	if (++slab->used_count == slab->slot_count)
		remove_slab(model, slab);
	*ret = (struct jitreg_slot){slab, index};
	return 0;
}

void jitreg_slot_release(struct jitreg_model *model, struct jitreg_slot slot)
{
	struct jitreg_slab *slab = slot.slab;

	if (slab->used_count == slab->slot_count) {
		slab->next = model->slabs;
		model->slabs = slab;
	}
	slab->used[slot.index] = false;
	if (--slab->used_count)
		return;
	remove_slab(model, slab);
	jitreg_arena_free(slab->block, slab->size);
	free(slab);
}

uint8_t *jitreg_slot_bytes(const struct jitreg_model *model, struct jitreg_slot slot)
{
	return slot.slab->block + slot.index * model->private_size;
}

size_t jitreg_slot_distance(const struct jitreg_model *model, struct jitreg_slot slot)
{
	return (slot.slab->slot_count - 1 - slot.index) * model->private_size;
}
