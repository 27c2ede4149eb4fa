/* SPDX-License-Identifier: MIT */
/* Lists that grow, of the libraries and their parts. Internal. */
#ifndef JITREG_GROW_H
#define JITREG_GROW_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define JITREG_GROW_FIRST 16

/**
 * Make room for one more item in a list of @p count items; @p list is the address of the pointer to
 * the first item. A list has room for the next power of two of its items, JITREG_GROW_FIRST at
 * least, so nobody has to remember its capacity. False: no memory, and nothing has changed.
 */
static inline bool jitreg_grow(void *list, size_t count, size_t item_size)
{
	size_t capacity = count ? 2 * count : JITREG_GROW_FIRST;
	void *items;

	if (count && (count < JITREG_GROW_FIRST || count & (count - 1)))
		return true;
	memcpy(&items, list, sizeof(items));
	items = reallocarray(items, capacity, item_size);
	if (items)
		memcpy(list, &items, sizeof(items));
	return items;
}

/** Make room and count one more item. Returns the new item, which is not initialised; NULL: no
 * memory, and nothing has changed. */
static inline void *jitreg_add(void *list, size_t *count, size_t item_size)
{
	char *items;

	if (!jitreg_grow(list, *count, item_size))
		return NULL;
	memcpy(&items, list, sizeof(items));
	return items + (*count)++ * item_size;
}

#endif
