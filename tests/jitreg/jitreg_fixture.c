// SPDX-License-Identifier: MIT
/*
 * A library for the debugger checks of jitreg: no imports, so that a host can map
 * it by hand and apply R_*_RELATIVE relocations only. Functions have several lines,
 * because a debugger that stops on the first instruction sees no arguments yet.
 */
int snake_global;
static int snake_static = 100;
static int *snake_pointer = &snake_static; // needs a relocation

int snake_leaf(int number, int value);
int snake_enter(int number, int value, int (*callback)(int));

int snake_leaf(int number, int value)
{
	int sum = number;

	sum += value;
	*snake_pointer += number;
	return sum;
}

int snake_enter(int number, int value, int (*callback)(int))
{
	int result;

	snake_global = 1000 + number;
	result = snake_leaf(number, value);
	if (callback)
		result = callback(result);
	return result + *snake_pointer;
}
