// SPDX-License-Identifier: MIT
// What numpy knows by addresses: each of its ufuncs has a table of the types that it was called
// with, at places that a hash of their addresses gives, and of the loops for them. The loops are
// held elsewhere, and what is not in the table is found out again; so the table is emptied.
//
// The member of a ufunc that leads to the table is found by what it leads to: it says for how many
// types a key is, as many as the ufunc has operands, and how many of its places are taken.

#define _GNU_SOURCE
#include "template_numpy.h"
#include "api.h"
#include "image/zones.h"
#include "ns/ns.h"

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
