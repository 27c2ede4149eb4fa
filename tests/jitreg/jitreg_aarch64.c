// SPDX-License-Identifier: MIT
/*
 * A library for aarch64, compiled on any machine and never run: calls through the procedure linkage table, static
 * functions without names for the linker, and data amid code, written by hand.
 */
int beyond(int value);
extern int beyond_variable;
int first(int value);
int second(int value);

static int counter = 1;

__attribute__((noinline)) static int hidden(int value)
{
	counter += value;
	return beyond(counter) + beyond_variable;
}

__attribute__((noinline)) static int deeper(int value)
{
	int room[64];

	for (int i = 0; i < 64; i++)
		room[i] = hidden(value + i);
	return room[value & 63];
}

int first(int value)
{
	if (value > 3)
		return deeper(value) * 2;
	return hidden(value + 1);
}

int second(int value)
{
	return first(value) + beyond(value);
}

__asm__(".text\n"
	".type mixed, %function\n"
	"mixed:\n"
	"	ldr	w0, 1f\n"
	"	ret\n"
	"1:	.word	0x12345678\n"
	"	.word	0x9abcdef0\n"
	"	.size	mixed, .-mixed\n"
	".type behind, %function\n"
	"behind:\n"
	"	mov	w0, #1\n"
	"	ret\n"
	"	.size	behind, .-behind\n");
