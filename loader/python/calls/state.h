/* SPDX-License-Identifier: MIT */
/* The thread state that Python was started with. See state.c. */
#ifndef GORGON_PYTHON_STATE_H
#define GORGON_PYTHON_STATE_H

#include "python/api.h"
#include "interp.h"

/* From this CPython 3.N on, Py_FinalizeEx() needs the thread state that Python was started with. */
#define GORGON_STATE_MINOR 13

/* Right after PyEval_SaveThread() has returned @state to the thread that has started Python. */
void gorgon_state_remember(struct gorgon_interp *interp, void *state);

/* Take the GIL with that thread state, on another thread, for Py_FinalizeEx(). */
struct gorgon_error *gorgon_state_attach(struct gorgon_interp *interp);

/* Tell @state, a thread state that is attached, that the calling thread's stack is what it has room
 * on. NULL: the state that is attached to this thread. */
void gorgon_state_tell_stack(const struct gorgon_interp *interp, void *state);

#endif
