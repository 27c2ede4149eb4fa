// SPDX-License-Identifier: MIT
// Python frames of versions that need not be installed: the memory of a thread is made here
// as CPython has it. f() was called by C, which <module> called.

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tools/symdump/python.h"
#include "symfile.h"

#define RUNTIME UINT64_C(0x10000) // _PyRuntime, and everything else behind it
#define BIAS    UINT64_C(0x4000)
#define TID     4711

struct text {
	uint64_t header[2], length, hash, state;
	char ascii[16];
};

struct bytes {
	uint64_t header[2], size, hash;
	uint8_t data[16];
};

struct code {
	uint64_t filename, name, line_table;
	uint32_t first_line, unused;
	uint8_t instructions[16];
};

struct frame {
	uint64_t code, previous, instr;
	uint8_t owner, unused[7];
};

struct memory {
	uint64_t offsets[128]; // _Py_DebugOffsets
	uint64_t interp_head;
	struct {
		uint64_t next, thread_head, gil, unused[2];
	} interp;
	struct {
		uint64_t locked, holder;
	} gil;
	struct {
		uint64_t next, frame, tid;
	} thread, other;
	struct frame f, entry, module, base;
	struct code f_code, module_code;
	struct text file, f_name, module_name;
	struct bytes lines;
};

#define ADDR(member) (RUNTIME + offsetof(struct memory, member))

static void fill_text(struct text *text, const char *ascii)
{
	*text = (struct text){.length = strlen(ascii), .state = 1 << 2 | 1 << 5 | 1 << 6};
	memcpy(text->ascii, ascii, text->length);
}

static void fill_code(struct code *code, uint64_t name, uint32_t first_line)
{
	*code = (struct code){
		.filename = ADDR(file),
		.name = name,
		.line_table = ADDR(lines),
		.first_line = first_line,
	};
}

static void fill(struct memory *memory, uint64_t tag)
{
	*memory = (struct memory){
		.interp_head = ADDR(interp),
		.interp = {.thread_head = ADDR(thread), .gil = ADDR(gil)},
		.gil = {.locked = 1, .holder = ADDR(thread)},
		.thread = {.frame = ADDR(f), .tid = TID},
		.f = {ADDR(f_code) | tag, ADDR(entry), ADDR(f_code.instructions) + 4, 0, {0}},
		.entry = {0, ADDR(module), 0, 3, {0}},
		.module = {ADDR(module_code), ADDR(base), ADDR(module_code.instructions), 0, {0}},
		.base = {0, 0, 0, tag ? 4 : 3, {0}},
		// Two instructions in the first line, two in that after the next (kind 11).
		.lines = {.size = 4, .data = {0x80 | 10 << 3 | 1, 0, 0x80 | 12 << 3 | 1, 0}},
	};
	fill_text(&memory->file, "file.py");
	fill_text(&memory->f_name, "f");
	fill_text(&memory->module_name, "<module>");
	fill_code(&memory->f_code, ADDR(f_name), 10);
	fill_code(&memory->module_code, ADDR(module_name), 1);
}

// Write the table of offsets that a CPython 3.@minor publishes into the made-up memory, as 64-bit words.
static void fill_offsets(struct memory *memory, unsigned minor)
{
	bool is_3_14 = minor >= 14, is_3_15 = minor >= 15;
	uint64_t *interp = memory->offsets + 6, *thread = interp + (is_3_14 ? 16 : 13),
		 *frame = thread + (is_3_15 ? 17 : 9), *code = frame + (is_3_14 ? 8 : 6),
		 *bytes = code + (is_3_15 ? 39 : is_3_14 ? 35 : 30), *text = bytes + 3;
	uint64_t *gil = interp + (is_3_14 ? 9 : 8);

	memcpy(memory->offsets, "xdebugpy", 8);
	memory->offsets[1] = 3u << 24 | minor << 16 | 0xf0;
	memory->offsets[5] = offsetof(struct memory, interp_head);
	interp[2] = 0;
	interp[3] = 8;
	gil[0] = 16;
	gil[1] = 24; // if it is the interpreter's own GIL
	gil[3] = 24;
	gil[4] = 32;
	thread[2] = 0;
	thread[4] = 8;
	thread[is_3_15 ? 9 : 6] = 16;
	frame[1] = offsetof(struct frame, previous);
	frame[2] = offsetof(struct frame, code);
	frame[3] = offsetof(struct frame, instr);
	frame[5] = offsetof(struct frame, owner);
	code[1] = offsetof(struct code, filename);
	code[3] = offsetof(struct code, name);
	code[4] = offsetof(struct code, line_table);
	code[5] = offsetof(struct code, first_line);
	code[9] = offsetof(struct code, instructions);
	bytes[1] = offsetof(struct bytes, size);
	bytes[2] = offsetof(struct bytes, data);
	text[1] = offsetof(struct text, state);
	text[2] = offsetof(struct text, length);
	text[3] = offsetof(struct text, ascii);
}

