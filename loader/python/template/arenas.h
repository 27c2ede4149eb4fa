/* SPDX-License-Identifier: MIT */
/* CPython's object allocator, and the memory of frames. See template/arenas.c. */
#ifndef GORGON_PYTHON_TEMPLATE_ARENAS_H
#define GORGON_PYTHON_TEMPLATE_ARENAS_H

#include "layout.h"

/* The tree by which the allocator knows which addresses are its own: offsets in the zone. */
struct gorgon_arena_tree {
	uint64_t middle, bottom;
};

/* What is done with a block in use: false ends the walk. */
typedef bool gorgon_block_fn(const char *block, uint64_t size, void *ctx);

/* False: the tree is not as the layout says. */
bool gorgon_arenas_find(const struct gorgon_interp *interp, const struct gorgon_layout *layout,
			struct gorgon_arena_tree *ret);
/* Whether an arena has the address, and where this arena ends. */
bool gorgon_arenas_have(const struct gorgon_interp *interp, const struct gorgon_arena_tree *tree,
			uint64_t addr, uint64_t *end);
/* Visit all blocks in use that are large enough for an object; with @clear fill with zeros what is
 * free. False: a pool is none as the layout says, or @visit has ended the walk. */
bool gorgon_arenas_walk(const struct gorgon_interp *interp, const struct gorgon_layout *layout,
			const struct gorgon_arena_tree *tree, bool clear, gorgon_block_fn *visit,
			void *ctx);
/* In a copy: let the tree know the addresses of its zone. */
void gorgon_arenas_move(const struct gorgon_layout *layout, const struct gorgon_arena_tree *tree,
			uint64_t from, uint64_t to);
/* Clear what frames of Python functions have left. False: their memory is not as the layout
 * says. */
bool gorgon_frames_clear(struct gorgon_interp *interp, const struct gorgon_layout *layout);

#endif
