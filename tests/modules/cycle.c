// SPDX-License-Identifier: MIT
// Two libraries that need each other.

#ifdef CYCLE_A
int cycle_b(int n);
int cycle_a(int n);
int cycle_a(int n)
{
	return n ? cycle_b(n - 1) + 1 : 0;
}
#else
int cycle_a(int n);
int cycle_b(int n);
int cycle_b(int n)
{
	return n ? cycle_a(n - 1) + 1 : 0;
}
#endif
