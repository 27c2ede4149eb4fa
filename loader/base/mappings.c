// SPDX-License-Identifier: MIT
// The process's number of mappings, and the kernel's limit of it (sysctl vm.max_map_count,
// 65,530 by default). What is done when it comes near is in relax.c.

#define _GNU_SOURCE
#include "mappings.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

unsigned long gorgon_mappings_limit(void)
{
	FILE *in = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long limit = 65530;

	if (in) {
		if (fscanf(in, "%lu", &limit) != 1)
			limit = 65530;
		fclose(in);
	}
	return limit;
}

unsigned long gorgon_mappings_count(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	unsigned long count = 0;
	char buffer[16384];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		for (const char *p = buffer; (p = memchr(p, '\n', (size_t)(buffer + n - p))); p++)
			count++;
	if (fd >= 0)
		close(fd);
	return count;
}

bool gorgon_mappings_are_used_up(unsigned long *limit)
{
	*limit = gorgon_mappings_limit();
	// Splitting one needs two at once.
	return gorgon_mappings_count() + 2 >= *limit;
}
