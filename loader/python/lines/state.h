/* SPDX-License-Identifier: MIT */
/* Python lines of one interpreter: what lines.c, lines/files.c, lines/events.c,
 * lines/monitoring.c, lines/records.c and lines/stops.c share. */
#ifndef GORGON_PYTHON_LINES_STATE_H
#define GORGON_PYTHON_LINES_STATE_H

#include "python/api.h"
#include "code.h"
#include "values.h"
#include "machine.h"

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* What CPython has and the stable ABI's headers do not. */
struct gorgon_lines_api {
	ssize_t (*request_extra)(void (*)(void *));
	int (*set_extra)(PyObject *, ssize_t, void *);
	void *(*interpreter)(void);
	uint64_t (*thread_state)(void); /* its address */
	void (*set_evaluator)(void *, void *);
	void (*set_trace)(void *, PyObject *);
	uint64_t (*first_thread)(void *), (*next_thread)(uint64_t);
	/* From 3.12 on, by any thread of the interpreter: */
	int (*add_call)(void *interpreter, int (*)(void *), void *, int);
	PyFrameObject *(*frame)(void);
	int (*line_number)(PyFrameObject *);
	void (*restore)(PyObject *, PyObject *, PyObject *);
	PyObject *(*traceback_of)(PyObject *);
	PyObject *(*new_function)(PyMethodDef *, PyObject *, PyObject *);
	PyTypeObject *code_type, *function_type;
};

/* Texts about an exception. */
struct gorgon_lines_exception {
	uint64_t frame; /* that it leaves */
	char name[128], where[512];
};

struct gorgon_lines {
	struct gorgon_lines *next; /* of all interpreters; see lines.c */
	struct gorgon_interp *interp;
	enum {
		GORGON_LINES_NEW,
		GORGON_LINES_CHECKING,
		GORGON_LINES_READY,
		GORGON_LINES_OFF
	} state;
	struct gorgon_lines_layout layout;
	struct gorgon_lines_api api;
	struct gorgon_lines_values_api *values_api;
	ssize_t extra_index;
	void *interpreter; /* its PyInterpreterState */
	void *default_evaluator;
	void **evaluator;  /* where that has its evaluator: our code, */
	void *own_evaluator; /* or what was there before; atomic */
	uint8_t *code; /* lines/machine.h's code, and the links */
	/* functions of CPython that begin with a jump to our code, and what was there before */
	struct gorgon_lines_patch {
		uint8_t *at; /* NULL: none */
		uint8_t original[GORGON_LINES_JUMP_SIZE];
	} evaluator_patch, depth_patch;
	/* the interpreter's limit of recursion, where each call can be counted, else NULL; and as
	 * it was when the counting began */
	const int *limit;
	int counted_limit; /* atomic; 0: they are not */
	/* the limit that the state of Python's first thread has, a part of the interpreter's; or
	 * NULL */
	const int *first_limit;
	uint64_t generation; /* of breakpoints; 0: there are none; atomic */
	struct gorgon_lines_links *links;
	struct jitreg_entry *jit;
	struct gorgon_lines_file *files; /* only added to; atomic */
	struct gorgon_lines_file *waiting; /* to be told of when an import ends, */
	size_t waiting_count;
	/* which is done by this frame of importlib's */
	struct gorgon_lines_record *import;
	uint64_t import_frame;
	/* the newest texts that are in no file, and how many files were made of such texts
	 * (lines/strings.c) */
	struct gorgon_lines_string *strings;
	size_t strings_count, strings_size, strings_files;
	bool runs_command; /* the next one is that of `python3 -c` */
	struct gorgon_lines_budget budget;
	PyObject *checked;                  /* the code object that is run to check the layout, */
	PyObject *checked_globals;          /* the dict that is its globals and locals then, */
	struct gorgon_lines_function check; /* and what it has */
	bool correct;
	bool awaited;    /* one waits for a frame to go on, as of the last update, */
	bool awaits_any; /* or for one whose lines are not known */
	bool was_used;   /* a debugger has had a breakpoint or waited; atomic */
	bool started;    /* Python has: what is raised from now on is for debuggers */
	bool raising;    /* debuggers stop at exceptions, as of the last update */
	bool stale;      /* the stubs' breakpoints are others than at the last update; atomic */
	bool complained; /* that it does not stop at lines */
	int tool;        /* number of sys.monitoring's; 0: not asked for, -1: there is none */
	PyObject *monitoring, *disable;
	PyMethodDef callback; /* of sys.monitoring; and what the check calls */
	PyObject *answer; /* the newest text that an expression has come to */
	/* the exception that CPython 3.11 has told a thread's oldest frame of last */
	struct gorgon_lines_exception left;
};

