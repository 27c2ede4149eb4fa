// SPDX-License-Identifier: MIT
// Catches what throw.cc throws: by its own type, by a type of the C++ library, and
// after a frame with a destructor in between.

#include "throw.h"
#include "note.h"

struct guard {
	~guard()
	{
		test_note("-guard");
	}
};

static void pass_through(int value)
{
	guard here;

	throw_error(value);
}

extern "C" int catch_own_type(int value)
{
	try {
		pass_through(value);
	} catch (const throw_type &e) {
		return e.value;
	}
	return -1;
}

extern "C" int catch_standard_type(int value)
{
	try {
		throw_error(value);
	} catch (const std::runtime_error &e) {
		return e.what()[0] == 't' ? value : -1;
	}
	return -2;
}

// Calls back: an exception then passes through the caller's frames.
extern "C" int catch_from(void (*fn)(int), int value)
{
	try {
		guard here;

		fn(value);
	} catch (const throw_type &e) {
		return e.value;
	}
	return -1;
}

extern "C" void catch_nothing(int value)
{
	throw_error(value);
}
