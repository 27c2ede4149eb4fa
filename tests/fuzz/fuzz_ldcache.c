// SPDX-License-Identifier: MIT
// A file in the format of /etc/ld.so.cache.

#include "fuzz.h"

#include "image/ldcache.h"

#include <stdlib.h>
#include <string.h>

static bool see(void *sum, const char *name, const char *path)
{
	*(size_t *)sum += strlen(name) + strlen(path);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t sum = 0;

	gorgon_ldcache_read((const char *)data, size, see, &sum);
	return sum > SIZE_MAX / 2;
}
