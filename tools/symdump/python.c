// SPDX-License-Identifier: MIT
// Python frames of a thread, read from CPython's own structures in the target.
//
// A C call of the bytecode loop runs the frames from the innermost frame to an entry frame. In 3.11
// the entry frame says so (is_entry); in later versions it is followed by a frame without code, whose
// owner is the interpreter or the C stack. The instruction pointer points to the running instruction, or
// in 3.11 and 3.12 to one of its caches, which has the same line.
//
// Specification: Objects/locations.md (line table), Objects/frame_layout.md, from 3.14 on
// InternalDocs; Include/cpython/unicodeobject.h.

#define _GNU_SOURCE
#include "python.h"

#include <stdlib.h>
#include <string.h>

#define THREAD_MAX     20000 // of one copy, in all its sub-interpreters
#define TEXT_MAX       300   // characters
#define LINE_TABLE_MAX (1u << 20)
#define TAG_BITS       UINT64_C(7) // of 3.14's references on the stack
#define OWNER_ENTRY    3           // from 3.12 on; and what is more

static uint64_t read_word(struct target *target, uint64_t addr)
{
	uint64_t value;

	return target_read(target, addr, &value, sizeof(value)) ? value : 0;
}

static uint32_t read_int(struct target *target, uint64_t addr)
{
	uint32_t value;

	return target_read(target, addr, &value, sizeof(value)) ? value : 0;
}

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (code >> 18 & 7));
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

// state, from the lowest bit: interned 2, kind 3, compact 1, ascii 1.
static char *read_str(struct target *target, const struct python_layout *layout, uint64_t addr)
{
	uint64_t length = read_word(target, addr + layout->length);
	uint32_t state = read_int(target, addr + layout->state), width = state >> 2 & 7;
	bool compact = state & 1u << 5, ascii = state & 1u << 6;
	char raw[TEXT_MAX * 4], text[TEXT_MAX * 4];
	size_t size = 0;

	if (length > TEXT_MAX)
		length = TEXT_MAX;
	if (!compact || (width != 1 && width != 2 && width != 4) ||
	    !target_read(target, addr + (ascii ? layout->ascii_size : layout->compact_size), raw,
			 length * width))
		return format("?");
	for (size_t i = 0; i < length; i++) {
		uint32_t code = 0;

		memcpy(&code, raw + i * width, width);
		size += put_utf8(text + size, code);
	}
	return clean_text(text, size);
}

