/* SPDX-License-Identifier: MIT */
/* An interpreter, inside the library. See interp.c. */
#ifndef GORGON_PYTHON_INTERP_H
#define GORGON_PYTHON_INTERP_H

#include "../gorgon.h"
#include "block.h"

#include <pthread.h>
#include <setjmp.h>

enum gorgon_interp_state {
	GORGON_INTERP_CREATED,
	GORGON_INTERP_RUNNING,
	GORGON_INTERP_ENDED,
};

/* What it holds of memory that is shared; see holdings.c. */
struct gorgon_holdings {
	struct gorgon_link blocks; /* of struct gorgon_block, allocated by numpy */
	struct gorgon_link arrays; /* of struct gorgon_received */
};

/* An array that a Python object holds. */
struct gorgon_received {
	struct gorgon_link link;
	struct gorgon_array *array;
};

struct gorgon_interp {
	unsigned number;
	enum gorgon_interp_state state; /* under the loader's lock */
	struct gorgon_python python;
	struct gorgon_ns *ns;
	struct gorgon_object *libpython;
	void *module; /* definition of the module `gorgon`, owned here; see module.c */
	void *array_type; /* Python's type of received arrays; see share.c */
	void *data_handler; /* numpy's, once it was used, owned here; see data_handler.c */
	struct gorgon_holdings holdings;
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

/* The thunks that the module needs in its namespace, and how to fill them in. */
enum gorgon_module_thunk {
	GORGON_THUNK_INIT,
	GORGON_THUNK_COUNT,
	GORGON_THUNK_SHARE,
	GORGON_THUNK_RECEIVE,
	GORGON_THUNK_WITHDRAW,
	GORGON_THUNK_USE_DATA_HANDLER,
	GORGON_THUNK_ARRAY_DEALLOC,
	GORGON_THUNK_ARRAY_GETBUFFER,
	GORGON_MODULE_THUNKS,
};
struct gorgon_thunk;
void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/* Announce the module to the copy's import system; before Python starts. */
struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp);

/* --- holdings.c: what an interpreter holds ---------------------------------------- */

void gorgon_holdings_init(struct gorgon_holdings *holdings);
/* Any thread of the interpreter; @head is one of its lists. */
void gorgon_holdings_add(struct gorgon_interp *interp, struct gorgon_link *head,
			 struct gorgon_link *link);
void gorgon_holdings_remove(struct gorgon_interp *interp, struct gorgon_link *link);
/* Let go of what is left; no code of the interpreter runs any more. */
void gorgon_holdings_release(struct gorgon_holdings *holdings);

/* --- stats.c --------------------------------------------------------------------- */

/* Resident bytes of the namespace's objects: written pages, and pages of files. */
struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes);

#endif
