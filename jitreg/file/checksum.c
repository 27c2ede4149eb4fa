// SPDX-License-Identifier: MIT
/*
 * The checksum of a whole file, for .gnu_debuglink.
 *
 * A reference by name has the checksum, and GDB accepts no other file. To compute it takes time in
 * proportion to the size of the file, and the caller who registers an object waits, perhaps with a
 * lock held. So it is computed only where it goes into a symfile, or decides whether a file belongs
 * to another file.
 *
 * Specification: GDB manual, "Separate Debug Files".
 */
#include "checksum.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define CHUNK_SIZE (UINT64_C(1) << 18)

uint32_t jitreg_crc32(const void *bytes, size_t size)
{
	return (uint32_t)crc32_z(0, bytes, size);
}

int jitreg_checksum(const struct jitreg_object *object, uint32_t *ret)
{
	uint64_t size = (uint64_t)object->st.st_size, part;
	uint8_t *chunk = malloc(CHUNK_SIZE);
	int r = chunk ? 0 : -ENOMEM;

	*ret = 0;
	for (uint64_t at = 0; !r && at < size; at += part) {
		part = size - at < CHUNK_SIZE ? size - at : CHUNK_SIZE;
		r = jitreg_object_read(object, at, chunk, part);
		if (!r)
			*ret = (uint32_t)crc32(*ret, chunk, (uInt)part);
	}
	free(chunk);
	return r;
}
