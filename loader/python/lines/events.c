// SPDX-License-Identifier: MIT
// Events of the functions that have breakpoints: who has them, and how CPython tells of their
// lines.
//
// CPython 3.11 tells of them as lines/tracing.c says. From 3.12 on there are events of single code
// objects (sys.monitoring), and of single lines in them, so what has no breakpoint costs nothing.
// While a debugger waits for a frame to go on, there are events of all functions that begin and
// end.
//
// A debugger changes bytes of stubs and tells nobody. While there is one, each function that C code
// calls compares its own stubs with what they were, which is not too late. Whoever leaves a stub
// compares all of them, and a thread that watches (lines.c) does; other functions wait for that
// (lines/alarms.c).

#define _GNU_SOURCE
#include "tracing.h"

#include <string.h>

enum { CALL = 0, EXCEPTION = 1, LINE = 2, RETURN = 3 }; // what of Py_tracefunc

// Debuggers have a breakpoint on it whenever the process runs: <jitreg.h>.
extern void __jit_debug_register_code(void);

static uint64_t newest_generation;

// --- breakpoints
// -----------------------------------------------------------------------------------------

static bool has_raised_changed(const struct gorgon_lines *lines)
{
	return lines->raising != gorgon_lines_wants_exceptions(lines);
}

bool gorgon_lines_changed(const struct gorgon_lines *lines)
{
	if (gorgon_lines_has_lost_count(lines) || has_raised_changed(lines) ||
	    lines->awaits_any != gorgon_lines_awaits_any(lines))
		return true;
	for (const struct gorgon_lines_file *file =
		     __atomic_load_n(&lines->files, __ATOMIC_ACQUIRE);
	     file; file = file->next)
		if (memcmp(file->text, file->seen, file->text_size))
			return true;
	return false;
}

void gorgon_lines_notice(struct gorgon_lines *lines)
{
	__atomic_store_n(&lines->stale, true, __ATOMIC_RELEASE);
	__atomic_store_n(&lines->links->active, 1, __ATOMIC_RELEASE);
	gorgon_lines_call_for_each(lines, true);
}

// --- updates
// ---------------------------------------------------------------------------------------------

// Of a function with some lines, in less time than memcmp().
static bool has_changed(const struct gorgon_lines_function *function)
{
	const uint64_t *text = (const uint64_t *)(const void *)function->text;
	const uint64_t *seen = (const uint64_t *)(const void *)function->seen;
	uint64_t different = 0;
	enum {
		WORDS = GORGON_LINES_STUB_SIZE / sizeof(*text)
	};

	_Static_assert(GORGON_LINES_ENTRY_SIZE == WORDS * sizeof(*text), "as a stub");
	for (size_t i = 0; i <= function->line_count; i++, text += WORDS, seen += WORDS)
#pragma GCC unroll 4
		for (size_t k = 0; k < WORDS; k++)
			different |= text[k] ^ seen[k];
	return different;
}

static void update_function(struct gorgon_lines *lines, const struct gorgon_lines_file *file,
			    struct gorgon_lines_function *function)
{
	if (!has_changed(function))
		return;
	memcpy(function->seen, function->text, gorgon_lines_text_size(function));
	function->wanted = memcmp(function->seen, file->pristine + (function->text - file->text),
				  gorgon_lines_text_size(function));
	function->awaited = false;
	for (size_t i = 0; i < function->line_count; i++)
		function->awaited |=
			gorgon_lines_is_hot(function->seen + i * GORGON_LINES_STUB_SIZE,
					    GORGON_LINES_STUB_RESUME);
	if (gorgon_lines_has_monitoring(lines))
		gorgon_lines_monitor(lines, function);
}

void gorgon_lines_renew(struct gorgon_lines *lines, struct gorgon_lines_function *function)
{
	function->quiet = false;
	if (gorgon_lines_has_monitoring(lines) && function->wanted)
		gorgon_lines_monitor(lines, function);
}

