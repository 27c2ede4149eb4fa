// SPDX-License-Identifier: MIT
// References to both versions of version.c's function; with VERSION_NONE to the function
// alone, for a link against a library that has no versions.

int version_number(void);
int version_user_new(void);

#ifndef VERSION_NONE
int old_number(void);
int version_user_old(void);

__asm__(".symver old_number, version_number@V1");

int version_user_old(void)
{
	return old_number();
}
#endif

int version_user_new(void)
{
	return version_number();
}
