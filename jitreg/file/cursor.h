/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Reading bytes that somebody else has written. Internal to jitreg.
 *
 * A read never leaves [at, end). A read that would do so sets bad and gives 0, and so does every
 * later read.
 */
#ifndef JITREG_CURSOR_H
#define JITREG_CURSOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct jitreg_cursor {
	const uint8_t *at, *end;
	bool bad;
};

/** From @p off to the end of @p size bytes. */
static inline struct jitreg_cursor jitreg_cursor_open(const uint8_t *bytes, uint64_t size,
						      uint64_t off)
{
	if (!bytes || off > size)
		return (struct jitreg_cursor){.bad = true};
	return (struct jitreg_cursor){.at = bytes + off, .end = bytes + size};
}

static inline void jitreg_cursor_skip(struct jitreg_cursor *c, uint64_t size)
{
	if (c->bad || size > (uint64_t)(c->end - c->at))
		c->bad = true;
	else
		c->at += size;
}

static inline bool jitreg_cursor_more(const struct jitreg_cursor *c)
{
	return !c->bad && c->at < c->end;
}

/** A number of at most 8 bytes, in the order of this machine, which is little-endian. */
static inline uint64_t jitreg_cursor_number(struct jitreg_cursor *c, unsigned size)
{
	const uint8_t *from = c->at;
	uint64_t ret = 0;

	jitreg_cursor_skip(c, size);
	if (!c->bad)
		memcpy(&ret, from, size);
	return ret;
}

/* Read a value without its sign. @shift becomes the number of bits that were read, @last the last
 * byte. */
static inline uint64_t jitreg_cursor_leb(struct jitreg_cursor *c, unsigned *shift, uint8_t *last)
{
	uint64_t ret = 0;

	*shift = 0;
	do {
		*last = (uint8_t)jitreg_cursor_number(c, 1);
		if (*shift < 64)
			ret |= (uint64_t)(*last & 0x7f) << *shift;
		*shift += 7;
	} while (*last & 0x80);
	return ret;
}

static inline uint64_t jitreg_cursor_uleb(struct jitreg_cursor *c)
{
	unsigned shift;
	uint8_t last;

	return jitreg_cursor_leb(c, &shift, &last);
}

static inline int64_t jitreg_cursor_sleb(struct jitreg_cursor *c)
{
	unsigned shift;
	uint8_t last;
	uint64_t ret = jitreg_cursor_leb(c, &shift, &last);

	if (shift < 64 && last & 0x40)
		ret |= UINT64_MAX << shift;
	return (int64_t)ret;
}

/** A text up to its NUL; NULL: it has no end. */
static inline const char *jitreg_cursor_text(struct jitreg_cursor *c)
{
	const char *ret = (const char *)c->at;
	const uint8_t *nul = c->bad ? NULL : memchr(c->at, 0, (size_t)(c->end - c->at));

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	c->at = nul + 1;
	return ret;
}

/** Read the length of a unit; from then on the cursor ends where the unit ends. Returns the size of
 * the unit's offsets. */
static inline unsigned jitreg_cursor_length(struct jitreg_cursor *c)
{
	uint64_t length = jitreg_cursor_number(c, 4);
	unsigned offset_size = 4;

	if (length == UINT32_MAX) {
		length = jitreg_cursor_number(c, 8);
		offset_size = 8;
	}
	if (c->bad || length > (uint64_t)(c->end - c->at))
		c->bad = true;
	else
		c->end = c->at + length;
	return offset_size;
}

#endif
