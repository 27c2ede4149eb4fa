// SPDX-License-Identifier: MIT
// A mistake that memory checkers have to find: overrun() writes a byte behind its block.

#include <stdlib.h>
#include <string.h>

void overrun(void);

void overrun(void)
{
	char *block = malloc(16);

	memset(block, 0, 17);
	free(block);
}
