/* SPDX-License-Identifier: MIT */
/* What GDB is to know of a pack, in a file. See companion.c. Internal to jitreg. */
#ifndef JITREG_COMPANION_H
#define JITREG_COMPANION_H

#include "cache.h"
#include "pack.h"

/** A build-id begins with this; then it says what the file in the cache is called. */
#define JITREG_COMPANION_ID      0x67
#define JITREG_COMPANION_ID_SIZE 17

/**
 * Find or write the companion of a pack.
 *
 * @param[out] ret   Has no path after a failure. As long as it is held nobody removes the file.
 * @param[out] crc   Its checksum, for .gnu_debuglink.
 * @param[out] bare  The one without lines, if the other has some, and @p id its build-id.
 *
 * @retval -errno  as for jitreg_cache_find()
 */
int jitreg_companion_find(const struct jitreg_member *members, size_t count, struct jitreg_companion *ret,
			  uint32_t *crc, struct jitreg_companion *bare, uint8_t id[JITREG_COMPANION_ID_SIZE]);

#endif
