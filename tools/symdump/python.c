// SPDX-License-Identifier: MIT
// Python frames of a thread, read from CPython's own structures in the target.
//
// A C call of the bytecode loop runs the frames from the innermost frame to an entry frame. In 3.11
// the entry frame says so (is_entry); in later versions it is followed by a frame without code,
// whose owner is the interpreter or the C stack. The instruction pointer points to the running
// instruction, or in 3.11 and 3.12 to one of its caches, which has the same line.
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
#define CODES_MAX      100000
#define CODE_BYTES_MAX (256u << 20) // line tables of all code objects
#define TAG_BITS       UINT64_C(7) // of 3.14's references on the stack
#define OWNER_ENTRY    3           // values from this on: a frame without code, from 3.12 on

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
	// A table without entries is NULL.
	const uint8_t *at = table, *end = size ? table + size : table;
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

// What has been read of a code object. When another code object is at its address later, the
// members are read anew, but the earlier strings stay for the frames that point to them.
struct code {
	uint64_t addr, name, filename, line_table;
	uint32_t first_line;
	bool is_code;
	char *function, *file;
	uint8_t *lines;
	size_t size;
};

struct python_codes {
	struct code **list;
	size_t count, bytes;
	struct map latest; // address: index in the list
	struct code none;  // for code objects beyond the limit
};

struct python_codes *python_codes_create(void)
{
	struct python_codes *codes = zalloc(1, sizeof(*codes));

	codes->none.function = format("?");
	codes->none.file = format("?");
	return codes;
}

void python_codes_destroy(struct python_codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < codes->count; i++) {
		free(codes->list[i]->function);
		free(codes->list[i]->file);
		free(codes->list[i]->lines);
		free(codes->list[i]);
	}
	free(codes->list);
	free(codes->none.function);
	free(codes->none.file);
	map_deinit(&codes->latest);
	free(codes);
}

static void read_lines(struct target *target, const struct python_layout *layout,
		       struct python_codes *codes, struct code *code)
{
	uint64_t size = read_word(target, code->line_table + layout->bytes_size);

	if (size > LINE_TABLE_MAX || codes->bytes + size > CODE_BYTES_MAX)
		return;
	code->lines = zalloc(size, 1);
	if (!target_read(target, code->line_table + layout->bytes_data, code->lines, size))
		return;
	code->size = size;
	codes->bytes += size;
}

static const struct code *find_code(struct target *target, const struct python_layout *layout,
				    uint64_t bias, struct python_codes *codes, uint64_t addr)
{
	const struct code key = {
		.addr = addr,
		.name = read_word(target, addr + layout->name),
		.filename = read_word(target, addr + layout->filename),
		.line_table = read_word(target, addr + layout->line_table),
		.first_line = read_int(target, addr + layout->first_line),
	};
	const size_t *known = map_get(&codes->latest, addr, 0);
	struct code *code = known ? codes->list[*known] : NULL;

	if (code && code->name == key.name && code->filename == key.filename &&
	    code->line_table == key.line_table && code->first_line == key.first_line)
		return code;
	if (codes->count == CODES_MAX)
		return &codes->none;
	code = zalloc(1, sizeof(*code));
	*code = key;
	code->is_code =
		!layout->code_type || read_word(target, addr + OB_TYPE) == bias + layout->code_type;
	code->function = read_str(target, layout, key.name);
	code->file = read_str(target, layout, key.filename);
	read_lines(target, layout, codes, code);
	*map_find(&codes->latest, addr, 0) = codes->count;
	codes->list = grow(codes->list, codes->count, sizeof(*codes->list));
	return codes->list[codes->count++] = code;
}

static int read_line(const struct python_layout *layout, const struct code *code, uint64_t instr)
{
	if (instr < code->addr + layout->first_instr)
		return (int)code->first_line; // not started
	return find_line(code->lines, code->size, (int)code->first_line,
			 instr - code->addr - layout->first_instr);
}

