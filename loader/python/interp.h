/* SPDX-License-Identifier: MIT */
/* An interpreter, inside the library. See interp.c. */
#ifndef GORGON_PYTHON_INTERP_H
#define GORGON_PYTHON_INTERP_H

#include "../gorgon.h"

#include <pthread.h>
#include <setjmp.h>

enum gorgon_interp_state {
	GORGON_INTERP_CREATED,
	GORGON_INTERP_RUNNING,
	GORGON_INTERP_ENDED,
};

struct gorgon_interp {
	unsigned number;
	enum gorgon_interp_state state; /* under the loader's lock */
	struct gorgon_python python;
	struct gorgon_ns *ns;
	struct gorgon_object *libpython;
	void *module; /* definition of the module `gorgon`, owned here; see module.c */
	char **argv; /* what Python was started with; kept because it may point there */

	pid_t pid;	       /* process that started the program */
	pthread_t main_thread; /* valid while RUNNING */
	jmp_buf exit_env;      /* where exit() on the main thread goes */
	int exit_status;       /* of exit() on any thread */
	bool exit_called;

	bool timing;
	uint64_t start_ns, first_event_ns, end_ns; /* CLOCK_MONOTONIC, 0: not yet */
};

/* --- module.c: the built-in module `gorgon` ------------------------------------ */

/* Number of thunks that the module needs in its namespace, and how to fill them in. */
enum { GORGON_MODULE_THUNKS = 2 };
struct gorgon_thunk;
void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/* Announce the module to the copy's import system; before Python starts. */
struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp);

/* --- stats.c --------------------------------------------------------------------- */

/* Resident bytes of the namespace's objects: written pages, and pages of files. */
struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes);

#endif
