// SPDX-License-Identifier: MIT
// Refers to a function that only the program defines: weakly when built with
// -DREFERENCE=weak, and by a name that is given.

extern int REFERRED(void) __attribute__((REFERENCE));

int (*python_name_target(void))(void);

int (*python_name_target(void))(void)
{
	return REFERRED;
}
