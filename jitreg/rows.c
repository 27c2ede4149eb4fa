// SPDX-License-Identifier: MIT
/*
 * Symfiles of one library's copies, side by side, with the part that is equal in all copies at the
 * end.
 *
 *     block                                                      block + size
 *     | slot 0 | slot 1 | ... | slot n-1 |  common part          |
 *              ^ symfile of slot 1 ............................. ^
 *
 * A slot has the ELF header and the section headers, which differ (template.c puts them first). The
 * common part is unwind data and names. Each symfile reaches from its slot to the end of the row:
 * the offsets in its section headers lead over the slots in between.
 *
 * LLDB reads a symfile as a whole, so the slots nearest to the common part are used
 * first, and a row has only so many slots that each object's share of the common part is small.
 *
 * An alternative would be a shared mapping of one file behind each slot. But GDB then warns about
 * every core ("Can't open file /memfd:... (deleted)"; also for /dev/zero), and each slot takes
 * mappings, of which a process has few.
 */
#include "rows.h"

#include "arena.h"
#include "symfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes of the common part each object may cost when a row is full. */
#define COMMON_SIZE 2048

#define MIN_SLOTS 8
#define MAX_SLOTS 256

static size_t common_size(const struct jitreg_template *template)
{
	return template->size - template->private_size;
}

static size_t count_slots(const struct jitreg_template *template)
{
	size_t objects = template->member_count ? template->member_count : 1;
	size_t count = common_size(template) / objects / COMMON_SIZE;

	if (count < MIN_SLOTS)
		return MIN_SLOTS;
	return count < MAX_SLOTS ? count : MAX_SLOTS;
}

static struct jitreg_row *create_row(const struct jitreg_template *template)
{
	size_t slot_count = count_slots(template);
	struct jitreg_row *row = calloc(1, sizeof(*row) + slot_count * sizeof(*row->used));

	if (!row)
		return NULL;
	row->slot_count = slot_count;
	row->size = slot_count * template->private_size + common_size(template);
	row->block = jitreg_arena_alloc(row->size);
	if (!row->block) {
		free(row);
		return NULL;
	}
	memcpy(row->block + slot_count * template->private_size,
	       template->bytes + template->private_size, common_size(template));
	return row;
}

static void remove_row(struct jitreg_template *template, const struct jitreg_row *row)
{
	struct jitreg_row **link = &template->rows;

	while (*link != row)
		link = &(*link)->next;
	*link = row->next;
}

int jitreg_slot_acquire(struct jitreg_template *template, struct jitreg_slot *ret)
{
	struct jitreg_row *row = template->rows;
	size_t index;

	if (!row) {
		row = create_row(template);
		if (!row)
			return -ENOMEM;
		template->rows = row;
	}
	for (index = row->slot_count - 1; row->used[index]; index--)
		;
	row->used[index] = true;
	if (++row->used_count == row->slot_count)
		remove_row(template, row);
	*ret = (struct jitreg_slot){row, index};
	return 0;
}

void jitreg_slot_release(struct jitreg_template *template, struct jitreg_slot slot)
{
	struct jitreg_row *row = slot.row;

	if (row->used_count == row->slot_count) {
		row->next = template->rows;
		template->rows = row;
	}
	row->used[slot.index] = false;
	if (--row->used_count)
		return;
	remove_row(template, row);
	jitreg_arena_free(row->block, row->size);
	free(row);
}

uint8_t *jitreg_slot_bytes(const struct jitreg_template *template, struct jitreg_slot slot)
{
	return slot.row->block + slot.index * template->private_size;
}

size_t jitreg_slot_distance(const struct jitreg_template *template, struct jitreg_slot slot)
{
	return (slot.row->slot_count - 1 - slot.index) * template->private_size;
}

// Neighbours on the same pages change with it: the lock keeps their writers away.
int jitreg_slot_unseal(const struct jitreg_template *template, struct jitreg_slot slot)
{
	if (!slot.row->is_sealed)
		return 0;
	return jitreg_arena_protect(jitreg_slot_bytes(template, slot), template->private_size,
				    PROT_READ | PROT_WRITE);
}

int jitreg_slot_seal(const struct jitreg_template *template, struct jitreg_slot slot)
{
	struct jitreg_row *row = slot.row;
	int r;

	if (row->is_sealed)
		return jitreg_arena_protect(jitreg_slot_bytes(template, slot),
					    template->private_size, PROT_READ);
	r = jitreg_arena_protect(row->block, row->size, PROT_READ);
	row->is_sealed = !r;
	return r;
}
