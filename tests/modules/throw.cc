// SPDX-License-Identifier: MIT
// Throws; catch.cc, another library, catches.

#include "throw.h"

void throw_error(int value)
{
	throw throw_type(value);
}

extern "C" int throw_inside(int value)
{
	try {
		throw_error(value);
	} catch (const std::exception &) {
		return value + 1;
	}
	return 0;
}
