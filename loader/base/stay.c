// SPDX-License-Identifier: MIT A plug-in of a host may be linked to this library, and be closed.
// What the process has of us cannot all be taken back: the destructor of our key of thread-specific
// data runs when a thread of the host ends, a handler of signals may be under way, and threads of
// abandoned interpreters are parked in our code. So the library stays once it was used.

#define _GNU_SOURCE
#include "stay.h"

#include <dlfcn.h>
#include <stdint.h>

void gorgon_stay_loaded(void)
{
	Dl_info info;

	// A program that this library is linked into statically stays anyway.
	if (dladdr((void *)(uintptr_t)gorgon_stay_loaded, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
