// SPDX-License-Identifier: MIT
// Maps memory and leaves it to whoever unloads the library.

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>

void *memory_map(size_t size, int flags);
int memory_unmap(void *addr, size_t size);
void *memory_remap(void *addr, size_t size, size_t new_size);

void *memory_map(size_t size, int flags)
{
	void *volatile ret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	return ret; // no tail call: the return address is what tells whose memory it is
}

int memory_unmap(void *addr, size_t size)
{
	return munmap(addr, size);
}

void *memory_remap(void *addr, size_t size, size_t new_size)
{
	void *volatile ret = mremap(addr, size, new_size, MREMAP_MAYMOVE);

	return ret;
}
