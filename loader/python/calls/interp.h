/* SPDX-License-Identifier: MIT */
/* An interpreter, inside the library. See interp.c. */
#ifndef GORGON_PYTHON_INTERP_H
#define GORGON_PYTHON_INTERP_H

#include "ns/thread.h"
#include "gorgon.h"
#include "isolate/isolate.h"
#include "python/arrays/block.h"
#include "base/clock.h"
#include "ns/debug_root.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>

/* Bytes of the stack of a thread of ours that runs Python: as a main thread has, for which
 * CPython's recursion limits are made. */
#define GORGON_PYTHON_STACK_SIZE (8u << 20)

enum gorgon_interp_state {
	GORGON_INTERP_CREATED = GORGON_DEBUG_CREATED,
	GORGON_INTERP_RUNNING = GORGON_DEBUG_RUNNING, /* gorgon_interp_main() */
	GORGON_INTERP_STARTING = GORGON_DEBUG_STARTING,
	GORGON_INTERP_STARTED = GORGON_DEBUG_STARTED, /* the host may call */
	GORGON_INTERP_STOPPING = GORGON_DEBUG_STOPPING,
	/* nobody else may ask for the GIL any more */
	GORGON_INTERP_FINALISING = GORGON_DEBUG_FINALISING,
	GORGON_INTERP_ENDED = GORGON_DEBUG_ENDED, /* finalised, or its code has called exit() */
	GORGON_INTERP_ABANDONED = GORGON_DEBUG_ABANDONED, /* see abandon.c */
};

/* The state before a call, during it, after success and after failure. */
struct gorgon_transition {
	enum gorgon_interp_state from, during, after, failed;
};

/* What a call of the host runs; both live as long as the call. Without a function: a file, or the
 * name of a string's code. */
struct gorgon_job_name {
	const char *module, *function; /* either may be NULL */
};

/* An entry: code of an interpreter runs on a thread of the host, on whose stack this is. See
 * call.c. */
struct gorgon_call {
	struct gorgon_call *next;  /* the next older entry into the interpreter */
	struct gorgon_call *outer; /* the next older entry of the thread */
	struct gorgon_interp *interp;
	pthread_t thread;
	uint64_t cpu_ns; /* of the thread when it entered */
	pid_t tid;
	struct gorgon_job_name job;
	bool on_main_thread;
	bool first;	  /* the thread has no older entry into this interpreter */
	bool entered;	  /* signals reach it */
	bool closed;	  /* it cannot be interrupted any more */
	bool interrupted;
	bool thrown;	  /* it was interrupted by an asynchronous exception */
	bool put_off;	  /* an interrupt waits for the end of its text */
	uint64_t text_ns; /* gorgon_now() since when its exception's text is made, or 0 */
	uint64_t text_cpu_ns; /* and the thread's processor time then */
	/* Its own thread alone has these. */
	jmp_buf exit_env; /* where exit() on this thread goes */
	int exit_status;
	bool left; /* its code has come back */
	unsigned goes_on; /* what fails is handed to the entry's code, which goes on */
};

/* The entries into an interpreter, and its state; see call.c. */
struct gorgon_calls {
	pthread_mutex_t lock; /* guards all that follows; see call.c */
	pthread_cond_t ended; /* an entry has ended, or nobody sends a signal any more */
	/* These seven are a struct gorgon_debug_activity; they are read without the lock. */
	enum gorgon_interp_state state;
	unsigned main_entries; /* entries of the main thread that signals reach; atomic */
	uint64_t count, cpu_ns; /* entries that have ended, and their processor time; atomic */
	uint64_t gil_wait_ns; /* how long entries have waited for the GIL; atomic */
	/* gorgon_now() when Python was started, and had ended; 0: not yet; atomic */
	uint64_t start_ns, end_ns;
	struct gorgon_call *newest; /* the interpreter's entries */
	char job[GORGON_DEBUG_TEXT_SIZE]; /* of the newest one, for debuggers and statistics */
	char why[1024];		    /* with ABANDONED; with ENDED why it was stopped, or "" */
	unsigned finishers;	    /* threads of ours that stop it; see stop.c */
	unsigned comers;            /* threads of ours that are about to enter; see remote.c */
	unsigned abandoning;	    /* threads of ours that are about it; see abandon.c */
	bool interrupt_next;	    /* the main thread's next entry begins interrupted */
	/* Python is up and prepared for interrupts of its main thread; see interrupt.c */
	bool interruptible;
	/* threads that are sending a signal to the main thread's entries */
	unsigned senders;
	uint64_t main_thread;	    /* serial of the thread that has started Python; 0: none */
	pid_t pid;		    /* process that has started it */
	/* this process is a forked child, and threads that were in the interpreter are not here */
	bool lost;
	bool unsure; /* with `lost`: one of them may have the GIL */
};

