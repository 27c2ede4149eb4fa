// SPDX-License-Identifier: MIT
// CPython 3.11 has one trace function per thread, for all that the thread does, and a flag in the
// frame of C that runs the evaluator, which says whether events are told. This file sets that flag
// while a function that has breakpoints is the one that runs. We are called for each function that
// begins while there is a debugger (gorgon_lines_count), and after an evaluator has returned to
// such a function.

#define _GNU_SOURCE
#include "tracing.h"

// Debuggers have a breakpoint on it whenever the process runs: <jitreg.h>.
extern void __jit_debug_register_code(void);

// Whether CPython is to call our code for each function, and not to let the evaluator call it. A
// program may have an evaluator of its own, for which
// CPython does so.
void gorgon_lines_call_for_each(struct gorgon_lines *lines, bool wanted)
{
	void *ours = lines->code + GORGON_LINES_FRAME;
	void *before = wanted ? lines->own_evaluator : ours;

	if (!gorgon_lines_has_monitoring(lines) &&
	    __atomic_load_n(lines->evaluator, __ATOMIC_RELAXED) == before)
		__atomic_compare_exchange_n(lines->evaluator, &before,
					    wanted ? ours : lines->own_evaluator, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Of ours sys.gettrace() knows nothing.
static bool has_other_trace(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *get = api->PySys_GetObject("gettrace");
	PyObject *trace = get ? api->PyObject_CallFunctionObjArgs(get, NULL) : NULL;

	api->Py_DecRef(trace);
	api->PyErr_Clear();
	return trace && trace != api->_Py_NoneStruct;
}

static void complain_of_trace(struct gorgon_lines *lines)
{
	if (!lines->complained)
		gorgon_lines_complain(lines, "a thread has a trace function (sys.settrace()): "
					     "debuggers do not stop at its Python lines");
	lines->complained = true;
}

bool gorgon_lines_has_events(const struct gorgon_lines *lines,
			     const struct gorgon_lines_function *function)
{
	return lines->raising || (function ? function->wanted : lines->awaits_any);
}

static uint64_t previous_of(const struct gorgon_lines *lines, uint64_t frame)
{
	return gorgon_lines_word(frame + lines->layout.frame_previous);
}

// A frame that has breakpoints may wait for another one of the same evaluator. There are events in
// all of them then: nothing else tells when it goes on. Nor does anything tell that a frame returns
// to the evaluator that has called it itself.
void gorgon_lines_note_held(const struct gorgon_lines *lines, uint64_t cframe, uint64_t frame)
{
	struct gorgon_lines_record *record = gorgon_lines_record_of_evaluator(lines, cframe);
	const struct gorgon_lines_function *caller;

	if (!record || !frame)
		return;
	record->entry &= ~(uint64_t)GORGON_LINES_HELD;
	record->entry |= GORGON_LINES_RETURNS;
	for (; !gorgon_lines_is_first(lines, frame); frame = previous_of(lines, frame))
		if (gorgon_lines_has_events(
			    lines, gorgon_lines_function_of(lines, previous_of(lines, frame)))) {
			record->entry |= GORGON_LINES_HELD;
			return;
		}
	if (gorgon_lines_is_direct(record) && lines->awaited) {
		caller = gorgon_lines_function_of(lines, previous_of(lines, frame));
		if (caller ? caller->awaited : lines->awaits_any)
			record->entry |= GORGON_LINES_HELD;
	}
}

static bool is_held(const struct gorgon_lines *lines, uint64_t cframe)
{
	const struct gorgon_lines_record *record = gorgon_lines_record_of_evaluator(lines, cframe);

	return record && record->entry & GORGON_LINES_HELD;
}

// Are there to be events in a thread's newest evaluator, that of @function? CPython tells of
// exceptions wherever there is a trace function, so that there is none, either, where there are to
// be no events. False: the program has a trace function.
static bool set_trace_of(struct gorgon_lines *lines, uint64_t state,
			 const struct gorgon_lines_function *function, bool *wanted)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	const uint64_t ours = (uintptr_t)lines->code + GORGON_LINES_TRACER;
	uint64_t *trace = (uint64_t *)(uintptr_t)(state + layout->state_trace);

	*wanted |= gorgon_lines_has_events(lines, function) ||
		   is_held(lines, gorgon_lines_word(state + layout->state_cframe));
	if (*trace && *trace != ours) {
		if (*wanted)
			complain_of_trace(lines);
		return false;
	}
	*trace = *wanted ? ours : 0;
	return true;
}

// Those of a profile function are told by the same flag.
static void set_flag_of(struct gorgon_lines *lines, uint64_t state,
			const struct gorgon_lines_function *function, bool wanted)
{
	const struct gorgon_lines_layout *layout = &lines->layout;

	if (set_trace_of(lines, state, function, &wanted) &&
	    !gorgon_lines_word(state + layout->state_profile))
		*(uint8_t *)(uintptr_t)gorgon_lines_word(state + layout->state_cframe) =
			wanted ? UINT8_MAX : 0;
}

static void call_for_each_of(struct gorgon_lines *lines,
			     const struct gorgon_lines_function *function)
{
	if (lines->limit)
		gorgon_lines_call_for_each(lines, gorgon_lines_has_events(lines, function));
}

// That of the thread that calls.
void gorgon_lines_set_flag(struct gorgon_lines *lines, uint64_t state,
			   const struct gorgon_lines_function *function, bool on)
{
	if (gorgon_lines_has_monitoring(lines))
		return;
	set_flag_of(lines, state, function, on);
	call_for_each_of(lines, function);
}

void gorgon_lines_set_trace(struct gorgon_lines *lines, uint64_t state,
			    const struct gorgon_lines_function *function)
{
	bool wanted = false;

	set_trace_of(lines, state, function, &wanted);
	call_for_each_of(lines, function);
}

// Other threads may be in functions that have breakpoints now, and call no Python function there.
// These threads wait for the GIL, or are in C, so that they do not use their flags now.
void gorgon_lines_trace_threads(struct gorgon_lines *lines)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t own = lines->api.thread_state(), frame, cframe;

	for (uint64_t state = lines->api.first_thread(lines->interpreter); state;
	     state = lines->api.next_thread(state)) {
		for (cframe = gorgon_lines_word(state + layout->state_cframe); cframe;
		     cframe = gorgon_lines_word(cframe + layout->cframe_previous))
			gorgon_lines_note_held(lines, cframe,
					       gorgon_lines_word(cframe + layout->cframe_frame));
		if (state == own)
			continue;
		frame = gorgon_lines_frame_of_state(lines, state);
		set_flag_of(lines, state, frame ? gorgon_lines_function_of(lines, frame) : NULL,
			    false);
	}
}

