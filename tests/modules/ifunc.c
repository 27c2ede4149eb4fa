// SPDX-License-Identifier: MIT
// Indirect functions: one that is exported, one that only the library calls
// (R_X86_64_IRELATIVE).

int ifunc_exported(int value);
int ifunc_call(int value);

static int add_thousand(int value)
{
	return value + 1000;
}

static int add_million(int value)
{
	return value + 1000000;
}

static int (*resolve_exported(void))(int)
{
	return add_thousand;
}

static int (*resolve_local(void))(int)
{
	return add_million;
}

int ifunc_exported(int value) __attribute__((ifunc("resolve_exported")));
static int ifunc_local(int value) __attribute__((ifunc("resolve_local")));

int ifunc_call(int value)
{
	return ifunc_local(value) + ifunc_exported(0);
}
