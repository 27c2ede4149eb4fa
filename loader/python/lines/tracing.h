/* SPDX-License-Identifier: MIT */
/* How CPython 3.11 is made to tell of events. See lines/tracing.c. */
#ifndef GORGON_PYTHON_LINES_TRACING_H
#define GORGON_PYTHON_LINES_TRACING_H

#include "state.h"

/* While calls are counted, threads have this limit of recursion. It is below every depth of calls,
 * so CPython asks our code at each call. */
#define GORGON_LINES_BELOW_DEPTHS (-(1 << 29))

/* How large an evaluator's frame on the stack is at most. */
#define GORGON_LINES_ENTRY_RECORD_MAX 16384

/* From CPython 3.12 on. */
static inline bool gorgon_lines_has_monitoring(const struct gorgon_lines *lines)
{
	return !lines->layout.state_cframe;
}

/* A subinterpreter has no lines. Its threads run the same evaluator. */
static inline bool gorgon_lines_is_of_other(const struct gorgon_lines *lines, uint64_t state)
{
	return !gorgon_lines_has_monitoring(lines) &&
	       gorgon_lines_word(state + lines->layout.state_interpreter) !=
		       (uintptr_t)lines->interpreter;
}

static inline int *gorgon_lines_depth_word(uint64_t state, uint8_t offset)
{
	return (int *)(uintptr_t)(state + offset);
}

/* The frame of CPython 3.11 that a thread runs. */
static inline uint64_t gorgon_lines_frame_of_state(const struct gorgon_lines *lines, uint64_t state)
{
	return gorgon_lines_word(gorgon_lines_word(state + lines->layout.state_cframe) +
				 lines->layout.cframe_frame);
}

/* The record of an evaluator of CPython 3.11. NULL: it began before there were Python lines, or
 * another interpreter's did. */
static inline struct gorgon_lines_record *
gorgon_lines_record_of_evaluator(const struct gorgon_lines *lines, uint64_t cframe)
{
	struct gorgon_lines_record *record =
		(struct gorgon_lines_record *)(uintptr_t)(cframe + lines->layout.entry_record);

	return gorgon_lines_word(cframe + lines->layout.cframe_previous) &&
			       gorgon_lines_is_live(lines, record)
		       ? record
		       : NULL;
}

/* sys.setrecursionlimit() has ended the counting of calls. Any thread. */
bool gorgon_lines_has_lost_count(const struct gorgon_lines *lines);

/* CPython is to call our code for each function, and not to let the evaluator call it. */
void gorgon_lines_call_for_each(struct gorgon_lines *lines, bool wanted);

/* Whether CPython must tell of events in frames of @function: a breakpoint is in it, or somebody
 * waits for an exception. @function is NULL for a frame whose lines are not known. */
bool gorgon_lines_has_events(const struct gorgon_lines *lines,
			     const struct gorgon_lines_function *function);

/* Write into an evaluator's record whether frames of it wait that have breakpoints. */
void gorgon_lines_note_held(const struct gorgon_lines *lines, uint64_t cframe, uint64_t frame);

/* The thread's evaluator runs @function from now on, which may be NULL: set the flag that says
 * whether events are told. @on: in any case. */
void gorgon_lines_set_flag(struct gorgon_lines *lines, uint64_t state,
			   const struct gorgon_lines_function *function, bool on);
/* The thread is told of an event in @function: give it the trace function, or take it away. CPython
 * sets the flag itself after the event. */
void gorgon_lines_set_trace(struct gorgon_lines *lines, uint64_t state,
			    const struct gorgon_lines_function *function);
/* Set the flag of each thread of the interpreter. */
void gorgon_lines_trace_threads(struct gorgon_lines *lines);

/* Count the calls of a thread, or of all while a debugger may need it. */
void gorgon_lines_count_calls(struct gorgon_lines *lines, uint64_t state, bool wanted);
void gorgon_lines_count_calls_of_threads(struct gorgon_lines *lines);
/* Whether a debugger needs the calls of this thread to be counted, and nobody counts them yet. */
bool gorgon_lines_needs_count(const struct gorgon_lines *lines, uint64_t state);

/* @frame ends, and its evaluator goes on with the frame that has called it: set the flag for that
 * frame. */
void gorgon_lines_follow_return(struct gorgon_lines *lines, uint64_t frame);

/* CPython 3.11 is about to call a function: write into @record whether a line's call or C code
 * calls it. The evaluator that runs a line's call has fewer bytes of the C stack between @cframe
 * and the record than C code leaves there. */
void gorgon_lines_note_caller(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			      uint64_t cframe);

#endif
