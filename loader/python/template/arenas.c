// SPDX-License-Identifier: MIT
// CPython's object allocator: arenas of a megabyte, of pools, of blocks. What is free in them has
// old values, which differ between runs. The allocator knows which addresses are its own by a tree.

#define _GNU_SOURCE
#include "arenas.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "process/memory/zone_heap.h"
#include "python/api.h"

struct pool {
	uint64_t count; // blocks in use; the upper half is padding
	uint64_t free;  // the first free block
	uint64_t next, prev;
	uint32_t arena, class, next_offset, max_offset;
};

// The entry of the tree for a megabyte: an arena begins there.
#define ARENA_ENTRY UINT64_C(0xffffffff)

static bool is_block(const struct gorgon_interp *interp, uint64_t addr, size_t size)
{
	const struct gorgon_ns *ns = interp->ns;
	uint64_t offset = addr - ns->zone;

	return !(addr % 16) && offset > GORGON_ZONE_BLOCKS &&
	       offset < gorgon_zone_heap_end(ns->usage.zone_heap) &&
	       gorgon_zone_heap_usable((void *)(uintptr_t)addr) == size;
}

static uint64_t middle_index(const struct gorgon_layout *layout, uint64_t zone)
{
	return zone >> layout->middle_shift & ((UINT64_C(1) << layout->middle_bits) - 1);
}

static uint64_t bottom_index(const struct gorgon_layout *layout, uint64_t addr)
{
	return addr >> layout->arena_bits & ((UINT64_C(1) << layout->bottom_bits) - 1);
}

// Whether the words at an address are the middle of the tree, with one leaf, which knows arenas of
// the zone and nothing else.
static bool is_tree(const struct gorgon_interp *interp, const struct gorgon_layout *layout,
		    uint64_t middle, struct gorgon_arena_tree *ret)
{
	uint64_t zone = interp->ns->zone, at = middle_index(layout, zone), bottom, arenas = 0;

	if (zone >> layout->top_shift ||
	    !is_block(interp, middle, sizeof(uint64_t) << layout->middle_bits))
		return false;
	for (uint64_t i = 0; i < UINT64_C(1) << layout->middle_bits; i++)
		if (!gorgon_words_at(middle)[i] != (i != at))
			return false;
	bottom = gorgon_words_at(middle)[at];
	if (!is_block(interp, bottom, sizeof(uint64_t) << layout->bottom_bits))
		return false;
	for (uint64_t i = 0; i < UINT64_C(1) << layout->bottom_bits; i++) {
		uint64_t entry = gorgon_words_at(bottom)[i], first = bottom_index(layout, zone);

		if (entry && (entry != ARENA_ENTRY || i < first ||
			      i >= first + (GORGON_ZONE_SIZE >> layout->arena_bits)))
			return false;
		arenas += entry != 0;
	}
	ret->middle = middle - zone;
	ret->bottom = bottom - zone;
	return arenas;
}

// The tree's root is a variable of libpython that it does not export.
bool gorgon_arenas_find(const struct gorgon_interp *interp, const struct gorgon_layout *layout,
			struct gorgon_arena_tree *ret)
{
	struct gorgon_words words = {0};
	unsigned found = 0;

	for (const uint64_t *word; (word = gorgon_words_next(interp, &words));)
		found += is_tree(interp, layout, *word, ret);
	return found == 1;
}

bool gorgon_arenas_have(const struct gorgon_interp *interp, const struct gorgon_arena_tree *tree,
			uint64_t addr, uint64_t *end)
{
	const struct gorgon_layout *layout = gorgon_layout_of(interp);
	uint64_t size = UINT64_C(1) << layout->arena_bits;

	*end = (addr & -size) + size;
	return addr - interp->ns->zone < GORGON_ZONE_SIZE &&
	       gorgon_words_at(interp->ns->zone + tree->bottom)[bottom_index(layout, addr)];
}

struct block_walk {
	const struct gorgon_layout *layout;
	bool clear;
	gorgon_block_fn *visit;
	void *ctx;
};

static bool visit_pool(const struct block_walk *walk, uint64_t pool, const bool *is_free)
{
	const struct pool *header = (const struct pool *)(uintptr_t)pool;
	const uint64_t size = ((uint64_t)header->class + 1) * 16;

	for (uint64_t at = walk->layout->pool_header, i = 0; at < header->next_offset && size > 32;
	     at += size, i++)
		if (!is_free[i] &&
		    !walk->visit((const char *)(uintptr_t)(pool + at), size, walk->ctx))
			return false;
	return true;
}