void gorgon_lines_update(struct gorgon_lines *lines)
{
	PyObject *type, *value, *traceback;
	bool any, changed = has_raised_changed(lines), awaited = lines->awaited;
	const bool awaits_any = lines->awaits_any;

	// A generator may be about to get an exception.
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	__atomic_store_n(&lines->stale, false, __ATOMIC_RELEASE);
	if (changed) {
		lines->raising = !lines->raising;
		if (gorgon_lines_has_monitoring(lines) && gorgon_lines_begin_monitoring(lines))
			gorgon_lines_monitor_all(lines);
	}
	any = lines->raising;
	lines->awaited = lines->awaits_any = gorgon_lines_awaits_any(lines);
	for (struct gorgon_lines_file *file = lines->files; file; file = file->next) {
		if (memcmp(file->text, file->seen, file->text_size)) {
			changed = true;
			for (size_t i = 0; i < file->function_count; i++)
				update_function(lines, file, &file->functions[i]);
		}
		if (!memcmp(file->seen, file->pristine, file->text_size))
			continue;
		any = true;
		for (size_t i = 0; i < file->function_count; i++)
			lines->awaited |= file->functions[i].awaited;
	}
	if (awaited != lines->awaited && gorgon_lines_has_monitoring(lines) &&
	    gorgon_lines_begin_monitoring(lines))
		gorgon_lines_monitor_all(lines);
	changed |= awaits_any != lines->awaits_any;
	any |= !gorgon_lines_has_monitoring(lines) && lines->awaits_any;
	if (any)
		__atomic_store_n(&lines->was_used, true, __ATOMIC_RELEASE);
	if (!any || !lines->generation)
		__atomic_store_n(&lines->generation,
				 any ? __atomic_add_fetch(&newest_generation, 1, __ATOMIC_RELAXED)
				     : 0,
				 __ATOMIC_RELAXED);
	if (any && changed && !gorgon_lines_has_monitoring(lines))
		gorgon_lines_trace_threads(lines);
	gorgon_lines_count_calls_of_threads(lines);
	// Else other means tell of the functions that need to be looked at.
	__atomic_store_n(&lines->links->active,
			 any && !gorgon_lines_has_monitoring(lines) && !lines->limit,
			 __ATOMIC_RELEASE);
	if (!any || !lines->limit)
		gorgon_lines_call_for_each(lines, any); // else gorgon_lines_set_flag() says so
	lines->api.restore(type, value, traceback);
}

static void update_thread(struct gorgon_lines *lines, const struct gorgon_lines_function *function,
			  bool on)
{
	PyObject *type, *value, *traceback;

	gorgon_lines_update(lines);
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	gorgon_lines_set_flag(lines, lines->api.thread_state(), function, on);
	lines->api.restore(type, value, traceback);
}

void gorgon_lines_update_thread(struct gorgon_lines *lines)
{
	update_thread(lines, gorgon_lines_function_at(lines, gorgon_lines_current(lines)), false);
}

// --- what CPython calls
// ----------------------------------------------------------------------------------

// False: the thread runs on another stack.
static bool is_of_frame(const struct gorgon_lines *lines, const struct gorgon_lines_record *record,
			PyFrameObject *frame)
{
	return record &&
	       record->frame == gorgon_lines_word((uintptr_t)frame + lines->layout.object_frame);
}

static void on_exception(struct gorgon_lines *lines, PyObject *type, PyObject *traceback,
			 bool unwinds)
{
	struct gorgon_lines_record *record = gorgon_lines_current(lines);

	if (is_of_frame(lines, record, lines->api.frame()) &&
	    (unwinds ? gorgon_lines_on_unwind : gorgon_lines_on_exception)(lines, record, type,
									 traceback))
		gorgon_lines_update(lines);
}

static bool on_event(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		     const struct gorgon_lines_function *function, int event, int line)
{
	bool stopped = false;

	if (event == PY_START)
		record->waiting = record->entry = 0;
	if ((event == PY_START || event == PY_RESUME) && gorgon_lines_may_enter(lines, record))
		stopped = gorgon_lines_on_entry(lines, record, function);
	if (stopped)
		;
	else if (event == PY_START)
		stopped = gorgon_lines_on_call(lines, record, function, line);
	else if (event == PY_LINE)
		stopped = gorgon_lines_on_line(lines, record, function, line);
	else if (event && event != PY_RESUME)
		stopped = gorgon_lines_on_return(lines, record);
	if (stopped)
		gorgon_lines_update(lines); // the user may have set other breakpoints
	return stopped;
}

// Most lines of a function that has a breakpoint have none, and PyFrame_GetLineNumber() reads a
// table from its beginning. True: on_event() would run no stub.
static bool is_passed(const struct gorgon_lines *lines, struct gorgon_lines_record *record,
		      const struct gorgon_lines_function *function, int what)
{
	uint64_t resume;

	if (record->waiting || lines->awaited)
		return false;
	if (what != LINE)
		return what != CALL || !gorgon_lines_is_hot(function->text, 0);
	resume = gorgon_lines_resume_of(lines, record);
	if (!resume || gorgon_lines_is_hot((const uint8_t *)(uintptr_t)resume -
						   GORGON_LINES_STUB_RESUME,
					   0))
		return false;
	record->entry = 0; // as gorgon_lines_on_line() does
	return true;
}

