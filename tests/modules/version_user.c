// SPDX-License-Identifier: MIT
// References to both versions of version.c's function.

int old_number(void);
int version_number(void);
int version_user_old(void);
int version_user_new(void);

__asm__(".symver old_number, version_number@V1");

int version_user_old(void)
{
	return old_number();
}

int version_user_new(void)
{
	return version_number();
}