// CPython 3.11 counts how deep a thread's calls are, and calls a function where they are beyond the
// limit that the thread's state has. While there is a debugger, that limit is below all depths,
// and we are called for each call in place of that function, so that the evaluator can call
// functions itself. The evaluator must not do that for a function that has breakpoints: nothing
// would tell that the called function returns. So CPython is to call our code for each function
// while such a function runs.

// Calls are counted while there are breakpoints, and while a debugger may set some.
static bool is_counted(const struct gorgon_lines *lines)
{
	return lines->limit &&
	       (__atomic_load_n(&lines->generation, __ATOMIC_RELAXED) ||
		gorgon_lines_is_breakpoint((const void *)(uintptr_t)__jit_debug_register_code));
}

// sys.setrecursionlimit() ends the counting.
bool gorgon_lines_has_lost_count(const struct gorgon_lines *lines)
{
	const int counted = __atomic_load_n(&lines->counted_limit, __ATOMIC_ACQUIRE);
	const int *first = lines->first_limit;

	if (!lines->limit || !is_counted(lines))
		return lines->limit && counted;
	return counted != __atomic_load_n(lines->limit, __ATOMIC_RELAXED) ||
	       (first && __atomic_load_n(first, __ATOMIC_RELAXED) != GORGON_LINES_BELOW_DEPTHS);
}