// CPython 3.11 tells of a generator that goes on as of a function that begins. The instruction that
// both are at has a number that is not 0 then.
static int event_of(const struct gorgon_lines *lines, const struct gorgon_lines_record *record,
		    int what)
{
	uint64_t instruction =
		gorgon_lines_word(record->frame + lines->layout.frame_instruction);

	switch (what) {
	case CALL:
		return ((const uint8_t *)(uintptr_t)instruction)[1] ? PY_RESUME : PY_START;
	case LINE:
		return PY_LINE;
	case RETURN:
		return PY_RETURN;
	default:
		return 0;
	}
}

// A Py_tracefunc. It raises nothing.
static void trace_event(PyFrameObject *frame, int what, PyObject *arg, struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	struct gorgon_lines_record *record;
	struct gorgon_lines_function *function;
	bool stopped = false;

	if (gorgon_lines_is_busy)
		return;
	if (what == EXCEPTION && lines->raising)
		on_exception(lines, api->PyTuple_GetItem(arg, 0), api->PyTuple_GetItem(arg, 2),
			     false);
	if (what == RETURN && !arg && lines->raising)
		on_exception(lines, NULL, NULL, true);
	record = gorgon_lines_current(lines);
	if (!is_of_frame(lines, record, frame))
		return;
	function = gorgon_lines_function_of(lines, record->frame);
	if (function ? !is_passed(lines, record, function, what) : what == RETURN && lines->awaited)
		stopped = on_event(lines, record, function, event_of(lines, record, what),
				   lines->api.line_number(frame));
	if (what == RETURN && !gorgon_lines_is_first(lines, record->frame))
		gorgon_lines_follow_return(lines, record->frame);
	else if (stopped || !function || !function->wanted)
		gorgon_lines_set_trace(lines, lines->api.thread_state(), function);
}

// Whether the thread's list of evaluators in CPython 3.11 is as the layout says.
static bool is_first_in_list(const struct gorgon_lines *lines, uint64_t frame, uint64_t cframe)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t previous = gorgon_lines_word(cframe + layout->cframe_previous);

	return *(const uint8_t *)(uintptr_t)(frame + layout->frame_entry) == 1 && previous &&
	       gorgon_lines_word(previous + layout->cframe_frame) ==
		       gorgon_lines_word(frame + layout->frame_previous);
}

// The code object that is run to check the layout has called us.
static void check_chain(struct gorgon_lines *lines)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	const struct gorgon_lines_record *record = gorgon_lines_newest();
	uint64_t own, frame;

	if (!record || record->state != lines->api.thread_state() ||
	    (layout->state_yields && gorgon_lines_yields(lines) != 1))
		return;
	frame = layout->state_cframe ? gorgon_lines_frame_of_state(lines, record->state)
				     : gorgon_lines_word(record->state + layout->state_frame);
	if (layout->minor == 12)
		frame = gorgon_lines_word(frame);
	if (frame != record->frame)
		return;
	own = layout->state_cframe ? gorgon_lines_word(record->state + layout->state_cframe)
				   : gorgon_lines_word(frame + layout->frame_previous);
	if (own >= (uintptr_t)record || (uintptr_t)record - own > GORGON_LINES_ENTRY_RECORD_MAX)
		return;
	if (layout->state_cframe ? is_first_in_list(lines, frame, own)
				 : *(const uint8_t *)(uintptr_t)(own + layout->frame_owner) ==
					   GORGON_LINES_OWNER_EVALUATOR)
		lines->layout.entry_record = (uint32_t)((uintptr_t)record - own);
}

// What the TRACER calls for CPython 3.11. The object is our own where the code object that is run
// to check the layout has called it.
static PyObject *trace_or_check(PyObject *self, PyFrameObject *frame, int what, PyObject *arg,
				struct gorgon_lines *lines)
{
	PyObject *none = lines->interp->api->_Py_NoneStruct;

	if (!self) {
		trace_event(frame, what, arg, lines);
		return NULL; // 0, as a Py_tracefunc returns it
	}
	if (lines->state == GORGON_LINES_CHECKING)
		check_chain(lines);
	lines->interp->api->Py_IncRef(none);
	return none;
}

