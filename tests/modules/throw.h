/* SPDX-License-Identifier: MIT */
/* The exception that throw.cc throws and catch.cc catches. */
#ifndef MODULES_THROW_H
#define MODULES_THROW_H

#include <stdexcept>

struct throw_type : std::runtime_error {
	explicit throw_type(int value) : std::runtime_error("thrown"), value(value)
	{
	}
	int value;
};

void throw_error(int value);

#endif
