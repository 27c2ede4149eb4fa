/* SPDX-License-Identifier: MIT */
/* debug_copy.c makes copies of debug files which GDB must not read themselves. This header is
 * internal to jitreg. */
#ifndef JITREG_DEBUG_COPY_H
#define JITREG_DEBUG_COPY_H

#include "symfile.h"

/**
 * Find or make the copy, without the names of the GDB JIT interface, of a file with debug
 * information.
 *
 * @param[out] ret  The copy, held. To be released after success only.
 * @param[out] crc  Its checksum.
 *
 * @retval -EAGAIN      another thread has closed the file's descriptor
 * @retval -EFBIG       the file is too large
 * @retval -EOPNOTSUPP  the file refers to another file by a name that is relative to its folder
 * @retval -ENOEXEC     the file is damaged
 * @retval -errno       as jitreg_cache_find()
 */
int jitreg_debug_copy_find(const struct jitreg_object *from, struct jitreg_companion *ret,
			   uint32_t *crc);

#endif