#define GORGON_SAME_DISTANCE(member, shown)                                    \
	_Static_assert(offsetof(struct gorgon_calls, member) -                 \
				       offsetof(struct gorgon_calls, state) == \
			       offsetof(struct gorgon_debug_activity, shown),  \
		       "struct gorgon_debug_activity")
GORGON_SAME_DISTANCE(main_entries, main_calls);
GORGON_SAME_DISTANCE(count, call_count);
GORGON_SAME_DISTANCE(cpu_ns, call_ns);
GORGON_SAME_DISTANCE(gil_wait_ns, gil_wait_ns);
GORGON_SAME_DISTANCE(start_ns, start_ns);
GORGON_SAME_DISTANCE(end_ns, end_ns);
#undef GORGON_SAME_DISTANCE

/* The references of the host to its objects; see held.c. */
struct gorgon_held {
	struct gorgon_link alive, released; /* of struct gorgon_pyobject */
	unsigned users; /* threads that have found the interpreter by a reference */
	bool waiting;	/* some are released; atomic */
	bool call_pending; /* Python will come for them */
	bool closed;	/* the interpreter ends */
};

/* The shared memory that an interpreter holds; see shared_refs.c. */
struct gorgon_shared_refs {
	pthread_mutex_t lock; /* a leaf */
	struct gorgon_link blocks; /* of struct gorgon_block, allocated by numpy */
	struct gorgon_link arrays; /* of struct gorgon_received */
	/* what it is charged for shared memory; see charges.c, with a lock of its own */
	struct gorgon_link charges;
};

/* An array that a Python object holds. */
struct gorgon_received {
	struct gorgon_link link;
	struct gorgon_array *array;
};

/* The limit of its processor time, and who watches it; see cpu_limit.c. */
struct gorgon_cpu_limit {
	/* as the options say; the watcher changes the first one, atomically */
	uint64_t soft_ms, hard_ms;
	uint64_t (*near)(void *ctx, uint64_t used_ms);
	bool reached; /* it has been interrupted; atomic */
	pid_t watcher; /* the process in which @thread watches; 0: none */
	pthread_t thread;
	sem_t end;
	pthread_mutex_t stopping; /* the watcher has it while it stops the interpreter */
};

struct data_handler;
struct _object; /* PyObject */