// Of a free block the link stays. False: it is no pool as we know it, or the visit has ended.
static bool walk_pool(const struct block_walk *walk, uint64_t pool)
{
	const struct gorgon_layout *layout = walk->layout;
	const uint64_t pool_size = UINT64_C(1) << layout->pool_bits,
		       header_size = layout->pool_header;
	struct pool *header = (struct pool *)(uintptr_t)pool;
	uint64_t size = ((uint64_t)header->class + 1) * 16, carved, free = 0;
	bool is_free[1024] = {false};

	if (!header->next_offset) // never used
		return !header->free && !header->count;
	if (header->class >= 32 || header->max_offset != pool_size - size ||
	    (header->next_offset - header_size) % size || header->next_offset > pool_size)
		return false;
	carved = (header->next_offset - header_size) / size;
	for (uint64_t block = header->free; block; block = *gorgon_words_at(block), free++) {
		uint64_t at = block - pool - header_size;

		if (block < pool + header_size || at % size || at / size >= carved ||
		    is_free[at / size])
			return false;
		is_free[at / size] = true;
		if (walk->clear)
			memset((char *)(uintptr_t)block + sizeof(uint64_t), 0,
			       size - sizeof(uint64_t));
	}
	if ((uint32_t)header->count + free != carved)
		return false;
	if (walk->clear)
		memset((char *)(uintptr_t)pool + header->next_offset, 0,
		       pool_size - header->next_offset);
	return visit_pool(walk, pool, is_free);
}

bool gorgon_arenas_walk(const struct gorgon_interp *interp, const struct gorgon_layout *layout,
			const struct gorgon_arena_tree *tree, bool clear, gorgon_block_fn *visit,
			void *ctx)
{
	const struct block_walk walk = {layout, clear, visit, ctx};
	uint64_t zone = interp->ns->zone, arena_size = UINT64_C(1) << layout->arena_bits;

	for (uint64_t arena = zone; arena < zone + GORGON_ZONE_SIZE; arena += arena_size) {
		if (!gorgon_words_at(zone + tree->bottom)[bottom_index(layout, arena)])
			continue;
		for (uint64_t pool = arena; pool < arena + arena_size;
		     pool += UINT64_C(1) << layout->pool_bits)
			if (!walk_pool(&walk, pool))
				return false;
	}
	return true;
}

// Frames lie one behind the other in mapped
// memory, and no function runs now. The thread's state says where this memory begins, from where on
// it is free, and where it ends.
bool gorgon_frames_clear(struct gorgon_interp *interp, const struct gorgon_layout *layout)
{
	const uint64_t *state = (const uint64_t *)(void *)API(interp, PyThreadState_Get)();
	uint64_t zone = interp->ns->zone;
	unsigned found = 0;

	for (unsigned i = 0; i < layout->state_words; i++) {
		uint64_t chunk = state[i];

		if (chunk % 4096 || chunk - zone < GORGON_ZONE_MAPS ||
		    chunk - zone >= GORGON_ZONE_END || state[i + 1] != chunk + layout->chunk_head ||
		    state[i + 2] != chunk + layout->chunk_size || gorgon_words_at(chunk)[0] ||
		    gorgon_words_at(chunk)[1] != layout->chunk_size)
			continue;
		memset((char *)(uintptr_t)state[i + 1], 0, state[i + 2] - state[i + 1]);
		found++;
	}
	return found == 1;
}

void gorgon_arenas_move(const struct gorgon_layout *layout, const struct gorgon_arena_tree *tree,
			uint64_t from, uint64_t to)
{
	uint64_t *middle = (uint64_t *)(uintptr_t)(to + tree->middle),
		 *bottom = (uint64_t *)(uintptr_t)(to + tree->bottom);
	const uint64_t count = GORGON_ZONE_SIZE >> layout->arena_bits;
	uint64_t *old = bottom + bottom_index(layout, from),
		 *new = bottom + bottom_index(layout, to);

	middle[middle_index(layout, from)] = 0;
	middle[middle_index(layout, to)] = (uintptr_t)bottom;
	if (old == new)
		return;
	memcpy(new, old, count * sizeof(*new));
	memset(old, 0, count * sizeof(*old));
}
