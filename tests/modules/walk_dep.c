// SPDX-License-Identifier: MIT
// A library that the extension module walk.cc calls: libwalk_dep.so with debug
// information, and libwalk_plain.so (WALK_PLAIN), stripped of everything but .dynsym.

#ifdef WALK_PLAIN
int walk_plain_count = 100;
__thread int walk_plain_tls = 200;

int walk_plain_next(int step);
int walk_plain_get(void);
int walk_plain_get_tls(void);

int walk_plain_next(int step)
{
	walk_plain_count += step;
	walk_plain_tls += 5 * step;
	return walk_plain_count;
}

int walk_plain_get(void)
{
	return walk_plain_count;
}

int walk_plain_get_tls(void)
{
	return walk_plain_tls;
}
#else
int walk_dep_calls;

int walk_dep_twice(int number);

int walk_dep_twice(int number)
{
	int result = number;

	walk_dep_calls++;
	result += number;
	return result;
}
#endif
