/* SPDX-License-Identifier: MIT */
/* The companion of a pack: a debug file for GDB. See companion.c. Internal to jitreg. */
#ifndef JITREG_COMPANION_H
#define JITREG_COMPANION_H

#include "cache.h"
#include "pack.h"

/** The first byte of the build-id of a companion; the others are the name of its file in the cache.
 */
#define JITREG_COMPANION_ID      0x67
#define JITREG_COMPANION_ID_SIZE 17

/**
 * Find or write the companion of a pack.
 *
 * @param[out] ret   Has no path after a failure. As long as it is held nobody removes the file.
 * @param[out] crc   The companion's checksum, for .gnu_debuglink.
 * @param[out] bare  The companion without lines, if @p ret has some; @p id is its build-id.
 *
 * @retval -errno  as for jitreg_cache_find()
 */
int jitreg_companion_find(const struct jitreg_member *members, size_t count,
			  struct jitreg_companion *ret, uint32_t *crc,
			  struct jitreg_companion *bare, uint8_t id[JITREG_COMPANION_ID_SIZE]);

#endif
