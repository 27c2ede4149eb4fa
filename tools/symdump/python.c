// SPDX-License-Identifier: MIT
// Python frames of a thread, read from CPython's own structures in the target.
//
// Where their members are is asked of libpython's DWARF, not written down here. What the
// members mean is CPython 3.11's: a C call of the bytecode loop runs the frames from
// `current_frame` on, up to the one with `is_entry`. A version without these members, or a
// libpython without DWARF, gets a reason instead of frames.
//
// Specification: Objects/locations.md (line table), Include/cpython/unicodeobject.h.

#define _GNU_SOURCE
#include "symdump.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_MAX     20000 // of one copy, in all its sub-interpreters
#define TEXT_MAX       300   // characters
#define LINE_TABLE_MAX (1u << 20)

enum type { RUNTIME, INTERP, TSTATE, CFRAME, FRAME, CODE, ASCII, COMPACT, BYTES, TYPE_COUNT };

static const char *const type_names[TYPE_COUNT] = {
	[RUNTIME] = "_PyRuntimeState",
	[INTERP] = "_is",
	[TSTATE] = "_ts",
	[CFRAME] = "_PyCFrame",
	[FRAME] = "_PyInterpreterFrame",
	[CODE] = "PyCodeObject",
	[ASCII] = "PyASCIIObject",
	[COMPACT] = "PyCompactUnicodeObject",
	[BYTES] = "PyBytesObject",
};

struct python_layout {
	char *why_not;    // or NULL
	uint64_t runtime; // link-time address of _PyRuntime
	uint64_t interp_head, gil_locked, gil_holder;
	uint64_t interp_next, thread_head;
	uint64_t thread_next, thread_id, cframe;
	uint64_t current_frame;
	uint64_t code, previous, prev_instr, is_entry;
	uint64_t filename, name, line_table, first_line, first_instr;
	uint64_t length, state, ascii_size, compact_size;
	uint64_t bytes_size, bytes_data;
};

static void find_types(Dwarf *dwarf, Dwarf_Die types[TYPE_COUNT], bool found[TYPE_COUNT])
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;
	int missing = TYPE_COUNT;

	while (missing && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &top, NULL)) {
		if (dwarf_child(&top, &die))
			continue;
		do {
			int tag = dwarf_tag(&die);
			const char *name = dwarf_diename(&die);

			if ((tag != DW_TAG_structure_type && tag != DW_TAG_typedef) || !name ||
			    dwarf_hasattr(&die, DW_AT_declaration))
				continue;
			for (int i = 0; i < TYPE_COUNT; i++) {
				Dwarf_Die peeled;

				// A typedef may come before, and without, its structure.
				if (found[i] || strcmp(name, type_names[i]) ||
				    dwarf_peel_type(&die, &peeled) ||
				    dwarf_hasattr(&peeled, DW_AT_declaration))
					continue;
				types[i] = peeled;
				found[i] = true;
				missing--;
			}
		} while (!dwarf_siblingof(&die, &die));
	}
}

// Offset of "a.b.c" in a structure.
static bool find_member(Dwarf_Die type, const char *path, uint64_t *ret)
{
	uint64_t sum = 0;

	for (;;) {
		size_t length = strcspn(path, ".");
		Dwarf_Attribute attr;
		Dwarf_Word off = 0;
		Dwarf_Die member, its_type;
		const char *name;

		if (dwarf_child(&type, &member))
			return false;
		while (!(name = dwarf_diename(&member)) || strncmp(name, path, length) ||
		       name[length])
			if (dwarf_siblingof(&member, &member))
				return false;
		if (dwarf_attr(&member, DW_AT_data_member_location, &attr) &&
		    dwarf_formudata(&attr, &off))
			return false;
		sum += off;
		if (!path[length]) {
			*ret = sum;
			return true;
		}
		path += length + 1;
		if (!dwarf_attr(&member, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &its_type) || dwarf_peel_type(&its_type, &type))
			return false;
	}
}

