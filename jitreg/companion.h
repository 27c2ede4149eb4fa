/* SPDX-License-Identifier: MIT */
/* What GDB is to know of a pack, in a file. See companion.c. Internal to jitreg. */
#ifndef JITREG_COMPANION_H
#define JITREG_COMPANION_H

#include "pack.h"

/**
 * Find or write the companion of a pack.
 *
 * @param[out] ret  Has no path after a failure. As long as it is held nobody removes the file.
 * @param[out] crc  Its checksum, for .gnu_debuglink.
 *
 * @retval -ENOTDIR  there is no folder for it that is ours alone
 * @retval -ENOTSUP  no libdwarf, which has the checksum
 * @retval -errno    it could not be written
 */
int jitreg_companion_find(const struct jitreg_member *members, size_t count, struct jitreg_companion *ret,
			  uint32_t *crc);

/** Nobody needs the file for now: it may be removed. */
void jitreg_companion_let_go(struct jitreg_companion *companion);

/** Keep the file again. False: it is gone. Without a companion nothing is to be done. */
bool jitreg_companion_hold(struct jitreg_companion *companion);

void jitreg_companion_deinit(struct jitreg_companion *companion);

#endif
