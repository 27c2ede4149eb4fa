// SPDX-License-Identifier: MIT
// hcreate(), hsearch(), hdestroy(): the C library has one table for the process, and its
// reentrant functions work on any. Each namespace has its own. As there, nothing orders the
// threads of a program that use theirs at once.

#define _GNU_SOURCE
#include "part.h"

#include <search.h>

static int own_create(size_t size, struct hsearch_data *table)
{
	return hcreate_r(size, table);
}

static ENTRY *own_search(ENTRY item, ACTION action, struct hsearch_data *table)
{
	ENTRY *ret;

	hsearch_r(item, action, &ret, table);
	return ret;
}

static void own_destroy(struct hsearch_data *table)
{
	hdestroy_r(table);
}

static void hash_end(void *state)
{
	hdestroy_r(state);
}

#define WHY "the C library has one hash table for the process; each program has its own"

static const struct gorgon_bound bound[] = {
	{"hcreate", own_create, 1, 0, GORGON_OWN, WHY},
	{"hsearch", own_search, 3, 0, GORGON_OWN, WHY}, // an ENTRY is passed in two registers
	{"hdestroy", own_destroy, 0, 0, GORGON_OWN, WHY},
};

const struct gorgon_part gorgon_hash_table_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct hsearch_data),
	.end = hash_end,
};
