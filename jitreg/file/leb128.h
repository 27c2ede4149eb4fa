/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Writing LEB128; cursor.h reads it. Internal to jitreg and the loader.
 *
 * Specification: DWARF 5, 7.6.
 */
#ifndef JITREG_LEB128_H
#define JITREG_LEB128_H

#include <stddef.h>
#include <stdint.h>

/** As many bytes as a number takes at most. */
#define JITREG_LEB128_MAX 10

/** Write @p value to @p to. Returns how many bytes it takes. */
static inline size_t jitreg_put_uleb(uint8_t *to, uint64_t value)
{
	size_t size = 0;

	for (; value > 0x7f; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)value;
	return size;
}

/** The same for a number with a sign. */
static inline size_t jitreg_put_sleb(uint8_t *to, int64_t value)
{
	size_t size = 0;

	for (; value < -64 || value > 63; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)(value & 0x7f);
	return size;
}

#endif