struct gorgon_interp {
	bool own; /* not a copy: the CPython that the process itself runs; see host_python.c */
	void *(*find)(const char *name); /* with `own`: finds names of its C API */
	void *error_type; /* with `own`: gorgon.Error */
	unsigned number;
	char label[GORGON_DEBUG_TEXT_SIZE]; /* of struct gorgon_interp_opts, or "" */
	char copy_of[GORGON_DEBUG_TEXT_SIZE]; /* the label of its template, or "" */
	struct gorgon_python python;
	struct gorgon_ns *ns;
	const struct gorgon_isolation *isolation;
	struct gorgon_object *libpython;
	void *module; /* definition of the module `gorgon`, owned here; see module.c */
	void *array_type; /* Python's type of received arrays; see share.c */
	void *array_methods; /* of that type, owned here */
	bool in_zone; /* both are in its zone, as its memory is, or was at its start */
	struct gorgon_link functions;       /* of the host, as callables; see function.c */
	/* of numpy, that programs have used, owned here; see data_handler.c */
	struct data_handler *data_handlers;
	struct gorgon_shared_refs shared_refs;
	char **argv; /* what Python was started with; kept because Python may point there */
	struct gorgon_api *api; /* its C API, looked up when it is started; see api.h */
	struct gorgon_lines *lines;     /* see lines.c; owned here, NULL without them */
	struct gorgon_import_locks *import_locks; /* see import_locks.c; owned here */
	struct gorgon_template *template; /* of which it is a copy, until it is started; or NULL */
	struct gorgon_calls calls;
	struct gorgon_held held;
	void (*take_request)(
		struct gorgon_interp
			*interp); /* on the main thread, with the GIL; or NULL. See remote.c */
	void *interrupt_type; /* what PyThreadState_SetAsyncExc() gets, Python's; see interrupt.c */
	void *on_main; /* a function that the main thread is to call, Python's; see interrupt.c */
	struct gorgon_first_state {
		void *state; /* its PyThreadState */
		enum { GORGON_STATE_NOWHERE, GORGON_STATE_IN_KEY, GORGON_STATE_IN_VARIABLE } place;
		unsigned key;
		size_t index; /* among libpython's thread-local words */
	} first_state; /* from CPython 3.13 on; see state.c */

	/* of struct gorgon_start_opts */
	bool (*progress)(void *ctx, const struct gorgon_value *value);
	void *progress_ctx;

	/* of an executor's worker: the host's Python answers what the package asks it from inside.
	 * The answer is the caller's; on false it is none, and whoever asks gets a RuntimeError.
	 * NULL: it is no executor's */
	bool (*ask)(void *ctx, const struct gorgon_value *question, struct gorgon_value *answer);

	/* of struct gorgon_interp_opts */
	uint64_t memory_limit, memory_hard_limit;
	uint64_t (*near_memory_limit)(void *ctx, uint64_t held);
	void *limit_ctx;
	bool limit_waits; /* the limit of memory was passed under a shield; with the GIL */
	struct gorgon_cpu_limit cpu_limit;
	enum gorgon_python_lines python_lines; /* OFF, ON or AUTO; OFF, where it cannot be done */
	bool lacks_lines;                      /* then */
	enum gorgon_end end;
	enum gorgon_files files; /* SHARED also where functions of the host forbid AUTO */
	bool timing;
	/* of one that was abandoned, when they were counted last; under the loader's lock */
	struct gorgon_resident_pages {
		uint64_t bytes;
		uint64_t mapped_bytes; /* that it had then; */
		unsigned thread_count; /* when either changes, pages are counted again */
	} kept_pages;
	uint64_t first_event_ns; /* gorgon_now(), 0: not yet; atomic */
};

struct gorgon_zone_seed;

/* gorgon_interp_create() of one that others are copied from: its memory is in its zone. */
struct gorgon_error *gorgon_interp_create_in_zone(const struct gorgon_interp_opts *opts,
						  const struct gorgon_zone_seed *seed,
						  struct gorgon_interp **ret);

/* --- call.c: entering and leaving ---------------------------------------------- */

/* A function that runs code of the interpreter. */
typedef struct gorgon_error *gorgon_call_fn(struct gorgon_interp *interp, void *ctx);

void gorgon_calls_init(struct gorgon_calls *calls);
void gorgon_calls_deinit(struct gorgon_calls *calls);
/* What is done around fork(). */
void gorgon_calls_before_fork(struct gorgon_calls *calls);
void gorgon_calls_after_fork(struct gorgon_calls *calls, bool child);
/* In a forked child: threads of the interpreter are not here, besides entries of other threads. */
void gorgon_calls_lose(struct gorgon_calls *calls);
/* The error of an interpreter that is in the wrong state, an enum gorgon_interp_state. */
struct gorgon_error *gorgon_call_refusal(const struct gorgon_interp *interp, unsigned state);
/* In a forked child: abandon the interpreter if threads that were in it are not here. CPython would
 * wait for them. */
void gorgon_call_abandon_lost(struct gorgon_interp *interp);

