// SPDX-License-Identifier: MIT
// A thread_local with a destructor.

#include "note.h"

struct noter {
	int value = 1;
	~noter()
	{
		test_note("-thread_local");
	}
};

static thread_local noter instance;

extern "C" int tls_dtor_touch()
{
	return instance.value++;
}