static char *fill_layout(struct python_layout *layout, struct library *library)
{
	const struct {
		enum type type;
		const char *path;
		uint64_t *off;
	} members[] = {
		{RUNTIME, "interpreters.head", &layout->interp_head},
		{RUNTIME, "ceval.gil.locked", &layout->gil_locked},
		{RUNTIME, "ceval.gil.last_holder", &layout->gil_holder},
		{INTERP, "next", &layout->interp_next},
		{INTERP, "threads.head", &layout->thread_head},
		{TSTATE, "next", &layout->thread_next},
		{TSTATE, "native_thread_id", &layout->thread_id},
		{TSTATE, "cframe", &layout->cframe},
		{CFRAME, "current_frame", &layout->current_frame},
		{FRAME, "f_code", &layout->code},
		{FRAME, "previous", &layout->previous},
		{FRAME, "prev_instr", &layout->prev_instr},
		{FRAME, "is_entry", &layout->is_entry},
		{CODE, "co_filename", &layout->filename},
		{CODE, "co_qualname", &layout->name},
		{CODE, "co_linetable", &layout->line_table},
		{CODE, "co_firstlineno", &layout->first_line},
		{CODE, "co_code_adaptive", &layout->first_instr},
		{ASCII, "length", &layout->length},
		{ASCII, "state", &layout->state},
		{BYTES, "ob_base.ob_size", &layout->bytes_size},
		{BYTES, "ob_sval", &layout->bytes_data},
	};
	const struct symbol *symbols;
	size_t count = library_symbols(library, &symbols);
	Dwarf *dwarf = library_dwarf(library);
	Dwarf_Die types[TYPE_COUNT];
	bool found[TYPE_COUNT] = {false};

	for (size_t i = 0; i < count; i++)
		if (!strcmp(symbols[i].name, "_PyRuntime"))
			layout->runtime = symbols[i].vaddr;
	if (!layout->runtime)
		return format("it has no _PyRuntime");
	if (!dwarf)
		return format("it has no debug information");
	find_types(dwarf, types, found);
	for (int i = 0; i < TYPE_COUNT; i++)
		if (!found[i])
			return format("its debug information has no %s", type_names[i]);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (!find_member(types[members[i].type], members[i].path, members[i].off))
			return format("its %s has no %s; CPython 3.11's has",
				      type_names[members[i].type], members[i].path);
	layout->ascii_size = (uint64_t)dwarf_bytesize(&types[ASCII]);
	layout->compact_size = (uint64_t)dwarf_bytesize(&types[COMPACT]);
	return NULL;
}

struct python_layout *python_layout_create(struct library *library)
{
	struct python_layout *layout = zalloc(1, sizeof(*layout));

	layout->why_not = fill_layout(layout, library);
	return layout;
}

void python_layout_destroy(struct python_layout *layout)
{
	if (layout)
		free(layout->why_not);
	free(layout);
}

const char *python_layout_problem(const struct python_layout *layout)
{
	return layout->why_not;
}

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

// Calls @see for each thread until it returns true; returns that thread's state, or 0.
static uint64_t each_thread(struct target *target, const struct python_layout *layout,
			    uint64_t runtime, bool (*see)(uint64_t tid, void *arg), void *arg)
{
	uint64_t interp = read_word(target, runtime + layout->interp_head);

	for (int steps = 0; interp && steps < THREAD_MAX; steps++) {
		uint64_t tstate = read_word(target, interp + layout->thread_head);

		for (; tstate && steps < THREAD_MAX; steps++) {
			if (see(read_word(target, tstate + layout->thread_id), arg))
				return tstate;
			tstate = read_word(target, tstate + layout->thread_next);
		}
		interp = read_word(target, interp + layout->interp_next);
	}
	return 0;
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

bool python_read(struct target *target, const struct python_layout *layout, uint64_t bias,
		 pid_t tid, size_t limit, struct python_stack *ret)
{
	uint64_t runtime = bias + layout->runtime, tstate, frame;

	*ret = (struct python_stack){0};
	if (layout->why_not || !(tstate = each_thread(target, layout, runtime, is_tid, &tid)))
		return false;
	ret->holds_gil = read_int(target, runtime + layout->gil_locked) == 1 &&
			 read_word(target, runtime + layout->gil_holder) == tstate;
	frame = read_word(target,
			  read_word(target, tstate + layout->cframe) + layout->current_frame);
	while (frame && ret->count < limit) {
		uint64_t code = read_word(target, frame + layout->code);
		uint8_t is_entry = 0;
		struct python_frame *item;

		if (!code || !target_read(target, frame + layout->is_entry, &is_entry, 1))
			break;
		ret->frames = grow(ret->frames, ret->count, sizeof(*ret->frames));
		item = &ret->frames[ret->count++];
		item->function = read_str(target, layout, read_word(target, code + layout->name));
		item->file = read_str(target, layout, read_word(target, code + layout->filename));
		item->line = read_line(target, layout, code,
				       read_word(target, frame + layout->prev_instr));
		item->is_entry = is_entry;
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