static inline uint64_t gorgon_lines_word(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/* The code object of a frame of CPython. */
static inline uint64_t gorgon_lines_code_of(const struct gorgon_lines *lines, uint64_t frame)
{
	return gorgon_lines_word(frame + lines->layout.frame_code) & ~(uint64_t)GORGON_LINES_TAG;
}

/* A line on stderr. */
static inline void gorgon_lines_complain(const struct gorgon_lines *lines, const char *text)
{
	dprintf(STDERR_FILENO, "gorgon: interpreter %u: %s\n", lines->interp->number, text);
}

/* --- events of Python: lines/events.c; with the GIL, but for changed and notice
 * ------------------- */

/* Prepare the links, but for @after, before Python code runs by them. */
void gorgon_lines_events_init(struct gorgon_lines *lines);

/* Whether the offsets in CPython's thread states are right. */
bool gorgon_lines_events_check(struct gorgon_lines *lines);

/* The layout is right: from now on @before may do without what needs no look. */
void gorgon_lines_events_begin(struct gorgon_lines *lines);

/* In place of CPython 3.11's function of the limit of recursion. */
int gorgon_lines_count(uint64_t state, const char *where, struct gorgon_lines *lines);

/* Whether debuggers have written or removed breakpoints since the last update. Any thread. */
bool gorgon_lines_changed(const struct gorgon_lines *lines);

/* The next Python function that is called makes an update. Any thread. */
void gorgon_lines_notice(struct gorgon_lines *lines);

/* A frame has returned to its caller. Not while a stub is run. */
void gorgon_lines_after_frame(struct gorgon_lines *lines, const struct gorgon_lines_record *record);

/* From now on there are events in functions that have breakpoints, and in no others. */
void gorgon_lines_update(struct gorgon_lines *lines);

/* The same, and for the function that this thread is in. Not while a stub is run. */
void gorgon_lines_update_thread(struct gorgon_lines *lines);

/* @function has a code object of which no events are asked for yet. */
void gorgon_lines_renew(struct gorgon_lines *lines, struct gorgon_lines_function *function);

/* --- sys.monitoring: lines/monitoring.c; with the GIL
 * ------------------------------------------------ */

/* Its numbers of events; those from RAISE on are later ones in CPython 3.14. */
enum {
	PY_START = 1 << 0,
	PY_RESUME = 1 << 1,
	PY_RETURN = 1 << 2,
	PY_YIELD = 1 << 3,
	PY_LINE = 1 << 5,
	PY_RAISE = 1 << 10,
	PY_UNWIND = 1 << 12
};

/* Become one of its tools, unless that has been done. False: there is none to become, which has
 * been said. */
bool gorgon_lines_begin_monitoring(struct gorgon_lines *lines);

/* Have the events of the whole program that are needed now. */
bool gorgon_lines_monitor_all(struct gorgon_lines *lines);

/* Have those of @function. */
void gorgon_lines_monitor(struct gorgon_lines *lines, struct gorgon_lines_function *function);

/* --- files: lines/files.c; with the GIL, but for remove
 * --------------------------------------------- */

/* A module's code is about to be executed, or a function to be made of @code. */
void gorgon_lines_add(struct gorgon_lines *lines, PyObject *code, bool executed);

/* A frame has returned to its caller: tell debuggers of what has waited for it. */
void gorgon_lines_returned(struct gorgon_lines *lines, const struct gorgon_lines_record *record);

/* Python ends: what waits is told to nobody. */
void gorgon_lines_forget(struct gorgon_lines *lines);

/* Python has ended. */
void gorgon_lines_remove(struct gorgon_lines *lines);

/* In a forked child. */
void gorgon_lines_files_in_child(void);

/* --- frames: lines/records.c
 * --------------------------------------------------------------------------- */

/* Whether the thread is in a stub, or reads values. */
extern __thread bool gorgon_lines_is_busy
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Offset from the thread pointer of the address of a thread's newest record, and that record. */
int32_t gorgon_lines_newest_offset(void);
struct gorgon_lines_record *gorgon_lines_newest(void);

/* Whoever runs Python code after an evaluator has returned keeps this for its caller: CPython 3.15
 * asks it then whether the frame has yielded or ended. */
static inline uint32_t gorgon_lines_yields(const struct gorgon_lines *lines)
{
	uint64_t at = lines->layout.state_yields;

	return at ? *(const uint32_t *)(uintptr_t)(lines->api.thread_state() + at) : 0;
}

static inline void gorgon_lines_set_yields(const struct gorgon_lines *lines, uint32_t yields)
{
	uint64_t at = lines->layout.state_yields;

	if (at)
		*(uint32_t *)(uintptr_t)(lines->api.thread_state() + at) = yields;
}

void gorgon_lines_free_records(const struct gorgon_lines *lines);

/* The frame that a thread of CPython runs, or 0; the frame that called another. */
uint64_t gorgon_lines_newest_frame(const struct gorgon_lines *lines);
uint64_t gorgon_lines_previous_frame(const struct gorgon_lines *lines, uint64_t frame);

/* Whether an evaluator began with the frame. C code is the frame's caller then; in CPython 3.11
 * another frame may be, and the evaluator's record says so (GORGON_LINES_DIRECT). */
bool gorgon_lines_is_first(const struct gorgon_lines *lines, uint64_t frame);

static inline bool gorgon_lines_is_direct(const struct gorgon_lines_record *record)
{
	return record->entry & GORGON_LINES_DIRECT;
}

/* Whether CPython itself has put this frame between the frame of an __init__ and the frame of the
 * code that makes the object. */
bool gorgon_lines_is_shim(const struct gorgon_lines *lines, uint64_t frame);

/* The record of a frame; that of it, or of the newest older one whose lines are known; that of the
 * newest such one which is older than @record's. NULL: there is none. */
struct gorgon_lines_record *gorgon_lines_record_of(const struct gorgon_lines *lines,
						   uint64_t frame);
struct gorgon_lines_record *gorgon_lines_known_record(const struct gorgon_lines *lines,
						      uint64_t frame);
struct gorgon_lines_record *gorgon_lines_older_record(const struct gorgon_lines *lines,
						      const struct gorgon_lines_record *record);

/* The place behind the call of a stub that was left, if a debugger waits there, or 0. */
static inline uint64_t gorgon_lines_waiting_at(uint64_t resume)
{
	return resume && gorgon_lines_is_hot(
				 (uint8_t *)(uintptr_t)(resume - GORGON_LINES_STUB_RESUME),
				 GORGON_LINES_STUB_RESUME)
		       ? resume
		       : 0;
}

/* The record of the frame that this thread runs; with the GIL. NULL: there is none. */
struct gorgon_lines_record *gorgon_lines_current(const struct gorgon_lines *lines);

/* Functions that are called for each call of Python while there is a debugger are here. */

/* The function of a code object of CPython, or of a frame; NULL: its lines are not known. */
static inline struct gorgon_lines_function *
gorgon_lines_function_of_code(const struct gorgon_lines *lines, uint64_t code)
{
	uint64_t extra = gorgon_lines_word(code + lines->layout.code_extra);

	if (!extra || gorgon_lines_word(extra) <= (uint64_t)lines->extra_index)
		return NULL;
	return (struct gorgon_lines_function *)(uintptr_t)gorgon_lines_word(extra +
									    lines->layout.extra);
}

static inline struct gorgon_lines_function *
gorgon_lines_function_of(const struct gorgon_lines *lines, uint64_t frame)
{
	return gorgon_lines_function_of_code(lines, gorgon_lines_code_of(lines, frame));
}

/* Whether the function that made the record is in its call of the evaluator, so that the frame
 * lives, and this interpreter's does. A thread that has several stacks (greenlet) may have put
 * other data there. */
static inline bool gorgon_lines_is_live(const struct gorgon_lines *lines,
					const struct gorgon_lines_record *record)
{
	return ((const uint64_t *)record)[GORGON_LINES_CALLED_WORD] ==
	       (uintptr_t)lines->code + GORGON_LINES_CALLED;
}

/* That of a frame's record, which may be NULL. */
static inline struct gorgon_lines_function *
gorgon_lines_function_at(const struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	return record ? gorgon_lines_function_of(lines, record->frame) : NULL;
}

/* Where in the stub of its line the frame of @record goes on; 0: it has no lines. */
uint64_t gorgon_lines_resume_of(const struct gorgon_lines *lines,
				const struct gorgon_lines_record *record);

/* Whether a debugger waits for a frame whose lines are not known. */
static inline bool gorgon_lines_awaits_any(const struct gorgon_lines *lines)
{
	return gorgon_lines_is_hot(lines->code + GORGON_LINES_GENERIC, GORGON_LINES_STUB_RESUME);
}

/* --- stops: lines/stops.c
 * --------------------------------------------------------------------------- */

/* Whether a debugger's step may go into @record, a frame that begins: the debugger waits until
 * the newest older frame whose lines are known goes on, and has not gone over a call from there
 * yet. */
bool gorgon_lines_may_enter(const struct gorgon_lines *lines, struct gorgon_lines_record *record);

/* The same of the frame that this thread's newest frame is about to call. */
bool gorgon_lines_may_enter_next(const struct gorgon_lines *lines);

/* The frame @record, of @function, begins: run the stub of a debugger that waits for its caller, so
 * that it steps into the function, or over it. True: it was run. */
bool gorgon_lines_on_entry(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			   const struct gorgon_lines_function *function);

/* The frame @record, of @function, begins, reaches @line, or ends: run its stub if a debugger has a
 * breakpoint there. True: it was run. */
bool gorgon_lines_on_call(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			  const struct gorgon_lines_function *function, int line);
bool gorgon_lines_on_line(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			  const struct gorgon_lines_function *function, int line);
bool gorgon_lines_on_return(struct gorgon_lines *lines, struct gorgon_lines_record *record);

/* An exception is raised by the frame, or leaves it, which need not have lines. @target: where in
 * the code a debugger has a breakpoint for that. */
bool gorgon_lines_on_raise(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			   const uint8_t *target, const char *const *texts);

/* --- exceptions: lines/raised.c; with the GIL
 * ------------------------------------------------------------------ */

/* Whether debuggers stop at exceptions. Any thread may ask, without the GIL, too. */
bool gorgon_lines_wants_exceptions(const struct gorgon_lines *lines);

/* CPython tells of an exception of @type in the frame @record, and of its traceback, which may be
 * NULL or None; the frame ends with it. NULL: the exception is the one that the frame was told of
 * last. True: a stub was run. */
bool gorgon_lines_on_exception(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			       PyObject *type, PyObject *traceback);
bool gorgon_lines_on_unwind(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			    PyObject *type, PyObject *traceback);

/* --- expressions: lines/evaluate.c
 * ------------------------------------------------------------------ */

/* What debuggers call by one of the functions that lines/arch.h has for it, whose end is at @offset
 * from the first: the value of an expression in a frame of this thread, as a text that holds until
 * the interpreter's next answer. */
const char *gorgon_lines_evaluate(const char *text, uint64_t offset, struct gorgon_lines *lines);

/* The variables of @record's frame and of older ones, for debuggers; with the GIL and without a
 * Python error, as the next two. */
void gorgon_lines_make_values(struct gorgon_lines *lines, struct gorgon_lines_record *record);
void gorgon_lines_free_values(struct gorgon_lines *lines, struct gorgon_lines_record *record);

/* What a debugger has written into them is from now on what the frames have. */
void gorgon_lines_take_values(struct gorgon_lines *lines);

#endif
