// SPDX-License-Identifier: MIT
// The frames of a thread of CPython, and their records: where a debugger waits for a frame to go
// on, and what it is told of the frame's variables.

#define _GNU_SOURCE
#include "state.h"

#include <stdlib.h>

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

bool gorgon_lines_is_shim(const struct gorgon_lines *lines, uint64_t frame)
{
	const uint64_t function = gorgon_lines_word(frame + lines->layout.frame_globals - 8);

	return (function & ~(uint64_t)GORGON_LINES_TAG) == lines->layout.none;
}

static uint64_t skip_own(const struct gorgon_lines *lines, uint64_t frame)
{
	while (frame && (is_own(lines, frame) || gorgon_lines_is_shim(lines, frame)))
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

static struct gorgon_lines_record *next_record(const struct gorgon_lines_record *record)
{
	return (struct gorgon_lines_record *)(uintptr_t)record->next;
}

static bool is_needed(const struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	return record->values || gorgon_lines_waiting_at(record->waiting) ||
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

struct gorgon_lines_record *gorgon_lines_record_of(const struct gorgon_lines *lines, uint64_t frame)
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

	return frame ? gorgon_lines_record_of(lines, frame) : NULL;
}

struct gorgon_lines_record *gorgon_lines_known_record(const struct gorgon_lines *lines,
						      uint64_t frame)
{
	while (frame && !gorgon_lines_function_of(lines, frame))
		frame = gorgon_lines_previous_frame(lines, frame);
	return frame ? gorgon_lines_record_of(lines, frame) : NULL;
}

struct gorgon_lines_record *gorgon_lines_older_record(const struct gorgon_lines *lines,
						      const struct gorgon_lines_record *record)
{
	return gorgon_lines_known_record(lines, gorgon_lines_previous_frame(lines, record->frame));
}

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