// Calls @see for each thread until it returns true; returns that thread.
static struct python_thread each_thread(struct target *target, const struct python_layout *layout,
					uint64_t runtime,
					bool (*see)(const struct python_thread *thread, void *arg),
					void *arg)
{
	uint64_t interp = read_word(target, runtime + layout->interp_head);

	for (int steps = 0; interp && steps < THREAD_MAX; steps++) {
		uint64_t tstate = read_word(target, interp + layout->thread_head);

		for (; tstate && steps < THREAD_MAX; steps++) {
			struct python_thread thread = {
				(pid_t)read_word(target, tstate + layout->thread_id), interp,
				tstate};

			if (see(&thread, arg))
				return thread;
			tstate = read_word(target, tstate + layout->thread_next);
		}
		interp = read_word(target, interp + layout->interp_next);
	}
	return (struct python_thread){0};
}

struct list {
	struct python_thread *threads;
	size_t count;
};

static bool add_thread(const struct python_thread *thread, void *arg)
{
	struct list *list = arg;

	list->threads = grow(list->threads, list->count, sizeof(*list->threads));
	list->threads[list->count++] = *thread;
	return false;
}

size_t python_threads(struct target *target, const struct python_layout *layout, uint64_t bias,
		      struct python_thread **ret)
{
	struct list list = {0};

	if (!layout->why_not)
		each_thread(target, layout, bias + layout->runtime, add_thread, &list);
	*ret = list.threads;
	return list.count;
}

static bool has_tid(const struct python_thread *thread, void *arg)
{
	return thread->tid == *(pid_t *)arg;
}

bool python_find_thread(struct target *target, const struct python_layout *layout, uint64_t bias,
			pid_t tid, struct python_thread *ret)
{
	*ret = (struct python_thread){0};
	if (!layout->why_not)
		*ret = each_thread(target, layout, bias + layout->runtime, has_tid, &tid);
	return ret->addr;
}

static uint64_t find_gil(struct target *target, const struct python_layout *layout, uint64_t bias,
			 const struct python_thread *thread)
{
	return layout->is_3_11 ? bias + layout->runtime + layout->gil
			       : read_word(target, thread->interp + layout->gil);
}

bool python_is_gil(struct target *target, const struct python_layout *layout, uint64_t bias,
		   const struct python_thread *thread, uint64_t addr)
{
	uint64_t gil = find_gil(target, layout, bias, thread);

	return gil && addr >= gil && addr - gil < GIL_SIZE;
}

// Compares threads, not their states: when a thread enters a sub-interpreter that shares the GIL it
// keeps the GIL, with another state.
static bool holds_gil(struct target *target, const struct python_layout *layout, uint64_t bias,
		      const struct python_thread *thread)
{
	uint64_t gil = find_gil(target, layout, bias, thread);
	uint64_t holder = read_word(target, gil + layout->gil_holder);

	return read_int(target, gil + layout->gil_locked) == 1 && holder &&
	       (pid_t)read_word(target, holder + layout->thread_id) == thread->tid;
}

bool python_read(struct target *target, const struct python_layout *layout, uint64_t bias,
		 struct python_codes *codes, const struct python_thread *thread, size_t limit,
		 struct python_stack *ret)
{
	uint64_t frame;
	bool whole = true;

	*ret = (struct python_stack){.holds_gil = holds_gil(target, layout, bias, thread)};
	frame = read_word(target, thread->addr + layout->frame);
	if (layout->has_cframe)
		frame = read_word(target, frame + layout->current_frame);
	for (size_t steps = 0; frame && steps < limit; steps++) {
		uint64_t addr = read_word(target, frame + layout->code) & ~TAG_BITS;
		uint8_t owner;

		if (!target_read(target, frame + layout->owner, &owner, 1))
			return false;
		if (!layout->is_3_11 && owner >= OWNER_ENTRY) {
			if (ret->count)
				ret->frames[ret->count - 1].is_entry = true;
		} else if (addr) {
			const struct code *code = find_code(target, layout, bias, codes, addr);

			whole = whole && code->is_code;
			ret->frames = grow(ret->frames, ret->count, sizeof(*ret->frames));
			ret->frames[ret->count++] = (struct python_frame){
				.function = code->function,
				.file = code->file,
				.line = read_line(layout, code,
						  read_word(target, frame + layout->instr)),
				.is_entry = layout->is_3_11 && owner,
			};
		} else {
			return false;
		}
		frame = read_word(target, frame + layout->previous);
	}
	return whole && !frame;
}

void python_stack_deinit(struct python_stack *stack)
{
	free(stack->frames);
	*stack = (struct python_stack){0};
}
