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

/* Who is in an interpreter, and what becomes of it; see call.c. */
struct gorgon_calls {
	pthread_mutex_t lock; /* a leaf; of all that follows */
	pthread_cond_t ended; /* an entry, or the last sender; for what is STOPPING or closed */
	enum gorgon_interp_state state;
	struct gorgon_call *newest; /* the interpreter's entries */
	bool interrupt_next;	    /* the next entry begins interrupted */
	unsigned senders;	    /* who send a signal to the main thread's entries just now */
	uint64_t main_thread;	    /* serial of the one that has started Python; 0: none */
	pid_t pid;		    /* process that has started it */
	uint64_t count, cpu_ns;	    /* of entries that have ended; atomic */
};

/* What it holds of memory that is shared; see shared_refs.c. */
struct gorgon_shared_refs {
	pthread_mutex_t lock; /* a leaf */
	struct gorgon_link blocks; /* of struct gorgon_block, allocated by numpy */
	struct gorgon_link arrays; /* of struct gorgon_received */
};

/* An array that a Python object holds. */
struct gorgon_received {
	struct gorgon_link link;
	struct gorgon_array *array;
};

struct data_handler;

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
	struct data_handler *data_handlers; /* numpy's, once they were used, owned here; see data_handler.c */
	struct gorgon_shared_refs shared_refs;
	char **argv; /* what Python was started with; kept because it may point there */
	struct gorgon_api *api; /* its C API while it is STARTED; see api.h */
	struct gorgon_calls calls;
	struct gorgon_first_state {
		void *state; /* its PyThreadState */
		enum { GORGON_STATE_NOWHERE, GORGON_STATE_IN_KEY, GORGON_STATE_IN_VARIABLE } place;
		unsigned key;
		size_t index; /* among libpython's thread-local words */
	} first_state; /* from CPython 3.13 on; see state.c */

	/* of struct gorgon_start_opts */
	bool (*progress)(void *ctx, const struct gorgon_value *value);
	void *progress_ctx;

	enum gorgon_end end;
	enum gorgon_files files; /* as its creator has asked; AUTO is not SHARED for a reason */
	bool timing;
	uint64_t start_ns, first_event_ns, end_ns; /* gorgon_now(), 0: not yet; atomic */
};

/* --- call.c: entering and leaving ---------------------------------------------- */

/* A function that runs code of the interpreter. */
typedef struct gorgon_error *gorgon_call_fn(struct gorgon_interp *interp, void *ctx);

void gorgon_calls_init(struct gorgon_calls *calls);
void gorgon_calls_deinit(struct gorgon_calls *calls);
/* What is done around fork(). */
void gorgon_calls_before_fork(struct gorgon_calls *calls);
void gorgon_calls_after_fork(struct gorgon_calls *calls, bool child);

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
/*
 * Shut a started interpreter's door: it is STOPPING. Then wait until nobody is inside, so many
 * milliseconds at most (-1: for ever); after that it is STARTED again, and GORGON_ERROR_BUSY. Nothing
 * is left to finalise where an exit() has @ended it.
 */
struct gorgon_error *gorgon_call_shut(struct gorgon_interp *interp, int timeout_ms, bool *ended);
/* Whether somebody is inside who is not waited for: GORGON_ERROR_BUSY. Else whether it is @started. */
struct gorgon_error *gorgon_call_check_idle(struct gorgon_interp *interp, bool *started);
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
/* Whether this process is a forked child of the one that has started Python. */
bool gorgon_call_is_forked(const struct gorgon_interp *interp);
/* gorgon_interp_interrupt(); @or_next: when nothing runs, what is about to be called. */
struct gorgon_error *gorgon_call_interrupt(struct gorgon_interp *interp, bool or_next);
/* What exit() of private code does. */
void gorgon_call_exit(void *ctx, int status);

/* --- interp.c ------------------------------------------------------------------------ */

/* The interpreter's locks around fork(), as struct gorgon_ns_user has them. */
void gorgon_interp_before_fork(void *interp);
void gorgon_interp_after_fork(void *interp, bool child);

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

void gorgon_shared_refs_init(struct gorgon_shared_refs *refs);
/* Any thread of the interpreter; @head is one of the lists. */
void gorgon_shared_refs_add(struct gorgon_shared_refs *refs, struct gorgon_link *head,
			    struct gorgon_link *link);
void gorgon_shared_refs_remove(struct gorgon_shared_refs *refs, struct gorgon_link *link);
/* The block that it has and that this address is in, held once more, or NULL. Looks at all of them. */
struct gorgon_block *gorgon_shared_refs_find(struct gorgon_shared_refs *refs, const void *data);
/* Let go of what is left; no code of the interpreter runs any more. */
void gorgon_shared_refs_release(struct gorgon_shared_refs *refs);

/* --- stats.c --------------------------------------------------------------------- */

/* Resident bytes of the namespace's objects: written pages, and pages of files. */
struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes);

/* --- data_handler.c ---------------------------------------------------------------- */

/* When nothing of the interpreter runs any more. */
void gorgon_data_handlers_free(struct data_handler *list);

#endif
