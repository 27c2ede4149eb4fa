// SPDX-License-Identifier: MIT
// A library that provides a name (GLOBAL_PROVIDER) or uses it without saying from where.

int global_answer(void);

#ifdef GLOBAL_PROVIDER
int global_answer(void)
{
	return GLOBAL_PROVIDER;
}
#else
int late_answer(void);

int late_answer(void)
{
	return global_answer() + 1;
}
#endif
