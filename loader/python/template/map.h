/* SPDX-License-Identifier: MIT */
/* Which words of an interpreter are others in another one. See template/map.c. */
#ifndef GORGON_PYTHON_TEMPLATE_MAP_H
#define GORGON_PYTHON_TEMPLATE_MAP_H

#include "spots.h"

/* Memory of the zone that private code writes to; offsets are from the zone's start. */
struct gorgon_span {
	uint64_t offset, size;
	int prot;       /* of what is mapped there; 0: of a library, or a block of malloc() */
	int is_library; /* or not; no bytes are between the members */
};

struct gorgon_piece {
	uint64_t offset, size;
};

/* A word that is another one in each interpreter. */
struct gorgon_fix {
	uint32_t half_offset; /* half of its offset: it may lie at any even address */
	uint16_t place;
	uint16_t form;
};

struct gorgon_map {
	struct gorgon_span *spans; /* sorted */
	size_t span_count;
	struct gorgon_piece *pieces; /* of the spans, those that have something; sorted */
	size_t piece_count;
	uint32_t *pointers; /* words that hold plain addresses of the zone: offset / 8 */
	size_t pointer_count;
	struct gorgon_fix *fixes; /* all others */
	size_t fix_count;
	uint64_t *unknown; /* offsets of words that nothing explains */
	size_t unknown_count;
};

/* Three interpreters that have done the same, and their places. */
struct gorgon_runs {
	const struct gorgon_interp *of[3];
	struct gorgon_spots places[3];
};

/* Compare the first one with the two others, word by word. Without @same they have not allocated
 * the same memory, and the map is no map. The lock is held, and none of their code runs. */
struct gorgon_error *gorgon_map_create(const struct gorgon_runs *runs, struct gorgon_map *ret,
				       bool *same);
void gorgon_map_free(struct gorgon_map *map);

/* Whether a word of the first one is the same in the others. */
bool gorgon_map_is_equal(const struct gorgon_runs *runs, uint64_t offset);
/* A word that nothing explains is an address of the zone after all, because of what it is a part
 * of. */
bool gorgon_map_add_pointer(struct gorgon_map *map, uint64_t offset);
/* Take the words of a stretch out of the list of those that nothing explains; those at which
 * @is_pointer says so are addresses. It may be NULL: none is. */
bool gorgon_map_explain(struct gorgon_map *map, uint64_t start, uint64_t size,
			bool (*is_pointer)(uint64_t addr, const void *first), uint64_t zone,
			const void *first);

#endif