void gorgon_lines_count_calls(struct gorgon_lines *lines, uint64_t state, bool wanted)
{
	int *limit = gorgon_lines_depth_word(state, lines->layout.state_limit);
	int *remaining = gorgon_lines_depth_word(state, lines->layout.state_remaining);
	int depth = *limit - *remaining;

	if (wanted == (*limit == GORGON_LINES_BELOW_DEPTHS))
		return;
	*limit = wanted ? GORGON_LINES_BELOW_DEPTHS : *lines->limit;
	*remaining = *limit - depth;
}

void gorgon_lines_count_calls_of_threads(struct gorgon_lines *lines)
{
	const bool wanted = is_counted(lines);
	uint64_t state;

	if (!lines->limit || (!wanted && !lines->counted_limit))
		return;
	for (state = lines->api.first_thread(lines->interpreter); state;
	     state = lines->api.next_thread(state))
		gorgon_lines_count_calls(lines, state, wanted);
	lines->links->counted = wanted ? UINT32_C(1) << 31 : 0;
	__atomic_store_n(&lines->counted_limit, wanted ? *lines->limit : 0, __ATOMIC_RELEASE);
}

bool gorgon_lines_needs_count(const struct gorgon_lines *lines, uint64_t state)
{
	return lines->links->counted &&
	       *gorgon_lines_depth_word(state, lines->layout.state_limit) !=
		       GORGON_LINES_BELOW_DEPTHS;
}

void gorgon_lines_follow_return(struct gorgon_lines *lines, uint64_t frame)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t caller = previous_of(lines, frame), state = lines->api.thread_state();

	gorgon_lines_note_held(lines, gorgon_lines_word(state + layout->state_cframe), caller);
	gorgon_lines_set_trace(lines, state, gorgon_lines_function_of(lines, caller));
}

void gorgon_lines_note_caller(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			      uint64_t cframe)
{
	struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t distance = cframe - (uintptr_t)record;

	record->entry |= GORGON_LINES_RETURNS;
	if (!gorgon_lines_word(cframe + layout->cframe_previous))
		return;
	if (distance == layout->direct_record && lines->state != GORGON_LINES_CHECKING)
		record->entry |= GORGON_LINES_DIRECT;
	else if (lines->state == GORGON_LINES_CHECKING &&
		 distance <= GORGON_LINES_ENTRY_RECORD_MAX &&
		 (!layout->direct_record || distance < layout->direct_record))
		layout->direct_record = (uint32_t)distance;
}

bool gorgon_lines_events_check(struct gorgon_lines *lines)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t state = lines->api.thread_state(), found;
	const PyFrameObject *frame = lines->api.frame();
	uint8_t on;

	if (gorgon_lines_has_monitoring(lines) || has_other_trace(lines))
		return gorgon_lines_has_monitoring(lines);
	lines->api.set_trace((void *)(lines->code + GORGON_LINES_TRACER), NULL);
	found = gorgon_lines_word(state + layout->state_trace);
	on = *(uint8_t *)(uintptr_t)gorgon_lines_word(state + layout->state_cframe);
	lines->api.set_trace(NULL, NULL);
	if (frame && gorgon_lines_frame_of_state(lines, state) !=
			     gorgon_lines_word((uintptr_t)frame + layout->object_frame))
		return false;
	return found == (uintptr_t)lines->code + GORGON_LINES_TRACER && on == UINT8_MAX &&
	       !gorgon_lines_is_of_other(lines, state) &&
	       !gorgon_lines_word(state + layout->state_trace);
}