static struct library *libpython(const struct target *target)
{
	struct symfile *file = malloc(sizeof(*file));

	assert_non_null(file);
	fill_symfile(file, "_PyRuntime", RUNTIME - BIAS, sizeof(struct memory));
	return library_create(target, -1, file, sizeof(*file), "libpython", NULL);
}

// Names of frames live as long as this.
static struct python_codes *codes;

// Reads the frames of TID from @memory; what is wrong with the layout goes to @why_not. @whole: are they all, and
// frames? False: the thread was not found.
static bool read_stack(const struct memory *memory, unsigned minor, struct python_stack *stack,
		       bool *whole, char why_not[200])
{
	struct python_thread thread;
	struct segment segment = {RUNTIME, sizeof(*memory), 0};
	struct target target = {
		.read = core_read,
		.root = -1,
		.memory = memfd_create("memory", MFD_CLOEXEC),
		.segments = &segment,
		.segment_count = 1,
	};
	struct library *library = libpython(&target);
	struct python_layout *layout;
	bool found;

	assert_int_equal(write(target.memory, memory, sizeof(*memory)), sizeof(*memory));
	layout = python_layout_create(&target, library, BIAS, minor);
	snprintf(why_not, 200, "%s", python_layout_problem(layout) ?: "");
	found = python_find_thread(&target, layout, BIAS, TID, &thread);
	if (found)
		*whole = python_read(&target, layout, BIAS, codes, &thread, 100, stack);
	python_layout_destroy(layout);
	library_destroy(library);
	close(target.memory);
	return found;
}

static void check_frame(const struct python_frame *frame, const char *function, int line,
			bool is_entry)
{
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->file, "file.py");
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->is_entry, is_entry);
}

static void read_of_version_has_frames_lines_and_holder(void **state)
{
	(void)state;
	for (unsigned minor = 13; minor <= 15; minor++) {
		struct memory memory;
		struct python_stack stack;
		char why_not[200];
		bool whole;

		fill(&memory, minor >= 14 ? 1 : 0);
		fill_offsets(&memory, minor);
		assert_true(read_stack(&memory, minor, &stack, &whole, why_not));
		assert_true(whole);
		assert_string_equal(why_not, "");
		assert_int_equal(stack.count, 2);
		check_frame(&stack.frames[0], "f", 12, true);
		check_frame(&stack.frames[1], "<module>", 1, true);
		assert_true(stack.holds_gil);
		python_stack_deinit(&stack);
		memory.gil.holder = 0;
		assert_true(read_stack(&memory, minor, &stack, &whole, why_not));
		assert_false(stack.holds_gil);
		python_stack_deinit(&stack);
		memory.gil.holder = ADDR(other); // a state of the same thread in a sub-interpreter
		memory.other.tid = TID;
		assert_true(read_stack(&memory, minor, &stack, &whole, why_not));
		assert_true(stack.holds_gil);
		python_stack_deinit(&stack);
		memory.thread.tid++;
		assert_false(read_stack(&memory, minor, &stack, &whole, why_not));
	}
}

