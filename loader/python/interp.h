/* SPDX-License-Identifier: MIT */
/* An interpreter, inside the library. See interp.c. */
#ifndef GORGON_PYTHON_INTERP_H
#define GORGON_PYTHON_INTERP_H

#include "gorgon.h"
#include "isolate/isolate.h"
#include "block.h"
#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>

enum gorgon_interp_state {
	GORGON_INTERP_CREATED,
	GORGON_INTERP_RUNNING, /* gorgon_interp_main() */
	GORGON_INTERP_STARTING,
	GORGON_INTERP_STARTED, /* the host may call */
	GORGON_INTERP_STOPPING,
	GORGON_INTERP_ENDED, /* finalised, or its code has called exit() */
};

/* From which state, in which, and into which something is done. */
struct gorgon_transition {
	enum gorgon_interp_state from, during, after, failed;
};

/* Code of an interpreter on a thread of the host; on that thread's stack. See call.c. */
struct gorgon_call {
	struct gorgon_call *next;  /* older, of the interpreter */
	struct gorgon_call *outer; /* older, of the thread */
	struct gorgon_interp *interp;
	pthread_t thread;
	bool on_main_thread;
	bool first;	  /* of the interpreter on its thread */
	bool entered;	  /* signals reach it */
	bool closed;	  /* not to be interrupted any more */
	bool interrupted;
	bool thrown;	  /* by an asynchronous exception */
	jmp_buf exit_env; /* where exit() on this thread goes */
	int exit_status;
};

/* What it holds of memory that is shared; see shared_refs.c. */
struct gorgon_shared_refs {
	struct gorgon_link blocks; /* of struct gorgon_block, allocated by numpy */
	struct gorgon_link arrays; /* of struct gorgon_received */
};

/* An array that a Python object holds. */
struct gorgon_received {
	struct gorgon_link link;
	struct gorgon_array *array;
};

struct gorgon_interp {
	bool own; /* not a copy: the CPython that the process itself runs; see host_python.c */
	void *(*find)(const char *name); /* only then: its C API */
	void *error_type; /* only then: gorgon.Error */
	unsigned number;
	struct gorgon_python python;
	struct gorgon_ns *ns;
	const struct gorgon_isolation *isolation;
	struct gorgon_object *libpython;
	void *module; /* definition of the module `gorgon`, owned here; see module.c */
	void *array_type; /* Python's type of received arrays; see share.c */
	void *array_methods; /* of that type, owned here */
	void *data_handler; /* numpy's, once it was used, owned here; see data_handler.c */
	struct gorgon_shared_refs shared_refs;
	char **argv; /* what Python was started with; kept because it may point there */
	struct gorgon_api *api; /* its C API while it is STARTED; see api.h */

	/* Under the lock of the namespace's heap, as the holdings are. */
	enum gorgon_interp_state state;
	struct gorgon_call *calls; /* newest first */
	bool interrupt_next; /* the next entry begins interrupted */
	unsigned senders; /* who send a signal to the main thread's entries just now */
	pthread_cond_t call_ended; /* or the last sender has; for what is STOPPING or closed */
	uint64_t main_thread; /* serial of the one that has started Python; 0: none */
	struct gorgon_first_state {
		void *state; /* its PyThreadState */
		enum { GORGON_STATE_NOWHERE, GORGON_STATE_IN_KEY, GORGON_STATE_IN_VARIABLE } place;
		unsigned key;
		size_t index; /* among libpython's thread-local words */
	} first_state; /* from CPython 3.13 on; see state.c */

	pid_t pid; /* process that started it */

	/* of struct gorgon_start_opts */
	bool (*progress)(void *ctx, const struct gorgon_value *value);
	void *progress_ctx;

	enum gorgon_files files; /* as its creator has asked; AUTO is not SHARED for a reason */
	bool timing;
	uint64_t call_count, cpu_ns; /* atomic */
	uint64_t start_ns, first_event_ns, end_ns; /* gorgon_now(), 0: not yet; atomic */
};

/* --- call.c: entering and leaving ---------------------------------------------- */

/* A function that runs code of the interpreter. */
typedef struct gorgon_error *gorgon_call_fn(struct gorgon_interp *interp, void *ctx);

/* The error of an interpreter that is in the wrong state. */
struct gorgon_error *gorgon_call_refuse(const struct gorgon_interp *interp,
					enum gorgon_interp_state state);
/*
 * Call @fn as code of the interpreter: with its signals and locale, and an exit() that comes
 * back here. That leaves the interpreter ENDED and is an error, unless the caller wants the
 * status; otherwise it is what @fn returns.
 */
struct gorgon_error *gorgon_call_protect(struct gorgon_interp *interp,
					 const struct gorgon_transition *states,
					 gorgon_call_fn *fn, void *ctx, int *exit_status);
/* Call @fn with the GIL of a started interpreter. */
struct gorgon_error *gorgon_call_python(struct gorgon_interp *interp, gorgon_call_fn *fn,
					void *ctx);
/* No interrupt comes to the running entry of this thread any more, and none of those that were
 * sent to it is left. With the GIL; a Python error must not be set. */
void gorgon_call_close(struct gorgon_interp *interp);
/* The Python error that is set, as an error of ours; the entry is over, as with gorgon_call_close().
 * With the GIL. */
struct gorgon_error *gorgon_call_fail(struct gorgon_interp *interp);
/* Whether the calling thread is in the interpreter. */
bool gorgon_call_is_inside(const struct gorgon_interp *interp);
/* Whether the calling thread is the one that has started Python, not a later one with its pthread_t. */
bool gorgon_call_is_main(const struct gorgon_interp *interp);
/* gorgon_interp_interrupt(); @or_next: when nothing runs, what is about to be called. */
struct gorgon_error *gorgon_call_interrupt(struct gorgon_interp *interp, bool or_next);
/* What exit() of private code does. */
void gorgon_call_exit(void *ctx, int status);

/* --- record.c ------------------------------------------------------------------------ */

/* There are so many more interpreters. With the loader's lock. */
void gorgon_interp_counted(int change);
/* It is now: for the statistics, which any thread reads at any time. */
void gorgon_interp_stamp(uint64_t *time_ns);
/* Tell debuggers which thread is Python's main one; 0 for none. */
void gorgon_interp_show_thread(struct gorgon_interp *interp, uint64_t tid);

/* The interpreter's code begins on the calling thread, which with GORGON_FILES_THREAD gets
 * descriptors of its own before. */
struct gorgon_error *gorgon_interp_take_files(struct gorgon_interp *interp);

/* --- shared_refs.c: what an interpreter holds ---------------------------------------- */

void gorgon_shared_refs_init(struct gorgon_shared_refs *holdings);
/* Any thread of the interpreter; @head is one of its lists. */
void gorgon_shared_refs_add(struct gorgon_interp *interp, struct gorgon_link *head,
			 struct gorgon_link *link);
void gorgon_shared_refs_remove(struct gorgon_interp *interp, struct gorgon_link *link);
/* The block that it has and that this address is in, held once more, or NULL. Looks at all of them. */
struct gorgon_block *gorgon_shared_refs_find(struct gorgon_interp *interp, const void *data);
/* Let go of what is left; no code of the interpreter runs any more. */
void gorgon_shared_refs_release(struct gorgon_shared_refs *holdings);

/* --- stats.c --------------------------------------------------------------------- */

/* Resident bytes of the namespace's objects: written pages, and pages of files. */
struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes);

#endif
