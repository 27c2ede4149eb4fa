/* SPDX-License-Identifier: MIT */
/* Where structures of CPython have what copies of a template need. See template/layout.c. */
#ifndef GORGON_PYTHON_TEMPLATE_LAYOUT_H
#define GORGON_PYTHON_TEMPLATE_LAYOUT_H

#include "python/calls/interp.h"

#include <stdbool.h>
#include <string.h>

/* Members are offsets and sizes in bytes. */
struct gorgon_layout {
	unsigned dict_used, dict_keys, dict_values, dict_size; /* PyDictObject */
	unsigned keys_log2_size, keys_log2_bytes, keys_kind, keys_count, keys_indices;
	unsigned set_fill, set_used, set_mask, set_table, set_hash, set_small; /* PySetObject */
	unsigned link_hash, link_key, link_size; /* functools._lru_list_elem */
	unsigned var_hash; /* PyContextVar */
	unsigned gc_head;
	unsigned state_words, chunk_head, chunk_size; /* PyThreadState, _PyStackChunk */
	unsigned arena_bits, pool_bits, pool_header;  /* of the object allocator */
	unsigned top_shift, middle_shift, middle_bits, bottom_bits;
};

/* Whether CPython 3.@minor is known. */
bool gorgon_layout_is_known(unsigned minor);
/* NULL: this CPython is not known. */
const struct gorgon_layout *gorgon_layout_of(const struct gorgon_interp *interp);

/* A member of 8 bytes at an offset. */
static inline uint64_t gorgon_member(const void *object, unsigned offset)
{
	uint64_t ret;

	memcpy(&ret, (const char *)object + offset, sizeof(ret));
	return ret;
}

static inline void gorgon_set_member(void *object, unsigned offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

/* The words of libpython that can be written when it runs: its variables, and types that are no
 * constants. A walk begins with zeros. */
struct gorgon_words {
	size_t segment; /* the next one */
	uint64_t *next, *end;
};

/* The next word; NULL: there is none left. Words behind it lie below @words->end. */
uint64_t *gorgon_words_next(const struct gorgon_interp *interp, struct gorgon_words *words);

static inline const uint64_t *gorgon_words_at(uint64_t addr)
{
	return (const uint64_t *)(uintptr_t)addr;
}

#endif