static void read_of_damaged_offsets_says_what_is_wrong(void **state)
{
	const struct {
		size_t word;
		uint64_t value;
		unsigned minor;
		const char *text;
	} cases[] = {
		{0, 0, 14, "its _PyRuntime does not begin with xdebugpy"},
		{1, 0x030d00f0, 14, "its _PyRuntime says version 0x30d00f0; 3.14 expected"},
		{2, 1, 14, "it is a build without a GIL"},
		{5, 1 << 24, 14,
		 "its _PyRuntime has an offset of 0x1000000; less than 0x1000000 expected"},
		{18, 8, 14, "its _PyRuntime has the GIL at 0x18 and its members before"},
		{5, 0, 16, "it is CPython 3.16; 3.11 to 3.15 are known"},
		{5, 0, 10, "it is CPython 3.10; 3.11 to 3.15 are known"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct memory memory;
		struct python_stack stack;
		char why_not[200];
		bool whole;

		fill(&memory, 1);
		fill_offsets(&memory, 14);
		memory.offsets[cases[i].word] = cases[i].value;
		assert_false(read_stack(&memory, cases[i].minor, &stack, &whole, why_not));
		assert_string_equal(why_not, cases[i].text);
	}
}

static void read_of_endless_list_ends(void **state)
{
	struct memory memory;
	struct python_stack stack;
	char why_not[200];
	bool whole;

	(void)state;
	fill(&memory, 1);
	fill_offsets(&memory, 14);
	memory.module.previous = ADDR(f);
	assert_true(read_stack(&memory, 14, &stack, &whole, why_not));
	assert_false(whole);
	assert_in_range(stack.count, 60, 100);
	python_stack_deinit(&stack);
	memory.thread.tid++;
	memory.thread.next = ADDR(thread);
	assert_false(read_stack(&memory, 14, &stack, &whole, why_not));
}

// A reader may come while a frame is set up: the frame has no code object, or the address of a code object that
// another frame has left.
static void read_of_frame_without_code_is_not_whole(void **state)
{
	struct memory memory;
	struct python_stack stack;
	char why_not[200];
	bool whole;

	(void)state;
	fill(&memory, 1);
	fill_offsets(&memory, 14);
	memory.entry.owner = 0;
	assert_true(read_stack(&memory, 14, &stack, &whole, why_not));
	assert_false(whole);
	assert_int_equal(stack.count, 1);
	python_stack_deinit(&stack);
	fill(&memory, 1);
	fill_offsets(&memory, 14);
	memory.f.previous = 8;
	assert_true(read_stack(&memory, 14, &stack, &whole, why_not));
	assert_false(whole);
	python_stack_deinit(&stack);
}

// The address of a freed code object may be another code object's later.
static void read_of_code_at_the_address_of_another_is_the_new_one(void **state)
{
	struct memory memory;
	struct python_stack stack, again;
	char why_not[200];
	bool whole;

	(void)state;
	fill(&memory, 1);
	fill_offsets(&memory, 14);
	assert_true(read_stack(&memory, 14, &stack, &whole, why_not));
	memory.f_code.name = ADDR(module_name);
	assert_true(read_stack(&memory, 14, &again, &whole, why_not));
	check_frame(&stack.frames[0], "f", 12, true);
	check_frame(&again.frames[0], "<module>", 12, true);
	python_stack_deinit(&stack);
	python_stack_deinit(&again);
}

static void is_gil_of_its_members_is_true(void **state)
{
	const struct python_layout layout = {.is_3_11 = true, .runtime = 0x1000, .gil = 360};
	const struct python_thread thread = {TID, 0, 0};
	struct target target = {0};

	(void)state;
	assert_true(python_is_gil(&target, &layout, BIAS, &thread, BIAS + 0x1000 + 360));
	assert_true(python_is_gil(&target, &layout, BIAS, &thread, BIAS + 0x1000 + 360 + 207));
	assert_false(python_is_gil(&target, &layout, BIAS, &thread, BIAS + 0x1000 + 360 + 208));
	assert_false(python_is_gil(&target, &layout, BIAS, &thread, BIAS + 0x1000 + 359));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_of_version_has_frames_lines_and_holder),
		cmocka_unit_test(read_of_damaged_offsets_says_what_is_wrong),
		cmocka_unit_test(read_of_endless_list_ends),
		cmocka_unit_test(read_of_frame_without_code_is_not_whole),
		cmocka_unit_test(read_of_code_at_the_address_of_another_is_the_new_one),
		cmocka_unit_test(is_gil_of_its_members_is_true),
	};
	int failed;

	elf_version(EV_CURRENT);
	codes = python_codes_create();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	python_codes_destroy(codes);
	return failed;
}