/*
 * Call @fn as code of the interpreter: with its signals and its locale. exit() in that code comes
 * back here and leaves the interpreter ENDED; this is an error, unless the caller wants the
 * @exit_status. Otherwise the result is that of @fn.
 */
struct gorgon_error *gorgon_call_protect(struct gorgon_interp *interp,
					 const struct gorgon_transition *states,
					 gorgon_call_fn *fn, void *ctx, int *exit_status);
/* Call @fn with the GIL of a started interpreter. */
struct gorgon_error *gorgon_call_python(struct gorgon_interp *interp, gorgon_call_fn *fn,
					void *ctx);
/* The same, shown as a job. */
struct gorgon_error *gorgon_call_job(struct gorgon_interp *interp, struct gorgon_job_name name,
				     gorgon_call_fn *fn, void *ctx);
/* Copy what the newest call runs. */
void gorgon_call_get_job(struct gorgon_interp *interp, char ret[GORGON_DEBUG_TEXT_SIZE]);
/* End the time in which the running entry of this thread can be interrupted, and take back
 * interrupts that were sent to it and have not arrived. With the GIL; a Python error must not be
 * set. */
void gorgon_call_close(struct gorgon_interp *interp);
/* Take the Python error that is set as a struct gorgon_error. The newest entry ends with it, and is
 * closed like by gorgon_call_close(), unless its code goes on. With the GIL. */
struct gorgon_error *gorgon_call_fail(struct gorgon_interp *interp);
/* Python code of the interpreter has called the library, which gives it errors as exceptions: begin
 * and end this. An entry of this thread goes on after gorgon_call_fail() then. */
void gorgon_call_begin_inner(const struct gorgon_interp *interp);
void gorgon_call_end_inner(const struct gorgon_interp *interp);
/* Put what a function of Python has returned into @ret; gorgon_call_fail() if it has returned NULL.
 */
struct gorgon_error *gorgon_call_result(struct gorgon_interp *interp, struct _object *object,
					struct _object **ret);
/*
 * Call @fn with the GIL while the interpreter is STOPPING, and give up at @until, a time of
 * gorgon_now(); 0 for never. GORGON_ERROR_BUSY: the GIL was not free, and @fn was not called.
 */
struct gorgon_error *gorgon_call_python_until(struct gorgon_interp *interp, uint64_t until,
					      gorgon_call_fn *fn, void *ctx);
/* A started interpreter is about to be stopped for a reason that calls after its end are told. */
void gorgon_call_explain(struct gorgon_interp *interp, const char *why);
/* The kernel's numbers of the threads that have entries, up to @count. Returns how many were
 * written. */
size_t gorgon_call_list(struct gorgon_interp *interp, pid_t *list, size_t count);
/* Where a thread of an abandoned interpreter goes: out of its entry, if its newest entry is into
 * this interpreter. */
void gorgon_call_park(void *ctx);
/* Leave the newest entry of the calling thread, which waits for the GIL; as struct
 * gorgon_gil_deadline has it. */
void gorgon_call_give_up(void);
/* A thread of ours is about to enter a started interpreter, which is not destroyed before
 * gorgon_call_came(). False: it is not started, another such thread is on its way, or the lock is
 * not free. Safe in handlers of signals. */
bool gorgon_call_come(struct gorgon_interp *interp);
void gorgon_call_came(struct gorgon_interp *interp);
/* Wait until no such thread is on its way. */
void gorgon_call_settle(struct gorgon_interp *interp);
/* Whether the calling thread is in the interpreter. */
bool gorgon_call_is_inside(const struct gorgon_interp *interp);
/* Whether the calling thread is the one that has started Python, not a later one with its
 * pthread_t. */
static inline bool gorgon_call_is_main(const struct gorgon_interp *interp)
{
	uint64_t thread = gorgon_thread_serial();

	return thread && interp->calls.main_thread == thread;
}

/* Whether this process is a forked child of the one that has started Python. */
bool gorgon_call_is_forked(const struct gorgon_interp *interp);
/* What the interpreter is; and processor time of entries, those that have ended and those that run.
 */