// A callback of sys.monitoring, METH_FASTCALL, whose self is the event's number. What it returns
// says whether this event is told of this place again.
static PyObject *monitor_event(PyObject *self, PyObject *const *args, ssize_t count, void *unused,
			       struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *ret = api->_Py_NoneStruct, *traceback;
	struct gorgon_lines_record *record;
	struct gorgon_lines_function *function;
	int overflow, line;
	long long event = api->PyLong_AsLongLongAndOverflow(self, &overflow);
	uint8_t *stub;
	bool needed;

	(void)count;
	(void)unused;
	if (lines->state == GORGON_LINES_CHECKING) {
		check_chain(lines);
		api->Py_IncRef(ret);
		return ret;
	}
	record = gorgon_lines_is_busy ? NULL : gorgon_lines_current(lines);
	if ((event == PY_RAISE || event == PY_UNWIND) && lines->raising && record) {
		traceback = lines->api.traceback_of(args[2]);
		on_exception(lines, (PyObject *)Py_TYPE(args[2]), traceback, event == PY_UNWIND);
		api->Py_DecRef(traceback);
	}
	function = gorgon_lines_is_busy || event == PY_RAISE
			   ? NULL
			   : gorgon_lines_function_at(lines, record);
	if (!function && record && lines->awaited &&
	    (event == PY_RETURN || event == PY_YIELD || event == PY_UNWIND))
		on_event(lines, record, NULL, (int)event, 0);
	if (function && (function->wanted || lines->awaited) &&
	    is_of_frame(lines, record, lines->api.frame())) {
		line = lines->api.line_number(lines->api.frame());
		on_event(lines, record, function, (int)event, line);
		stub = event == PY_START  ? function->text
		       : event == PY_LINE ? gorgon_lines_stub(function, line)
					  : NULL;
		needed = function->awaited || lines->awaited ||
			 (stub && gorgon_lines_is_hot(stub, 0));
		if (!needed && function->wanted && event != PY_UNWIND) {
			function->quiet = true;
			ret = lines->disable;
		}
	}
	api->Py_IncRef(ret);
	return ret;
}

// The evaluator is about to run lines of @function, which may be NULL.
static void follow(struct gorgon_lines *lines, uint64_t state,
		   const struct gorgon_lines_function *function, bool on)
{
	if (gorgon_lines_is_of_other(lines, state))
		return;
	if (__atomic_load_n(&lines->stale, __ATOMIC_ACQUIRE) ||
	    gorgon_lines_needs_count(lines, state) || has_raised_changed(lines))
		update_thread(lines, function, on);
	else
		gorgon_lines_set_flag(lines, state, function, on);
}

// Whether the frame has a function where the layout says.
static bool has_function(const struct gorgon_lines *lines, uint64_t frame)
{
	uint64_t function = gorgon_lines_word(frame + lines->layout.frame_globals - 8) &
			    ~(uint64_t)GORGON_LINES_TAG;

	return Py_TYPE((PyObject *)(uintptr_t)function) == lines->api.function_type;
}

// CPython is about to call a Python function.
static void before_frame(void *ctx, struct gorgon_lines_record *record)
{
	struct gorgon_lines *lines = ctx;
	struct gorgon_lines_function *function;
	uint64_t code;

	if (lines->state == GORGON_LINES_OFF || gorgon_lines_is_of_other(lines, record->state))
		return;
	if (!gorgon_lines_has_monitoring(lines))
		gorgon_lines_note_caller(
			lines, record,
			gorgon_lines_word(record->state + lines->layout.state_cframe));
	if (lines->state != GORGON_LINES_CHECKING) {
		if (gorgon_lines_is_busy)
			return;
		function = gorgon_lines_function_of(lines, record->frame);
		if (function && has_changed(function))
			__atomic_store_n(&lines->stale, true, __ATOMIC_RELEASE);
		follow(lines, record->state, function,
		       function && lines->awaited && !gorgon_lines_has_monitoring(lines) &&
			       gorgon_lines_may_enter_next(lines));
		return;
	}
	code = gorgon_lines_code_of(lines, record->frame);
	if (code == (uintptr_t)lines->checked)
		lines->correct =
			gorgon_lines_word(record->frame + lines->layout.frame_instruction) ==
				code + lines->layout.code_units +
					(uint64_t)lines->layout.first_instruction &&
			gorgon_lines_function_of(lines, record->frame) == &lines->check &&
			gorgon_lines_word(record->frame + lines->layout.frame_globals) ==
				(uintptr_t)lines->checked_globals &&
			has_function(lines, record->frame) &&
			gorgon_lines_word(record->frame + lines->layout.frame_globals + 16) ==
				(uintptr_t)lines->checked_globals;
}

