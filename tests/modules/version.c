// SPDX-License-Identifier: MIT
// Two versions of one function; with VERSION_ONLY_2 as a later release that has
// dropped the old one.

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
	return 1;
}

int version_two(void)
{
	return 2;
}

__asm__(".symver version_one, version_number@V1");
__asm__(".symver version_two, version_number@@V2");
#endif
