// SPDX-License-Identifier: MIT
// A destructor that loads a library and does not close it.

#include "note.h"

#include <dlfcn.h>

__attribute__((destructor)) static void stop(void)
{
	test_note("-fini_open");
	if (!dlopen("libbasic.so", RTLD_NOW))
		test_note(dlerror());
}