// The same where sys.monitoring tells of events, and the layout was found to be correct: nothing
// happens unless a debugger has set or removed breakpoints.
static void before_monitored_frame(void *ctx, struct gorgon_lines_record *record)
{
	struct gorgon_lines *lines = ctx;
	const struct gorgon_lines_function *function;

	if (lines->state != GORGON_LINES_READY || gorgon_lines_is_busy)
		return;
	function = gorgon_lines_function_of(lines, record->frame);
	if ((function && has_changed(function)) || has_raised_changed(lines) ||
	    __atomic_load_n(&lines->stale, __ATOMIC_ACQUIRE))
		before_frame(lines, record);
}

void gorgon_lines_events_begin(struct gorgon_lines *lines)
{
	if (gorgon_lines_has_monitoring(lines))
		lines->links->before = (uintptr_t)before_monitored_frame;
}

// A thread of @lines calls something. Without @where it is a function, whose frame is the newest.
int gorgon_lines_count(uint64_t state, const char *where, struct gorgon_lines *lines)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	int (*check)(uint64_t, const char *) =
		(int (*)(uint64_t, const char *))(lines->code + GORGON_LINES_DEPTH_COPY);
	const struct gorgon_lines_function *function;
	struct gorgon_lines_record *record;
	uint64_t cframe, frame;
	int ret;

	if (*gorgon_lines_depth_word(state, layout->state_limit) != GORGON_LINES_BELOW_DEPTHS)
		return check(state, where);
	if (lines->state != GORGON_LINES_READY ||
	    GORGON_LINES_BELOW_DEPTHS - *gorgon_lines_depth_word(state, layout->state_remaining) >
		    *lines->limit) {
		gorgon_lines_count_calls(lines, state, false);
		ret = check(state, where);
		gorgon_lines_count_calls(lines, state, lines->state == GORGON_LINES_READY);
		return ret;
	}
	if (*where || gorgon_lines_is_busy)
		return 0;
	cframe = gorgon_lines_word(state + layout->state_cframe);
	frame = gorgon_lines_word(cframe + layout->cframe_frame);
	function = gorgon_lines_function_of(lines, frame);
	// C code has called it. Breakpoints in others are seen by the thread that watches.
	if (*(const uint8_t *)(uintptr_t)(frame + layout->frame_entry) && function &&
	    has_changed(function))
		__atomic_store_n(&lines->stale, true, __ATOMIC_RELEASE);
	// the evaluator's flag is that of the caller
	if (!*(const uint8_t *)(uintptr_t)cframe && !gorgon_lines_has_events(lines, function) &&
	    !__atomic_load_n(&lines->stale, __ATOMIC_ACQUIRE))
		return 0;
	record = gorgon_lines_record_of_evaluator(lines, cframe);
	if (record && record->frame == frame)
		gorgon_lines_note_caller(lines, record,
					 gorgon_lines_word(cframe + layout->cframe_previous));
	gorgon_lines_note_held(lines, cframe, frame);
	follow(lines, state, function,
	       function && lines->awaited &&
		       gorgon_lines_may_enter(lines, gorgon_lines_current(lines)));
	return 0;
}

void gorgon_lines_after_frame(struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	const uint64_t frame = gorgon_lines_has_monitoring(lines)
				       ? gorgon_lines_newest_frame(lines)
				       : gorgon_lines_frame_of_state(lines, record->state);

	follow(lines, record->state, frame ? gorgon_lines_function_of(lines, frame) : NULL, false);
}

void gorgon_lines_events_init(struct gorgon_lines *lines)
{
	*lines->links = (struct gorgon_lines_links){
		.before = (uintptr_t)before_frame,
		.tracer = gorgon_lines_has_monitoring(lines) ? (uintptr_t)monitor_event
							     : (uintptr_t)trace_or_check,
		.ctx = (uintptr_t)lines,
		.watched = (uintptr_t)__jit_debug_register_code};
	lines->callback = (PyMethodDef){
		.ml_name = "gorgon",
		.ml_meth = (PyCFunction)(uintptr_t)(lines->code + GORGON_LINES_TRACER),
		.ml_flags = METH_FASTCALL};
}
