// SPDX-License-Identifier: MIT
// Maps code of a file and keeps the descriptor open, as libffi does with its own file.

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>

int own_file_open(const char *path, int prot);
const unsigned char *own_file_map_again(int fd);

int own_file_open(const char *path, int prot)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *volatile code = mmap(NULL, 4096, prot, MAP_PRIVATE, fd, 0);

	if (code != MAP_FAILED)
		munmap(code, 4096);
	return fd;
}

/* Map the same code once more, through the descriptor that was kept. NULL: the descriptor is gone. */
const unsigned char *own_file_map_again(int fd)
{
	void *volatile code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	return code == MAP_FAILED ? NULL : code;
}
