// SPDX-License-Identifier: MIT
// Two versions of one function; with VERSION_ONLY_2 as a later release that has
// dropped the old one. VERSION_MORE tells another library of the same names apart.

#ifndef VERSION_MORE
#define VERSION_MORE 0
#endif

int version_number(void);

#ifdef VERSION_ONLY_2
int version_number(void)
{
	return 2;
}
#else
int version_one(void);
int version_two(void);

int version_one(void)
{
	return 1 + VERSION_MORE;
}

int version_two(void)
{
	return 2 + VERSION_MORE;
}

__asm__(".symver version_one, version_number@V1");
__asm__(".symver version_two, version_number@@V2");
#endif
