// SPDX-License-Identifier: MIT
// Where CPython's structures have their members, without debug information.
//
// From 3.13 on _PyRuntime begins with a table of offsets for readers like this one
// (_Py_DebugOffsets). The table's own members moved in 3.14 and 3.15, and are fixed within a
// version. The offsets of 3.11 and 3.12 are written down here; they are equal in all releases of
// these versions, and in debug builds. tests/symdump/test_python_layout.py compares everything with
// the headers that are installed. Not handled: builds without a GIL.
//
// Specification: Include/internal/pycore_runtime.h (3.13), pycore_debug_offsets.h (3.14).

#define _GNU_SOURCE
#include "python.h"

#include <stdlib.h>
#include <string.h>

#define COOKIE     "xdebugpy"
#define WORDS_MAX  128
#define OFFSET_MAX (UINT64_C(1) << 24) // PyInterpreterState has some hundred KiB

// What 3.11 and 3.12 have in common.
#define BOTH \
	.has_cframe = true, .interp_head = 40, .gil_locked = 16, .gil_holder = 8, \
	.thread_next = 8, .frame = 56, .instr = 56, .filename = 112, .name = 128, \
	.line_table = 136, .length = 16, .state = 32, .bytes_size = 16, .bytes_data = 32

static const struct python_layout known[] = {
	{
		BOTH,
		.is_3_11 = true,
		.thread_head = 16,
		.gil = 360,
		.thread_id = 160,
		.current_frame = 8,
		.code = 32,
		.previous = 48,
		.owner = 68,
		.first_line = 72,
		.first_instr = 184,
		.ascii_size = 48,
		.compact_size = 72,
	},
	{
		BOTH,
		.thread_head = 72,
		.gil = 384,
		.thread_id = 144,
		.current_frame = 0,
		.code = 0,
		.previous = 8,
		.owner = 70,
		.first_line = 68,
		.first_instr = 192,
		.ascii_size = 40,
		.compact_size = 56,
	},
};

// Where in the table the offsets are: indexes of words.
struct offset_table {
	uint8_t interp_head, interp_next, thread_head, gil_pointer, gil, gil_locked, gil_holder;
	uint8_t thread_next, frame, thread_id, previous, code, instr, owner;
	uint8_t filename, name, line_table, first_line, first_instr;
	uint8_t bytes_size, bytes_data, state, length, ascii_size;
};

enum {
	COOKIE_WORD,
	VERSION_WORD,
	FREE_THREADED_WORD,
};

static const struct offset_table tables[] = {
	{5,  8,  9,  14, 15, 17, 18, 21, 23, 25, 29, 30,
	 31, 33, 35, 37, 38, 39, 43, 65, 66, 68, 69, 70},
	{5,  8,  9,  15, 16, 18, 19, 24, 26, 28, 32, 33,
	 34, 36, 40, 42, 43, 44, 48, 75, 76, 78, 79, 80},
	{5,  8,  9,  15, 16, 18, 19, 24, 26, 31, 40, 41,
	 42, 44, 48, 50, 51, 52, 56, 87, 88, 90, 91, 92},
};

static char *read_table(struct target *target, const struct offset_table *table, uint64_t runtime,
			unsigned minor, struct python_layout *layout)
{
	uint64_t words[WORDS_MAX], gil;
	const struct {
		uint64_t *offset;
		uint8_t word;
	} members[] = {
		{&layout->interp_head, table->interp_head},
		{&layout->interp_next, table->interp_next},
		{&layout->thread_head, table->thread_head},
		{&layout->gil, table->gil_pointer},
		{&gil, table->gil},
		{&layout->gil_locked, table->gil_locked},
		{&layout->gil_holder, table->gil_holder},
		{&layout->thread_next, table->thread_next},
		{&layout->thread_id, table->thread_id},
		{&layout->frame, table->frame},
		{&layout->previous, table->previous},
		{&layout->code, table->code},
		{&layout->instr, table->instr},
		{&layout->owner, table->owner},
		{&layout->filename, table->filename},
		{&layout->name, table->name},
		{&layout->line_table, table->line_table},
		{&layout->first_line, table->first_line},
		{&layout->first_instr, table->first_instr},
		{&layout->bytes_size, table->bytes_size},
		{&layout->bytes_data, table->bytes_data},
		{&layout->state, table->state},
		{&layout->length, table->length},
		{&layout->ascii_size, table->ascii_size},
	};

	if (!target_read(target, runtime, words, sizeof(words)) ||
	    memcmp(&words[COOKIE_WORD], COOKIE, 8))
		return format("its _PyRuntime does not begin with " COOKIE);
	if (words[VERSION_WORD] >> 16 != (3u << 8 | minor))
		return format("its _PyRuntime says version 0x%lx; 3.%u expected",
			      words[VERSION_WORD], minor);
	if (words[FREE_THREADED_WORD])
		return format("it is a build without a GIL");
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		*members[i].offset = words[members[i].word];
		if (*members[i].offset >= OFFSET_MAX)
			return format("its _PyRuntime has an offset of 0x%lx; less than 0x%lx "
				      "expected",
				      *members[i].offset, OFFSET_MAX);
	}
	// The table describes the GIL's members in an interpreter with a GIL of its own.
	if (gil > layout->gil_locked || gil > layout->gil_holder)
		return format("its _PyRuntime has the GIL at 0x%lx and its members before", gil);
	layout->gil_locked -= gil;
	layout->gil_holder -= gil;
	layout->compact_size = layout->ascii_size + 16; // utf8_length, utf8
	return NULL;
}

static char *python_layout_fill(struct python_layout *layout, struct target *target,
				struct library *library, uint64_t bias, unsigned minor)
{
	const struct symbol *symbols;
	size_t count = library_symbols(library, &symbols);
	uint64_t runtime = 0, code_type = 0;

	for (size_t i = 0; i < count && !(runtime && code_type); i++)
		if (!strcmp(symbols[i].name, "_PyRuntime"))
			runtime = symbols[i].vaddr;
		else if (!strcmp(symbols[i].name, "PyCode_Type"))
			code_type = symbols[i].vaddr;
	if (!runtime)
		return format("it has no _PyRuntime");
	if (minor < 11 || minor > 15)
		return format("it is CPython 3.%u; 3.11 to 3.15 are known", minor);
	if (minor < 13)
		*layout = known[minor - 11];
	layout->runtime = runtime;
	layout->code_type = code_type;
	return minor < 13 ? NULL
			  : read_table(target, &tables[minor - 13], bias + runtime, minor, layout);
}

struct python_layout *python_layout_create(struct target *target, struct library *library,
					   uint64_t bias, unsigned minor)
{
	struct python_layout *layout = zalloc(1, sizeof(*layout));

	layout->why_not = python_layout_fill(layout, target, library, bias, minor);
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
