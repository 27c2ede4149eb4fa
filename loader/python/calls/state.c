// SPDX-License-Identifier: MIT
// The thread state that Python was started with, on another thread.
//
// From CPython 3.13 on Py_FinalizeEx() finalises under the first thread state, whichever thread
// calls it and whatever thread state that has. The caller's own state is freed while it is in use;
// and when a finaliser releases the GIL (closing a file or a database does), CPython takes the
// caller for a daemon thread, which it ends, or from 3.14 on holds for ever. So the caller gets the
// first thread state as its own: attached, and put where PyGILState_Ensure() looks for a thread's
// state. That place is a key of thread-specific data, from 3.15 on a thread-local variable. Neither
// is exported, so both are found by their value on the thread that has started Python.
//
// From 3.14 on a thread state knows where its thread's stack ends. On another stack CPython
// believes that there is no room: it would put off the end of every object, so that finalisers
// would not run. So the state is told about the caller's stack.

#define _GNU_SOURCE
#include "state.h"
#include "base/error.h"
#include "ns/ns.h"
#include "ns/tls.h"
#include "process/threads/tsd.h"

// libpython's thread-local variables as words, on the calling thread. NULL: it has none, or
// the system's linker has loaded it.
static void **own_variables(const struct gorgon_interp *interp, size_t *count)
{
	const struct gorgon_object *libpython = interp->libpython;
	struct gorgon_tls_index index = {libpython->tls_module, 0};

	*count = libpython->tls_module ? libpython->image->tls.mem_size / sizeof(void *) : 0;
	return *count ? gorgon_tls_get_addr(&index) : NULL;
}

void gorgon_state_remember(struct gorgon_interp *interp, void *state)
{
	struct gorgon_first_state *first = &interp->first_state;
	void **variables;
	size_t count;

	first->state = state;
	if (gorgon_tsd_find(interp->ns, state, &first->key)) {
		first->place = GORGON_STATE_IN_KEY;
		return;
	}
	variables = own_variables(interp, &count);
	for (size_t i = 0; i < count; i++) {
		if (variables[i] != state)
			continue;
		first->place = GORGON_STATE_IN_VARIABLE;
		first->index = i;
		return;
	}
}

void gorgon_state_tell_stack(const struct gorgon_interp *interp, void *state)
{
	int (*tell)(void *, void *, size_t) =
		(int (*)(void *, void *, size_t))gorgon_interp_find_api(
			interp, "PyUnstable_ThreadState_SetStackProtection");
	void *(*attached)(void) =
		(void *(*)(void))gorgon_interp_find_api(interp, "PyThreadState_Get");
	pthread_attr_t attr;
	void *start;
	size_t size;

	if (!tell || pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &start, &size) &&
	    tell(state ? state : attached(), start, size))
		interp->api->PyErr_Clear();
	pthread_attr_destroy(&attr);
}

struct gorgon_error *gorgon_state_attach(struct gorgon_interp *interp)
{
	const struct gorgon_first_state *first = &interp->first_state;
	size_t count;

	switch (first->place) {
	case GORGON_STATE_IN_KEY:
		if (gorgon_tsd_set(first->key, first->state))
			return &gorgon_error_nomem;
		break;
	case GORGON_STATE_IN_VARIABLE:
		own_variables(interp, &count)[first->index] = first->state;
		break;
	default:
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"interpreter %u: CPython 3.%u ends only on the thread that has "
			"started it",
			interp->number, interp->python.minor);
	}
	interp->api->PyEval_RestoreThread(first->state);
	gorgon_state_tell_stack(interp, first->state);
	return NULL;
}
