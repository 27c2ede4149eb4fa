/* SPDX-License-Identifier: MIT */
/* What GDB is to know of a pack, in a file. See companion.c. Internal to jitreg. */
#ifndef JITREG_COMPANION_H
#define JITREG_COMPANION_H

#include "pack.h"

/**
 * Find or write the companion of a pack.
 *
 * @param[out] path  malloc()ed, absolute.
 * @param[out] crc   Its checksum, for .gnu_debuglink.
 * @param[out] fd    The open file. As long as it is, nobody removes it.
 *
 * @retval -ENOTDIR  there is no folder for it that is ours alone
 * @retval -ENOTSUP  no libdwarf, which has the checksum
 * @retval -errno    it could not be written
 */
int jitreg_companion_find(const struct jitreg_member *members, size_t count, char **path,
			  uint32_t *crc, int *fd);

#endif
