/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The checksum of a debug file, which a reference by name has. Internal to jitreg.
 */
#ifndef JITREG_CHECKSUM_H
#define JITREG_CHECKSUM_H

#include "object.h"

/** The CRC of the whole file, as .gnu_debuglink has it. 0 or -errno. */
int jitreg_checksum(const struct jitreg_object *object, uint32_t *ret);

/** The CRC of bytes in memory. */
uint32_t jitreg_crc32(const void *bytes, size_t size);

#endif
