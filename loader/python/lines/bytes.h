/* SPDX-License-Identifier: MIT */
/* Bytes of a file that is written for debuggers: numbers, texts, LEB128, and DWARF's expressions
 * with jumps. A buffer that could not grow takes no more, and says so at the end. */
#ifndef GORGON_PYTHON_LINES_BYTES_H
#define GORGON_PYTHON_LINES_BYTES_H

#include "code.h"
#include "file/leb128.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static inline void put_bytes(struct gorgon_lines_bytes *to, const void *data, size_t size)
{
	if (to->failed || !size)
		return;
	if (size > to->capacity - to->size) {
		size_t capacity = 2 * (to->size + size) + 256;
		uint8_t *grown = realloc(to->data, capacity);

		if (!grown) {
			to->failed = true;
			return;
		}
		to->data = grown;
		to->capacity = capacity;
	}
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

static inline void put_number(struct gorgon_lines_bytes *to, uint64_t value, size_t size)
{
	put_bytes(to, &value, size);
}

static inline void put_text(struct gorgon_lines_bytes *to, const char *text)
{
	put_bytes(to, text, strlen(text) + 1);
}

static inline void put_uleb(struct gorgon_lines_bytes *to, uint64_t value)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put_bytes(to, bytes, jitreg_put_uleb(bytes, value));
}

static inline void put_sleb(struct gorgon_lines_bytes *to, int64_t value)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put_bytes(to, bytes, jitreg_put_sleb(bytes, value));
}

static inline void set_number(struct gorgon_lines_bytes *to, size_t at, uint64_t value, size_t size)
{
	if (!to->failed)
		memcpy(to->data + at, &value, size);
}

static inline void align_bytes(struct gorgon_lines_bytes *to, size_t alignment)
{
	while (!to->failed && to->size % alignment)
		put_number(to, 0, 1);
}

/* Put the bytes of @from there, and release them. */
static inline void put_all(struct gorgon_lines_bytes *to, struct gorgon_lines_bytes *from)
{
	put_bytes(to, from->data, from->size);
	to->failed |= from->failed;
	free(from->data);
}

/* The same behind their size: an expression. */
static inline void put_block(struct gorgon_lines_bytes *to, struct gorgon_lines_bytes *from)
{
	put_uleb(to, from->size);
	put_all(to, from);
}

#define OPS(to, ...) \
	put_bytes(to, (const uint8_t[]){__VA_ARGS__}, \
		  sizeof((const uint8_t[]){__VA_ARGS__}))

/* A jump goes forward, until it is ended, or back to an operation. */
static inline size_t begin_jump(struct gorgon_lines_bytes *x, uint8_t op)
{
	OPS(x, op, 0, 0);
	return x->size - 2;
}

static inline void end_jump(struct gorgon_lines_bytes *x, size_t from)
{
	set_number(x, from, x->size - from - 2, 2);
}

static inline void end_jump_back(struct gorgon_lines_bytes *x, size_t from, size_t to)
{
	set_number(x, from, to - from - 2, 2);
}

static inline void put_number_op(struct gorgon_lines_bytes *x, uint64_t value)
{
	OPS(x, DW_OP_const8u);
	put_number(x, value, 8);
}

#endif
