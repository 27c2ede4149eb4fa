// SPDX-License-Identifier: MIT
// What reloc.c refers to.

int dep_value = 31;
int dep_words[5] = {10, 11, 12, 13, 14};
__thread int dep_tls = 17;
__thread int dep_tls_zero;

// A number, not an address: it must not move with the library.
__asm__(".globl dep_absolute\n"
	".type dep_absolute, @object\n"
	".size dep_absolute, 4\n"
	".set dep_absolute, 0x1234\n");

int dep_function(int value);
int *dep_value_at(void);
int *dep_tls_at(void);

int dep_function(int value)
{
	return value + dep_value;
}

int *dep_value_at(void)
{
	return &dep_value;
}

int *dep_tls_at(void)
{
	return &dep_tls;
}
