// SPDX-License-Identifier: MIT
// Stops of a debugger at Python lines: running the stubs of lines.

#define _GNU_SOURCE
#include "state.h"

static void run_stub(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		     struct gorgon_lines_run *run)
{
	struct gorgon_lines_record *first = gorgon_lines_function_of(lines, record->frame)
						    ? record
						    : gorgon_lines_older_record(lines, record);
	PyObject *type, *value, *traceback;
	const uint64_t frame = record->frame;

	run->newest = record->frame;
	run->record = (uintptr_t)gorgon_lines_newest();
	run->leave = (uintptr_t)lines->code + GORGON_LINES_LEAVE;
	if (!run->frame)
		run->frame = run->newest;
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	gorgon_lines_is_busy = true;
	gorgon_lines_make_values(lines, first);
	gorgon_lines_run(run);
	gorgon_lines_take_values(lines);
	gorgon_lines_free_values(lines, first);
	gorgon_lines_record_of(lines, frame);
	gorgon_lines_is_busy = false;
	lines->api.restore(type, value, traceback);
}

// The stub that was left by the frame @record goes on at @resume.
static void wait_for(struct gorgon_lines_record *record, uint64_t resume)
{
	record->waiting = gorgon_lines_waiting_at(resume);
	record->entry &= ~(uint64_t)GORGON_LINES_PASSED;
}

static bool may_call(const struct gorgon_lines_record *caller)
{
	return caller && !(caller->entry & GORGON_LINES_PASSED) &&
	       gorgon_lines_waiting_at(caller->waiting);
}

bool gorgon_lines_may_enter(const struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	return may_call(gorgon_lines_older_record(lines, record));
}

bool gorgon_lines_may_enter_next(const struct gorgon_lines *lines)
{
	return may_call(gorgon_lines_known_record(lines, gorgon_lines_newest_frame(lines)));
}

// The debugger's breakpoint is where the caller's frame goes on, whether it is to step into
// functions or over them. It is told that the caller has called the function. If it is to go over
// it, it waits for the caller again, and is not asked again.
bool gorgon_lines_on_entry(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			   const struct gorgon_lines_function *function)
{
	struct gorgon_lines_record *caller = gorgon_lines_older_record(lines, record);
	uint64_t waiting = caller ? gorgon_lines_waiting_at(caller->waiting) : 0;
	struct gorgon_lines_run run = {.target = waiting,
				       .frame = caller ? caller->frame : 0,
				       .jump = (uintptr_t)gorgon_lines_entry(function),
				       .argument = (uintptr_t)function->text,
				       .back = waiting};

	if (!waiting)
		return false;
	run_stub(lines, record, &run);
	caller->waiting = gorgon_lines_waiting_at(waiting);
	caller->entry |= GORGON_LINES_PASSED;
	wait_for(record, run.resume);
	record->entry = GORGON_LINES_ENTERED;
	return true;
}

bool gorgon_lines_on_call(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			  const struct gorgon_lines_function *function, int line)
{
	struct gorgon_lines_run run = {.target = (uintptr_t)function->text};

	// A generator that goes on is at another line.
	if (line != function->lines[0] || !gorgon_lines_is_hot(function->text, 0))
		return false;
	run_stub(lines, record, &run);
	wait_for(record, run.resume);
	record->entry = GORGON_LINES_ENTERED;
	return true;
}

bool gorgon_lines_on_line(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			  const struct gorgon_lines_function *function, int line)
{
	uint8_t *stub = gorgon_lines_stub(function, line);
	struct gorgon_lines_run run = {.target = (uintptr_t)stub, .jump = (uintptr_t)stub};
	uint64_t waiting = gorgon_lines_waiting_at(record->waiting);
	bool entered = record->entry & GORGON_LINES_ENTERED;

	record->waiting = record->entry = 0;
	if (!stub || (entered && stub == function->text && !waiting))
		return false; // it was stopped at as the function's first line
	if (waiting)
		run.target = waiting;
	else if (!gorgon_lines_is_hot(stub, 0))
		return false;
	run_stub(lines, record, &run);
	wait_for(record, run.resume);
	return true;
}

