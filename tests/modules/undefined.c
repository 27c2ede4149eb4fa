// SPDX-License-Identifier: MIT
// Calls a function that no library defines.

int nobody_defines_this(void);
int undefined_call(void);

int undefined_call(void)
{
	return nobody_defines_this();
}