// A number in groups of six bits, the lowest first.
static uint32_t read_varint(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 32; shift += 6) {
		uint8_t byte = *(*at)++;

		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

// The line of the instruction at @off, or 0. Entries: first byte 1 kind:4 length-1:3, then
// bytes without the highest bit.
static int find_line(const uint8_t *table, size_t size, int first_line, uint64_t off)
{
	const uint8_t *at = table, *end = table + size;
	int64_t line = first_line;
	uint64_t covered = 0;

	while (at < end) {
		unsigned kind = *at >> 3 & 15;

		covered += 2 * ((*at++ & 7u) + 1);
		if (kind == 13 || kind == 14) {
			uint32_t value = read_varint(&at, end);

			line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
		} else if (kind >= 10 && kind <= 12) {
			line += kind - 10;
		}
		if (off < covered)
			return kind == 15 || line < 0 || line > INT32_MAX ? 0 : (int)line;
		while (at < end && !(*at & 128))
			at++;
	}
	return 0;
}

static int read_line(struct target *target, const struct python_layout *layout, uint64_t code,
		     uint64_t instr)
{
	uint64_t table = read_word(target, code + layout->line_table);
	uint64_t size = read_word(target, table + layout->bytes_size);
	int first = (int)read_int(target, code + layout->first_line), line = 0;
	uint8_t *bytes;

	if (instr < code + layout->first_instr)
		return first; // not started
	if (size > LINE_TABLE_MAX)
		return 0;
	bytes = zalloc(size, 1);
	if (target_read(target, table + layout->bytes_data, bytes, size))
		line = find_line(bytes, size, first, instr - code - layout->first_instr);
	free(bytes);
	return line;
}

struct thread_state {
	uint64_t interp, addr; // 0: there is none
};

// Calls @see for each thread until it returns true; returns that thread's state.
static struct thread_state each_thread(struct target *target, const struct python_layout *layout,
				       uint64_t runtime, bool (*see)(uint64_t tid, void *arg),
				       void *arg)
{
	uint64_t interp = read_word(target, runtime + layout->interp_head);

	for (int steps = 0; interp && steps < THREAD_MAX; steps++) {
		uint64_t tstate = read_word(target, interp + layout->thread_head);

		for (; tstate && steps < THREAD_MAX; steps++) {
			if (see(read_word(target, tstate + layout->thread_id), arg))
				return (struct thread_state){interp, tstate};
			tstate = read_word(target, tstate + layout->thread_next);
		}
		interp = read_word(target, interp + layout->interp_next);
	}
	return (struct thread_state){0};
}

struct tids {
	pid_t *list;
	size_t count;
};

static bool add_tid(uint64_t tid, void *arg)
{
	struct tids *tids = arg;

	tids->list = grow(tids->list, tids->count, sizeof(*tids->list));
	tids->list[tids->count++] = (pid_t)tid;
	return false;
}

size_t python_threads(struct target *target, const struct python_layout *layout, uint64_t bias,
		      pid_t **ret)
{
	struct tids tids = {0};

	if (!layout->why_not)
		each_thread(target, layout, bias + layout->runtime, add_tid, &tids);
	*ret = tids.list;
	return tids.count;
}

static bool is_tid(uint64_t tid, void *arg)
{
	return tid == (uint64_t) * (pid_t *)arg;
}

static bool holds_gil(struct target *target, const struct python_layout *layout, uint64_t runtime,
		      struct thread_state thread)
{
	uint64_t gil = layout->is_3_11 ? runtime + layout->gil
				       : read_word(target, thread.interp + layout->gil);

	return read_int(target, gil + layout->gil_locked) == 1 &&
	       read_word(target, gil + layout->gil_holder) == thread.addr;
}

static void read_frame(struct target *target, const struct python_layout *layout, uint64_t frame,
		       uint64_t code, struct python_frame *ret)
{
	*ret = (struct python_frame){
		.function = read_str(target, layout, read_word(target, code + layout->name)),
		.file = read_str(target, layout, read_word(target, code + layout->filename)),
		.line = read_line(target, layout, code, read_word(target, frame + layout->instr)),
	};
}

bool python_read(struct target *target, const struct python_layout *layout, uint64_t bias,
		 pid_t tid, size_t limit, struct python_stack *ret)
{
	uint64_t runtime = bias + layout->runtime, frame;
	struct thread_state thread = {0};

	*ret = (struct python_stack){0};
	if (!layout->why_not)
		thread = each_thread(target, layout, runtime, is_tid, &tid);
	if (!thread.addr)
		return false;
	ret->holds_gil = holds_gil(target, layout, runtime, thread);
	frame = read_word(target, thread.addr + layout->frame);
	if (layout->has_cframe)
		frame = read_word(target, frame + layout->current_frame);
	for (size_t steps = 0; frame && steps < limit; steps++) {
		uint64_t code = read_word(target, frame + layout->code) & ~TAG_BITS;
		uint8_t owner;

		if (!target_read(target, frame + layout->owner, &owner, 1))
			break;
		if (!layout->is_3_11 && owner >= OWNER_ENTRY) {
			if (ret->count)
				ret->frames[ret->count - 1].is_entry = true;
		} else if (code) {
			ret->frames = grow(ret->frames, ret->count, sizeof(*ret->frames));
			read_frame(target, layout, frame, code, &ret->frames[ret->count]);
			ret->frames[ret->count++].is_entry = layout->is_3_11 && owner;
		} else {
			break;
		}
		frame = read_word(target, frame + layout->previous);
	}
	return true;
}

void python_stack_deinit(struct python_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		free(stack->frames[i].function);
		free(stack->frames[i].file);
	}
	free(stack->frames);
	*stack = (struct python_stack){0};
}