// Where a debugger waits for the caller of the frame, if no C code has called it, or 0.
static uint64_t waiting_in_caller(const struct gorgon_lines *lines, uint64_t frame,
				  struct gorgon_lines_record **caller)
{
	uint64_t previous = gorgon_lines_word(frame + lines->layout.frame_previous);

	if (gorgon_lines_is_first(lines, frame) && !gorgon_lines_is_direct(gorgon_lines_newest()))
		return 0;
	if (gorgon_lines_is_shim(lines, previous))
		previous = gorgon_lines_previous_frame(lines, previous);
	*caller = gorgon_lines_record_of(lines, previous);
	return gorgon_lines_waiting_at(gorgon_lines_resume_of(lines, *caller)
					       ?: (uintptr_t)lines->code +
							  GORGON_LINES_GENERIC_RESUME);
}

static bool on_return_to(struct gorgon_lines *lines, uint64_t frame)
{
	struct gorgon_lines_record *caller;
	struct gorgon_lines_run run = {.target = waiting_in_caller(lines, frame, &caller)};

	if (!run.target)
		return false;
	run.frame = caller->frame;
	run.jump = run.target - GORGON_LINES_STUB_RESUME + GORGON_LINES_STUB_CALL;
	run_stub(lines, caller, &run);
	wait_for(caller, run.resume);
	return true;
}

// A debugger that waits for the frame goes on in the middle of its caller's line. In a recursion
// that may be the same line. gdb compares frames only where it has left the line, so the caller
// goes on outside, and jumps back.
bool gorgon_lines_on_return(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	uint64_t waiting = gorgon_lines_waiting_at(record->waiting), resume;
	const uint64_t frame = record->frame;
	struct gorgon_lines_record *caller;
	struct gorgon_lines_run run;
	bool stopped;

	// In a recursion a frame and its caller go on at the same address, and a debugger has one
	// breakpoint there: "next" waits for the frame, and "finish" waits for the caller.
	if (!waiting || waiting == waiting_in_caller(lines, frame, &caller)) {
		stopped = on_return_to(lines, frame);
		record = gorgon_lines_record_of(lines, frame);
		waiting = gorgon_lines_waiting_at(record->waiting);
		if (!waiting)
			return stopped;
	}
	caller = record;
	do
		caller = gorgon_lines_older_record(lines, caller);
	while (caller && !(resume = gorgon_lines_resume_of(lines, caller)));
	if (!caller)
		return false;
	run = (struct gorgon_lines_run){
		.target = waiting,
		.jump = waiting - GORGON_LINES_STUB_RESUME + GORGON_LINES_STUB_RETURN,
		.argument = caller->frame,
		.back = resume - GORGON_LINES_STUB_RESUME,
	};
	run.back += resume == waiting ? GORGON_LINES_STUB_AGAIN : GORGON_LINES_STUB_CALL;
	run_stub(lines, record, &run);
	record->waiting = 0;
	// The stub that was left is the caller's, unless the debugger waits no more. Or the
	// debugger has waited for the caller all the time, at an address that the frame has, too.
	caller = gorgon_lines_record_of(lines, run.frame);
	if (gorgon_lines_waiting_at(run.resume) || !gorgon_lines_waiting_at(caller->waiting))
		wait_for(caller, run.resume);
	return true;
}

// Debuggers see a function that the frame has called. It returns into the middle of the frame's
// line, where "finish" stops, and "next" waits for what the frame does then.
bool gorgon_lines_on_raise(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			   const uint8_t *target, const char *const *texts)
{
	uint64_t resume = gorgon_lines_resume_of(lines, record)
				  ?: (uintptr_t)lines->code + GORGON_LINES_GENERIC_RESUME;
	struct gorgon_lines_run run = {
		.target = (uintptr_t)target,
		.argument = (uintptr_t)texts,
		.back = resume,
		.jump = resume - GORGON_LINES_STUB_RESUME + GORGON_LINES_STUB_CALL,
	};

	run_stub(lines, record, &run);
	wait_for(record, run.resume);
	return true;
}
