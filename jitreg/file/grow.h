/* SPDX-License-Identifier: MIT */
/* Arrays that grow. Internal to jitreg. */
#ifndef JITREG_GROW_H
#define JITREG_GROW_H

#include <stdlib.h>

/** Make room for one more item than @p count. Returns where the items are then; NULL: no memory,
 * nothing has changed. */
static inline void *jitreg_grow(void *items, size_t count, size_t *capacity, size_t item_size)
{
	void *grown;

	if (count < *capacity)
		return items;
	grown = reallocarray(items, *capacity * 2 + 64, item_size);
	if (grown)
		*capacity = *capacity * 2 + 64;
	return grown;
}

#endif
