// SPDX-License-Identifier: MIT
// GNU_UNIQUE: one definition of a name in a namespace, the first that was loaded.
//
// Inline variables and templates' statics of C++ are such names, tens of thousands of them in
// a library of Boost.Python's: they are found by hash, in chains of indices.

#define _GNU_SOURCE
#include "unique.h"

#include <stdlib.h>
#include <string.h>

static void unique_chain(struct gorgon_uniques *uniques, uint32_t index)
{
	struct gorgon_unique *item = &uniques->items[index];
	uint32_t *bucket = &uniques->buckets[item->hash % uniques->capacity];

	item->next = *bucket;
	*bucket = index + 1;
}

static void chain_all(struct gorgon_uniques *uniques)
{
	memset(uniques->buckets, 0, uniques->capacity * sizeof(*uniques->buckets));
	for (uint32_t i = 0; i < uniques->count; i++)
		unique_chain(uniques, i);
}

static bool unique_grow(struct gorgon_uniques *uniques)
{
	uint32_t capacity = uniques->capacity ? 2 * uniques->capacity : 64;
	struct gorgon_unique *items = reallocarray(uniques->items, capacity, sizeof(*items));
	uint32_t *buckets;

	if (!items)
		return false;
	uniques->items = items;
	buckets = reallocarray(uniques->buckets, capacity, sizeof(*buckets));
	if (!buckets)
		return false;
	uniques->buckets = buckets;
	uniques->capacity = capacity;
	chain_all(uniques);
	return true;
}

const struct gorgon_unique *gorgon_unique_bind(struct gorgon_uniques *uniques, const char *name,
					       uint32_t hash, struct gorgon_object *object,
					       const Elf64_Sym *sym)
{
	uint32_t next = uniques->capacity ? uniques->buckets[hash % uniques->capacity] : 0;

	for (; next; next = uniques->items[next - 1].next) {
		const struct gorgon_unique *item = &uniques->items[next - 1];

		if (item->hash == hash && !strcmp(item->name, name))
			return item;
	}
	if (uniques->count == uniques->capacity && !unique_grow(uniques))
		return NULL;
	uniques->items[uniques->count] =
		(struct gorgon_unique){.name = name, .object = object, .sym = sym, .hash = hash};
	unique_chain(uniques, uniques->count);
	return &uniques->items[uniques->count++];
}

void gorgon_unique_forget(struct gorgon_uniques *uniques, const struct gorgon_object *object)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < uniques->count; i++)
		if (uniques->items[i].object != object)
			uniques->items[kept++] = uniques->items[i];
	if (kept == uniques->count)
		return;
	uniques->count = kept;
	chain_all(uniques);
}

void gorgon_unique_deinit(struct gorgon_uniques *uniques)
{
	free(uniques->items);
	free(uniques->buckets);
}
