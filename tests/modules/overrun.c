// SPDX-License-Identifier: MIT
// A mistake for memory checkers: a byte is written behind a block.

#include <stdlib.h>
#include <string.h>

void overrun(void);

void overrun(void)
{
	char *block = malloc(16);

	memset(block, 0, 17);
	free(block);
}
