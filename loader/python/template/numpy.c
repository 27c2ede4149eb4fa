// SPDX-License-Identifier: MIT
// What numpy knows by addresses: each of its ufuncs has a table of the types that it was called
// with, at places that a hash of their addresses gives, and of the loops for them. The loops are
// held elsewhere, and what is not in the table is found out again; so the table is emptied.
//
// The member of a ufunc that leads to the table is found by what it leads to: it says for how many
// types a key is, as many as the ufunc has operands, and how many of its places are taken.
//
// Since numpy 2.4 such tables know what casts there are, too, which nobody could find out again.
// They are blocks that begin with their size, and are told from other blocks by the place of each
// entry, which must be where the hash of its key says. In copies the entries are put in order anew.

#define _GNU_SOURCE
#include "numpy.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "python/api.h"

#include <stdlib.h>
#include <string.h>

#define OPERANDS_AT  24 // of a ufunc: nargs, behind nin and nout
#define OPERANDS_MAX 64
#define PLACES_MAX   65536 // of a table

// PyArrayIdentityHash of numpy 1.22 and later.
struct identity_table {
	int32_t key_length, padding;
	uint64_t *places; // a value and its key for each
	int64_t size, used;
};

static bool is_in_zone(const struct gorgon_interp *interp, const void *p)
{
	return (uintptr_t)p - interp->ns->zone < GORGON_ZONE_SIZE - sizeof(struct identity_table) &&
	       !((uintptr_t)p % 8);
}

static bool is_table(const struct gorgon_interp *interp, const struct identity_table *table,
		     int operands)
{
	int64_t used = 0;

	if (!is_in_zone(interp, table) || table->key_length != operands || table->size < 4 ||
	    table->size > PLACES_MAX || table->size & (table->size - 1) || table->used < 0 ||
	    table->used > table->size || !is_in_zone(interp, table->places))
		return false;
	for (int64_t i = 0; i < table->size; i++)
		used += table->places[i * (operands + 1)] != 0;
	return used == table->used;
}

void gorgon_numpy_forget(const struct gorgon_interp *interp, const struct gorgon_ufuncs *ufuncs,
			 const char *ufunc)
{
	struct identity_table *found = NULL;
	int operands;

	memcpy(&operands, ufunc + OPERANDS_AT, sizeof(operands));
	if (operands < 1 || operands > OPERANDS_MAX)
		return;
	for (size_t i = 0; i < ufuncs->size; i += sizeof(void *)) {
		struct identity_table *table;

		memcpy(&table, ufunc + i, sizeof(table));
		if (!is_table(interp, table, operands))
			continue;
		if (found) // two: what differs is found by the comparison
			return;
		found = table;
	}
	if (!found)
		return;
	memset(found->places, 0, (size_t)found->size * ((size_t)operands + 1) * sizeof(uint64_t));
	found->used = 0;
}

struct gorgon_ufuncs gorgon_numpy_find(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *modules = api->PySys_GetObject("modules"),
		 *numpy = modules ? api->PyObject_CallMethod(modules, "get", "s", "numpy") : NULL,
		 *type = numpy ? api->PyObject_GetAttrString(numpy, "ufunc") : NULL,
		 *size = type ? api->PyObject_GetAttrString(type, "__basicsize__") : NULL;
	int overflow = 0;
	long long bytes = size ? api->PyLong_AsLongLongAndOverflow(size, &overflow) : -1;

	api->PyErr_Clear();
	api->Py_DecRef(size);
	api->Py_DecRef(type); // its module has it
	api->Py_DecRef(numpy);
	return (struct gorgon_ufuncs){overflow || bytes <= 0 ? NULL : type, (size_t)bytes};
}

// --- numpy 2.4 and later -----------------------------------------------------------------------

// What PyArrayIdentityHash has its entries in: a value and its key for each place.
struct identity_block {
	uint64_t previous; // tables that have been replaced, in builds without the GIL
	int64_t size, used;
	uint64_t places[];
};

static uint64_t hash_of(const uint64_t *key, unsigned length)
{
	uint64_t ret = UINT64_C(2870177450012600261);

	for (unsigned i = 0; i < length; i++) {
		ret += (key[i] >> 4 | key[i] << 60) * UINT64_C(14029467366897019727);
		ret = (ret << 31 | ret >> 33) * UINT64_C(11400714785074694791);
	}
	return ret;
}

// The place of a key, or the one where it would be put.
static uint64_t *find_place(struct identity_block *table, unsigned length, const uint64_t *key)
{
	uint64_t perturb = hash_of(key, length), mask = (uint64_t)table->size - 1,
		 i = perturb & mask;

	for (;;) {
		uint64_t *place = &table->places[i * (length + 1)];

		if (!place[0] || !memcmp(place + 1, key, length * sizeof(*key)))
			return place;
		perturb >>= 5;
		i = (i * 5 + perturb + 1) & mask;
	}
}

unsigned gorgon_numpy_keys_of(const void *block, uint64_t block_size)
{
	struct identity_block *table = (struct identity_block *)block;
	uint64_t places = (block_size - sizeof(*table)) / sizeof(*table->places), length;
	int64_t used = 0;

	if (table->previous || table->size < 4 || table->size & (table->size - 1) ||
	    table->used < 1 || table->used >= table->size || (uint64_t)table->size > places / 2)
		return 0;
	length = places / (uint64_t)table->size - 1; // a block has at most a word behind it
	for (int64_t i = 0; i < table->size; i++) {
		uint64_t *place = &table->places[(uint64_t)i * (length + 1)];

		used += place[0] != 0;
		for (uint64_t k = 0; !place[0] && k < length; k++)
			if (place[1 + k])
				return 0;
	}
	for (int64_t i = 0; used == table->used && i < table->size; i++) {
		uint64_t *place = &table->places[(uint64_t)i * (length + 1)];

		if (place[0] && find_place(table, (unsigned)length, place + 1) != place)
			return 0;
	}
	return used == table->used ? (unsigned)length : 0;
}

uint64_t gorgon_numpy_size_of(const void *block, unsigned length)
{
	const struct identity_block *table = block;

	return sizeof(*table) + (uint64_t)table->size * (length + 1) * sizeof(*table->places);
}

bool gorgon_numpy_rehash(void *block, unsigned length)
{
	struct identity_block *table = block;
	size_t size = gorgon_numpy_size_of(block, length) - sizeof(*table),
	       entry = (length + 1) * sizeof(*table->places);
	uint64_t *old = malloc(size);

	if (!old)
		return false;
	memcpy(old, table->places, size);
	memset(table->places, 0, size);
	for (uint64_t *place = old; place < old + size / sizeof(*old); place += length + 1)
		if (place[0])
			memcpy(find_place(table, length, place + 1), place, entry);
	free(old);
	return true;
}
