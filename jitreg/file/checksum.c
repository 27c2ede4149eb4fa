// SPDX-License-Identifier: MIT
/*
 * The checksum of a whole file, for .gnu_debuglink.
 *
 * A reference by name has the checksum, and GDB accepts no other file. To compute it takes time in
 * proportion to the size of the file, and the caller who registers an object waits, perhaps with a
 * lock held. So it is computed only where it goes into a symfile, or decides whether a file belongs
 * to another file; and holes in the file, which may have any size, are not read.
 *
 * Looking for holes moves a descriptor's offset, and a duplicate shares its offset with the
 * caller's descriptor. So the file is opened once more, by its name in /proc. Where there is no
 * /proc, holes are read like data.
 *
 * Specification: GDB manual, "Separate Debug Files".
 */
#define _GNU_SOURCE 1
#include "checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_SIZE (UINT64_C(1) << 18)

/* Open the file once more, so that its offset is shared with nobody; -1: that failed. */
static int open_anew(const struct jitreg_object *object)
{
	struct stat st;
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/proc/thread-self/fd/%d", object->fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st)) {
		if (errno != EBADF) // otherwise another thread has closed it
			close(fd);
		return -1;
	}
	if (st.st_dev == object->st.st_dev && st.st_ino == object->st.st_ino)
		return fd;
	jitreg_fd_close(fd, fcntl(fd, F_GETFL), &st);
	return -1;
}

static uint32_t crc_of_zeros(uint64_t count)
{
	static const Bytef zero;
	uint32_t power = (uint32_t)crc32(0, &zero, 1), crc = 0;

	for (uint64_t size = 1; count; count >>= 1, size <<= 1) {
		if (count & 1)
			crc = (uint32_t)crc32_combine(crc, power, (z_off_t)size);
		power = (uint32_t)crc32_combine(power, power, (z_off_t)size);
	}
	return crc;
}

/* The next data from @at on, or the end of the file. */
static void find_data(int fd, uint64_t size, uint64_t at, uint64_t *start, uint64_t *end)
{
	off_t data = fd < 0 ? -1 : lseek(fd, (off_t)at, SEEK_DATA), hole;

	*start = at;
	*end = size;
	if (data < 0 && fd >= 0 && errno == ENXIO)
		*start = size;
	if (data < (off_t)at || (uint64_t)data >= size)
		return;
	*start = (uint64_t)data;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole > data && (uint64_t)hole < size)
		*end = (uint64_t)hole;
}

static int add_data(const struct jitreg_object *object, uint8_t *chunk, uint64_t start,
		    uint64_t end, uint32_t *crc)
{
	while (start < end) {
		size_t size = end - start < CHUNK_SIZE ? end - start : CHUNK_SIZE;
		int r = jitreg_object_read(object, start, chunk, size);

		if (r)
			return r;
		*crc = (uint32_t)crc32(*crc, chunk, (uInt)size);
		start += size;
	}
	return 0;
}

uint32_t jitreg_crc32(const void *bytes, size_t size)
{
	return (uint32_t)crc32_z(0, bytes, size);
}

int jitreg_checksum(const struct jitreg_object *object, uint32_t *ret)
{
	uint64_t size = (uint64_t)object->st.st_size, start, end;
	uint8_t *chunk = malloc(CHUNK_SIZE);
	int fd = chunk ? open_anew(object) : -1, r = chunk ? 0 : -ENOMEM;
	int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);
	uint32_t crc = 0;

	for (uint64_t at = 0; !r && at < size; at = end) {
		find_data(fd, size, at, &start, &end);
		if (start > at)
			crc = (uint32_t)crc32_combine(crc, crc_of_zeros(start - at),
						      (z_off_t)(start - at));
		r = add_data(object, chunk, start, end, &crc);
	}
	jitreg_fd_close(fd, flags, &object->st);
	free(chunk);
	*ret = crc;
	return r;
}
