// SPDX-License-Identifier: MIT
// Stops of a debugger at Python lines: the records of frames, and running the stubs of lines.

#define _GNU_SOURCE
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// How many frames of a stack have values while a debugger stops at a Python line.
#define FRAMES_MAX 32

__thread bool gorgon_lines_is_busy __attribute__((tls_model("initial-exec")));
// Code of ours reads and writes it at a fixed distance from the thread pointer.
static __thread struct gorgon_lines_record *newest __attribute__((tls_model("initial-exec")));

// It is the same in each thread. The compiler must not see that the thread pointer is added and
// subtracted: it would make code that GNU ld does not know.
int32_t gorgon_lines_newest_offset(void)
{
	uintptr_t address = (uintptr_t)&newest;

	__asm__("" : "+r"(address));
	return (int32_t)(address - (uintptr_t)__builtin_thread_pointer());
}

struct gorgon_lines_record *gorgon_lines_newest(void)
{
	return newest;
}

static bool is_own(const struct gorgon_lines *lines, uint64_t frame)
{
	return lines->layout.frame_owner &&
	       *(const uint8_t *)(uintptr_t)(frame + lines->layout.frame_owner) ==
		       GORGON_LINES_OWNER_EVALUATOR;
}

// Whether CPython itself has put this frame between the frame of an __init__ and the frame of the
// code that makes the object.
static bool is_shim(const struct gorgon_lines *lines, uint64_t frame)
{
	const uint64_t function = gorgon_lines_word(frame + lines->layout.frame_globals - 8);

	return (function & ~(uint64_t)GORGON_LINES_TAG) == lines->layout.none;
}

static uint64_t skip_own(const struct gorgon_lines *lines, uint64_t frame)
{
	while (frame && (is_own(lines, frame) || is_shim(lines, frame)))
		frame = gorgon_lines_word(frame + lines->layout.frame_previous);
	return frame;
}

uint64_t gorgon_lines_newest_frame(const struct gorgon_lines *lines)
{
	const struct gorgon_lines_layout *layout = &lines->layout;
	uint64_t state = lines->api.thread_state(), frame;

	if (layout->state_cframe)
		return gorgon_lines_word(gorgon_lines_word(state + layout->state_cframe) +
					 layout->cframe_frame);
	frame = gorgon_lines_word(state + layout->state_frame);
	return skip_own(lines, layout->minor == 12 ? gorgon_lines_word(frame) : frame);
}

bool gorgon_lines_is_first(const struct gorgon_lines *lines, uint64_t frame)
{
	uint64_t previous = gorgon_lines_word(frame + lines->layout.frame_previous);

	return !previous || is_own(lines, previous) ||
	       (lines->layout.frame_entry &&
		*(const uint8_t *)(uintptr_t)(frame + lines->layout.frame_entry));
}

uint64_t gorgon_lines_previous_frame(const struct gorgon_lines *lines, uint64_t frame)
{
	return skip_own(lines, gorgon_lines_word(frame + lines->layout.frame_previous));
}

// The place behind the call of a stub that was left: does a debugger wait there?
static uint64_t waiting_at(uint64_t resume)
{
	return resume && gorgon_lines_is_hot(
				 (uint8_t *)(uintptr_t)(resume - GORGON_LINES_STUB_RESUME),
				 GORGON_LINES_STUB_RESUME)
		       ? resume
		       : 0;
}

static struct gorgon_lines_record *next_record(const struct gorgon_lines_record *record)
{
	return (struct gorgon_lines_record *)(uintptr_t)record->next;
}

static bool is_needed(const struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	return record->values || waiting_at(record->waiting) ||
	       record->frame == gorgon_lines_newest_frame(lines);
}

// Of the records that frames with the same place have: that of @frame, else one that nobody needs,
// or a new one. Should there be no memory, another frame's is lost: a debugger's step may be, too.
static struct gorgon_lines_record *choose_record(const struct gorgon_lines *lines, uint64_t frame)
{
	struct gorgon_lines_record *first =
		&lines->layout.records[frame >> 4 & (GORGON_LINES_RECORDS - 1)];
	struct gorgon_lines_record *ret = NULL, *record = first, *last = first;

	for (; record; last = record, record = next_record(record)) {
		if (record->frame == frame)
			return record;
		if (!ret && !is_needed(lines, record))
			ret = record;
	}
	if (ret || !(ret = calloc(1, sizeof(*ret))))
		return ret ?: first;
	last->next = (uintptr_t)ret;
	return ret;
}

static struct gorgon_lines_record *record_of(const struct gorgon_lines *lines, uint64_t frame)
{
	struct gorgon_lines_record *record = choose_record(lines, frame);
	uint64_t code = gorgon_lines_code_of(lines, frame);

	if (record->frame != frame || record->older != code) {
		free((void *)(uintptr_t)record->values);
		*record = (struct gorgon_lines_record){
			.frame = frame, .older = code, .next = record->next};
	}
	return record;
}

void gorgon_lines_free_records(const struct gorgon_lines *lines)
{
	struct gorgon_lines_record *record, *next;

	for (size_t i = 0; lines->layout.records && i < GORGON_LINES_RECORDS; i++)
		for (record = next_record(&lines->layout.records[i]); record; record = next) {
			next = next_record(record);
			free(record);
		}
	free(lines->layout.records);
}

struct gorgon_lines_record *gorgon_lines_current(const struct gorgon_lines *lines)
{
	uint64_t frame = gorgon_lines_newest_frame(lines);

