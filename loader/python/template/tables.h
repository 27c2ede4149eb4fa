/* SPDX-License-Identifier: MIT */
/* What of CPython's memory depends on addresses in another way than by holding them. See
 * template/tables.c. */
#ifndef GORGON_PYTHON_TEMPLATE_TABLES_H
#define GORGON_PYTHON_TEMPLATE_TABLES_H

#include "arenas.h"
#include "map.h"

/* Offsets in the zone. */
struct gorgon_tables {
	uint64_t *dicts, *sets; /* whose tables are ordered by addresses */
	size_t dict_count, set_count;
	uint64_t *links; /* of functools.lru_cache(), with the hashes of their keys */
	size_t link_count;
	uint64_t *identities; /* of numpy: for each an offset and the length of its keys */
	size_t identity_count; /* of both numbers */
	struct gorgon_arena_tree tree;
};

/* With the GIL: compare the layout that is known with objects of the interpreter's. */
struct gorgon_error *gorgon_tables_check(struct gorgon_interp *interp);
/* With the GIL, as the last thing that it does: fill what its allocator has free with zeros, and
 * list all dicts and sets. */
struct gorgon_error *gorgon_tables_collect(struct gorgon_interp *interp, struct gorgon_tables *ret);
/* Keep the tables that depend on addresses, and take the words that they explain out of @map. The
 * lock is held. */
bool gorgon_tables_choose(struct gorgon_tables *tables, const struct gorgon_runs *runs,
			  struct gorgon_map *map);
/* In an interpreter whose memory is a copy, with the GIL. */
struct gorgon_error *gorgon_tables_rehash(const struct gorgon_tables *tables,
					  struct gorgon_interp *interp);
void gorgon_tables_free(struct gorgon_tables *tables);

#endif