unsigned gorgon_call_state(struct gorgon_interp *interp);
uint64_t gorgon_call_cpu_ns(struct gorgon_interp *interp);
/* What exit() of private code does. */
void gorgon_call_exit(void *ctx, int status);

/* --- interrupt_calls.c --------------------------------------------------------------- */

/* Interrupt the entries of an interpreter that is STOPPING; waits for the GIL until @until. */
void gorgon_call_interrupt_until(struct gorgon_interp *interp, uint64_t until);
/* Interrupt the entries of a pool's interpreter. If its worker has not begun the job yet, the job
 * begins interrupted. */
struct gorgon_error *gorgon_call_interrupt_job(struct gorgon_interp *interp);

/* --- interp_fork.c ------------------------------------------------------------------- */

/* From now on fork() takes the locks of interpreters. @host: the host's own Python, whose namespace
 * is on no list; NULL: the interpreter is that of a namespace. With the loader's lock. */
void gorgon_interp_join_fork(struct gorgon_interp *host);

/* --- record.c ------------------------------------------------------------------------ */

/* Add @change to the number of interpreters. With the loader's lock. */
void gorgon_interp_counted(int change);
/* Store the time for the statistics, which any thread reads at any time. */
void gorgon_interp_stamp(uint64_t *time_ns);
/* The interpreter whose private code an address is in, or NULL. */
struct gorgon_interp *gorgon_interp_at(void *addr);
/* Tell debuggers which thread is Python's main one; 0 for none. */
void gorgon_interp_show_thread(struct gorgon_interp *interp, uint64_t tid);

/* A function or variable of the C API that libpython itself exports, or NULL. Takes no lock and no
 * memory. */
void *gorgon_interp_find_api(const struct gorgon_interp *interp, const char *name);
/* What a function of the C API says that takes no arguments; false where CPython has none of that
 * name. */
bool gorgon_interp_says_yes(const struct gorgon_interp *interp, const char *name);
/* Whether Python's end has come so far that only finalisers still run. */
bool gorgon_interp_is_finalizing(const struct gorgon_interp *interp);

/* Its environment is a copy of the process's: what that says about the host's Python is not for
 * this one. Before Python starts. */
void gorgon_interp_hide_home(struct gorgon_interp *interp);

/* Before code of the interpreter runs on the calling thread: with GORGON_FILES_THREAD the thread
 * gets descriptors of its own. */
struct gorgon_error *gorgon_interp_take_files(struct gorgon_interp *interp);

/* --- cpu_limit.c ---------------------------------------------------------------------- */

/* Processor time of all its code so far. Takes the loader's lock. */
uint64_t gorgon_interp_cpu_ns(struct gorgon_interp *interp);

/* --- shared_refs.c: the shared memory that an interpreter holds --------------------- */

void gorgon_shared_refs_init(struct gorgon_shared_refs *refs);
/* Put @link into one of the lists, @head; on any thread of the interpreter. */
void gorgon_shared_refs_add(struct gorgon_shared_refs *refs, struct gorgon_link *head,
			    struct gorgon_link *link);
void gorgon_shared_refs_remove(struct gorgon_shared_refs *refs, struct gorgon_link *link);
/* Find the listed block that an address is in, and hold it once more; NULL: there is none. Looks at
 * all blocks. */
struct gorgon_block *gorgon_shared_refs_find(struct gorgon_shared_refs *refs, const void *data);
/* Release all that is in the lists; no code of the interpreter runs any more. */
void gorgon_shared_refs_release(struct gorgon_shared_refs *refs);

/* --- stats.c --------------------------------------------------------------------- */

/* Resident bytes of a namespace. */
struct gorgon_resident {
	uint64_t private_bytes; /* written pages of its objects */
	uint64_t shared_bytes;	/* pages of their files */
	uint64_t mapped_bytes;	/* of what its code has mapped */
	uint64_t stack_bytes;	/* of threads that its code has started */
};

/* The loader's lock is held. */
struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, struct gorgon_resident *ret);

/* --- data_handler.c ---------------------------------------------------------------- */

/* Free the handlers of an interpreter that has ended. */
void gorgon_data_handlers_free(struct data_handler *list);

#endif