	return frame ? record_of(lines, frame) : NULL;
}

// Of @frame, or of the newest older one whose lines are known.
static struct gorgon_lines_record *known_record(const struct gorgon_lines *lines, uint64_t frame)
{
	while (frame && !gorgon_lines_function_of(lines, frame))
		frame = gorgon_lines_previous_frame(lines, frame);
	return frame ? record_of(lines, frame) : NULL;
}

static struct gorgon_lines_record *older_record(const struct gorgon_lines *lines,
						const struct gorgon_lines_record *record)
{
	return known_record(lines, gorgon_lines_previous_frame(lines, record->frame));
}

// --- running stubs
// ---------------------------------------------------------------------------------------

uint64_t gorgon_lines_resume_of(const struct gorgon_lines *lines,
				const struct gorgon_lines_record *record)
{
	const struct gorgon_lines_function *function =
		gorgon_lines_function_of(lines, record->frame);
	uint64_t code = gorgon_lines_code_of(lines, record->frame);
	int64_t unit =
		(int64_t)(gorgon_lines_word(record->frame + lines->layout.frame_instruction) -
			  code - lines->layout.code_units) /
		2;

	if (!function || unit < -1 || unit >= function->unit_count)
		return 0;
	return (uintptr_t)function->text + function->units[unit];
}

static void make_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX; i++, record = older_record(lines, record))
		record->values = (uintptr_t)gorgon_lines_values_create(
			lines->interp, lines->values_api,
			gorgon_lines_function_of(lines, record->frame),
			(const uintptr_t *)(uintptr_t)(record->frame + lines->layout.frame_values));
}

static void free_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX; i++, record = older_record(lines, record)) {
		free((void *)(uintptr_t)record->values);
		record->values = 0;
	}
}

static void run_stub(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		     struct gorgon_lines_run *run)
{
	struct gorgon_lines_record *first = gorgon_lines_function_of(lines, record->frame)
						    ? record
						    : older_record(lines, record);
	PyObject *type, *value, *traceback;
	const uint64_t frame = record->frame;

	run->newest = record->frame;
	run->record = (uintptr_t)newest;
	run->leave = (uintptr_t)lines->code + GORGON_LINES_LEAVE;
	if (!run->frame)
		run->frame = run->newest;
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	gorgon_lines_is_busy = true;
	make_values(lines, first);
	gorgon_lines_run(run);
	free_values(lines, first);
	record_of(lines, frame);
	gorgon_lines_is_busy = false;
	lines->api.restore(type, value, traceback);
}

// The stub that was left by the frame @record goes on at @resume.
static void wait_for(struct gorgon_lines_record *record, uint64_t resume)
{
	record->waiting = waiting_at(resume);
	record->entry &= ~(uint64_t)GORGON_LINES_PASSED;
}

static bool may_call(const struct gorgon_lines_record *caller)
{
	return caller && !(caller->entry & GORGON_LINES_PASSED) && waiting_at(caller->waiting);
}

bool gorgon_lines_may_enter(const struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	return may_call(older_record(lines, record));
}

bool gorgon_lines_may_enter_next(const struct gorgon_lines *lines)
{
	return may_call(known_record(lines, gorgon_lines_newest_frame(lines)));
}

// The debugger's breakpoint is where the caller's frame goes on, whether it is to step into
// functions or over them. It is told that the caller has called the function. If it is to go over
// it, it waits for the caller again, and is not asked again.
bool gorgon_lines_on_entry(struct gorgon_lines *lines, struct gorgon_lines_record *record,
			   const struct gorgon_lines_function *function)
{
	struct gorgon_lines_record *caller = older_record(lines, record);
	uint64_t waiting = caller ? waiting_at(caller->waiting) : 0;
	struct gorgon_lines_run run = {.target = waiting,
				       .frame = caller ? caller->frame : 0,
				       .jump = (uintptr_t)gorgon_lines_entry(function),
				       .argument = (uintptr_t)function->text,
				       .back = waiting};

	if (!waiting)
		return false;
	run_stub(lines, record, &run);
	caller->waiting = waiting_at(waiting);
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
	uint64_t waiting = waiting_at(record->waiting);
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

	if (gorgon_lines_is_first(lines, frame) && !gorgon_lines_is_direct(newest))
		return 0;
	if (is_shim(lines, previous))
		previous = gorgon_lines_previous_frame(lines, previous);
	*caller = record_of(lines, previous);
	return waiting_at(gorgon_lines_resume_of(lines, *caller)
				  ?: (uintptr_t)lines->code + GORGON_LINES_GENERIC_RESUME);
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
	uint64_t waiting = waiting_at(record->waiting), resume;
	const uint64_t frame = record->frame;
	struct gorgon_lines_record *caller;
	struct gorgon_lines_run run;
	bool stopped;

	// In a recursion a frame and its caller go on at the same address, and a debugger has one
	// breakpoint there: "next" waits for the frame, and "finish" waits for the caller.
	if (!waiting || waiting == waiting_in_caller(lines, frame, &caller)) {
		stopped = on_return_to(lines, frame);
		record = record_of(lines, frame);
		waiting = waiting_at(record->waiting);
		if (!waiting)
			return stopped;
	}
	caller = record;
	do
		caller = older_record(lines, caller);
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
	caller = record_of(lines, run.frame);
	if (waiting_at(run.resume) || !waiting_at(caller->waiting))
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
