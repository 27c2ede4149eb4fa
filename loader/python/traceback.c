// SPDX-License-Identifier: MIT
// The Python lines of a thread that has a fault, by CPython's own function for that, which is made for
// handlers of signals: faulthandler's. CPython 3.11 and 3.12 export it under a private name, 3.15 under a
// public one; 3.13 and 3.14 do not export it.

#include "traceback.h"
#include "interp.h"

bool gorgon_traceback_write(void *ctx, int fd)
{
	struct gorgon_interp *interp = ctx;
	void *(*this_state)(void);
	void (*dump)(int, void *);
	void *state;

	if (!interp->libpython)
		return false;
	this_state = (void *(*)(void))gorgon_interp_find_api(interp, "PyGILState_GetThisThreadState");
	dump = (void (*)(int, void *))(gorgon_interp_find_api(interp, "PyUnstable_DumpTraceback")
						      ?: gorgon_interp_find_api(interp, "_Py_DumpTraceback"));
	state = this_state && dump ? this_state() : NULL;
	if (state)
		dump(fd, state);
	return state;
}
