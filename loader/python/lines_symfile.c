// SPDX-License-Identifier: MIT
// What debuggers read of Python lines: symfiles with functions, lines, values and unwind rules.
//
//     _PyEval_EvalFrameDefault   CPython's own rules
//     python_frame               calls it; its caller is, by our rule, the line that the frame has reached
//     shop.price                 a stub, which is not run for this; its caller is the real caller of python_frame
//     _PyEval_Vector             and so on, by CPython's own rules
//
// The rule of python_frame goes from the frame to its code object, from there to our struct
// gorgon_lines_function, and takes the address of the line from its table. A frame that has none
// is in python_code. A stub that is run, because a breakpoint is there, has the address of the
// same record in rbx, so it is the same frame as one that is found by unwinding. Where frames are
// found by CPython's chain, rbx has the frame itself, and a stub's caller is another stub, or, for
// the first frame of an evaluator, the real caller of python_frame.
//
// Rules are in .debug_frame, which only debuggers read.
//
// Specifications: DWARF 4, sections 2.5 and 6.4; gABI chapter 4.

#define _GNU_SOURCE
#include "lines_values.h"
#include "file/leb128.h"
#include "python/lines_arch.h"

#if GORGON_LINES_SUPPORTED

#include <dwarf.h>
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// The variable that has the frame's values as numbers, each under its name.
#define NUMBERS "number"

// The variable that is a pointer to the function which evaluates expressions in the frame.
#define EVALUATE "py"

#define RECORD_SIZE ((int)sizeof(struct gorgon_lines_record))

// gdb lets the frame of a function of this name be anywhere: gcc's split stacks have it.
#define ANYWHERE "__morestack"

// No frame of C is there.
#define BELOW_STACKS (UINT64_C(1) << 47) // if an address of a frame is taken from it
#define ABOVE_STACKS (UINT64_C(1) << 48)

// --- bytes -----------------------------------------------------------------------------------

static void put(struct gorgon_lines_bytes *to, const void *data, size_t size)
{
	if (to->failed)
		return;
	if (size > to->capacity - to->size) {
		size_t capacity = 2 * (to->size + size) + 256;
		uint8_t *grown = realloc(to->data, capacity);

		if (!grown) {
			to->failed = true;
			return;
		}
		to->data = grown;
		to->capacity = capacity;
	}
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

static void put_number(struct gorgon_lines_bytes *to, uint64_t value, size_t size)
{
	put(to, &value, size);
}

static void put_text(struct gorgon_lines_bytes *to, const char *text)
{
	put(to, text, strlen(text) + 1);
}

static void put_uleb(struct gorgon_lines_bytes *to, uint64_t value)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(to, bytes, jitreg_put_uleb(bytes, value));
}

static void put_sleb(struct gorgon_lines_bytes *to, int64_t value)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(to, bytes, jitreg_put_sleb(bytes, value));
}

static void set_number(struct gorgon_lines_bytes *to, size_t at, uint64_t value, size_t size)
{
	if (!to->failed)
		memcpy(to->data + at, &value, size);
}

static void align(struct gorgon_lines_bytes *to, size_t alignment)
{
	while (!to->failed && to->size % alignment)
		put_number(to, 0, 1);
}

// --- unwind rules ------------------------------------------------------------------------------

#define OPS(to, ...) put(to, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

// Registers that python_frame has saved, in the order in which they are below the return address.
static const uint8_t saved[] = {GORGON_LINES_RBX, GORGON_LINES_RBP, 12, 13, 14, 15};

static void def_cfa(struct gorgon_lines_bytes *to, uint64_t reg, uint64_t offset)
{
	OPS(to, DW_CFA_def_cfa);
	put_uleb(to, reg);
	put_uleb(to, offset);
}

static void advance(struct gorgon_lines_bytes *to, unsigned bytes)
{
	OPS(to, (uint8_t)(DW_CFA_advance_loc | bytes));
}

// Register @i of @saved is where it was saved.
static void is_saved(struct gorgon_lines_bytes *to, size_t i)
{
	OPS(to, (uint8_t)(DW_CFA_offset | saved[i]), (uint8_t)(i + 2));
}

static void all_saved(struct gorgon_lines_bytes *to)
{
	for (size_t i = 0; i < sizeof(saved); i++)
		is_saved(to, i);
	OPS(to, DW_CFA_offset | GORGON_LINES_RETURN_ADDRESS, 1);
}

// Code that keeps the caller's registers, with its return address below @depth bytes of the stack,
// in place of the CIE's rules.
static void begin_code(struct gorgon_lines_bytes *to, uint64_t depth)
{
	def_cfa(to, GORGON_LINES_RSP, depth);
	OPS(to, DW_CFA_offset | GORGON_LINES_RETURN_ADDRESS, 1);
	OPS(to, DW_CFA_val_offset, GORGON_LINES_RSP, 0);
	for (size_t i = 0; i < sizeof(saved); i++)
		OPS(to, DW_CFA_same_value, saved[i]);
}

static void same_value(struct gorgon_lines_bytes *to, size_t i)
{
	OPS(to, DW_CFA_same_value, saved[i]);
}

static void end_jump(struct gorgon_lines_bytes *x, size_t from)
{
	set_number(x, from, x->size - from - 2, 2);
}

static void end_jump_back(struct gorgon_lines_bytes *x, size_t from, size_t to)
{
	set_number(x, from, to - from - 2, 2);
}

static size_t begin_jump(struct gorgon_lines_bytes *x, uint8_t op)
{
	OPS(x, op, 0, 0);
	return x->size - 2;
}

static void put_rule(struct gorgon_lines_bytes *to, uint8_t reg,
		     const struct gorgon_lines_bytes *x)
{
	OPS(to, DW_CFA_val_expression, reg);
	put_uleb(to, x->size);
	put(to, x->data, x->size);
	to->failed |= x->failed;
}

static void put_number_op(struct gorgon_lines_bytes *x, uint64_t value)
{
	OPS(x, DW_OP_const8u);
	put_number(x, value, 8);
}

// LLDB compares this number as one without a sign, gdb as -1, which DWARF wants.
static size_t begin_if_gdb(struct gorgon_lines_bytes *x)
{
	put_number_op(x, UINT64_MAX);
	OPS(x, DW_OP_lit1, DW_OP_lt);
	return begin_jump(x, DW_OP_bra);
}

// A register has the frame, or its record. A frame is known by its own address, from which
// debuggers that keep a frame's CFA can take it again: gdb finds other registers by going through
// all younger frames, and lets frames of ANYWHERE have any CFA, if it is below that of the C frame
// that is older. LLDB wants younger frames to be below older ones, and keeps registers.
static void frame_is(struct gorgon_lines_bytes *to, uint8_t reg,
		     const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes x = {0};
	size_t is_gdb, again, done;

	if (!layout->records) {
		def_cfa(to, reg, (uint64_t)RECORD_SIZE);
		return;
	}
	is_gdb = begin_if_gdb(&x);
	put_number_op(&x, ABOVE_STACKS);
	OPS(&x, (uint8_t)(DW_OP_breg0 + reg), 0);
	again = x.size;
	// address frame
	OPS(&x, DW_OP_swap, DW_OP_lit16, DW_OP_minus, DW_OP_swap, DW_OP_plus_uconst,
	    layout->frame_previous, DW_OP_deref, DW_OP_dup);
	end_jump_back(&x, begin_jump(&x, DW_OP_bra), again);
	OPS(&x, DW_OP_drop);
	done = begin_jump(&x, DW_OP_skip);
	end_jump(&x, is_gdb);
	put_number_op(&x, BELOW_STACKS);
	OPS(&x, (uint8_t)(DW_OP_breg0 + reg), 0, DW_OP_minus);
	end_jump(&x, done);
	OPS(to, DW_CFA_def_cfa_expression);
	put_uleb(to, x.size);
	put(to, x.data, x.size);
	to->failed |= x.failed;
	free(x.data);
}

static void frame_of_cfa(struct gorgon_lines_bytes *x)
{
	size_t is_gdb = begin_if_gdb(x), done;

	OPS(x, DW_OP_drop, DW_OP_breg0 + GORGON_LINES_RBX, 0);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, is_gdb);
	put_number_op(x, BELOW_STACKS);
	OPS(x, DW_OP_swap, DW_OP_minus);
	end_jump(x, done);
}

static size_t begin_entry(struct gorgon_lines_bytes *to)
{
	put_number(to, 0, 4);
	return to->size;
}

static void end_entry(struct gorgon_lines_bytes *to, size_t start)
{
	align(to, 8); // with DW_CFA_nop, which is 0
	set_number(to, start - 4, to->size - start, 4);
}

// The CIE is at 0.
static size_t begin_function(struct gorgon_lines_bytes *to, uint64_t address, uint64_t size)
{
	size_t start = begin_entry(to);

	put_number(to, 0, 4);
	put_number(to, address, 8);
	put_number(to, size, 8);
	return start;
}

// What is the line of the frame whose address is on the stack?
static void line_of_frame(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout,
			  uint64_t generic)
{
	size_t no_extra, no_function, done, done_too;

	// frame code
	OPS(x, DW_OP_dup, DW_OP_plus_uconst, layout->frame_code, DW_OP_deref);
	OPS(x, DW_OP_const1s, (uint8_t)~GORGON_LINES_TAG, DW_OP_and);
	OPS(x, DW_OP_dup, DW_OP_plus_uconst);
	put_uleb(x, layout->code_extra);
	// frame code extra
	OPS(x, DW_OP_deref);
	OPS(x, DW_OP_dup, DW_OP_lit0, DW_OP_eq);
	no_extra = begin_jump(x, DW_OP_bra);
	// how many words it has comes first
	OPS(x, DW_OP_dup, DW_OP_deref, DW_OP_const1u, (uint8_t)(layout->extra / 8 - 1), DW_OP_le);
	no_function = begin_jump(x, DW_OP_bra);
	// frame code function
	OPS(x, DW_OP_plus_uconst, layout->extra, DW_OP_deref);
	OPS(x, DW_OP_dup, DW_OP_lit0, DW_OP_eq);
	done = begin_jump(x, DW_OP_bra);
	// function frame code
	OPS(x, DW_OP_rot);
	OPS(x, DW_OP_plus_uconst);
	put_uleb(x, layout->code_units);
	// function units instruction
	OPS(x, DW_OP_swap, DW_OP_plus_uconst, layout->frame_instruction, DW_OP_deref);
	// function, four times the unit
	OPS(x, DW_OP_swap, DW_OP_minus, DW_OP_lit1, DW_OP_shl);
	// function offset
	OPS(x, DW_OP_over, DW_OP_plus_uconst, 8, DW_OP_deref, DW_OP_plus, DW_OP_deref_size, 4);
	OPS(x, DW_OP_swap, DW_OP_deref, DW_OP_plus);
	done_too = begin_jump(x, DW_OP_skip);
	end_jump(x, no_extra);
	end_jump(x, no_function);
	end_jump(x, done);
	OPS(x, DW_OP_addr);
	put_number(x, generic, 8);
	end_jump(x, done_too);
}

// Is the frame on the stack an evaluator's own? It stays there.
static size_t begin_if_own(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	OPS(x, DW_OP_dup, DW_OP_plus_uconst, layout->frame_owner, DW_OP_deref_size, 1,
	    DW_OP_lit0 + GORGON_LINES_OWNER_EVALUATOR, DW_OP_eq);
	return begin_jump(x, DW_OP_bra);
}

static void record_of_own(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout,
			  uint64_t offset)
{
	OPS(x, DW_OP_plus_uconst);
	put_uleb(x, layout->entry_record + offset);
}

// The rules for a frame that leads to its caller: that is a frame of the same evaluator, or, for
// the evaluator's first one, C code, whose registers are in the evaluator's record.
static void put_callers(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout,
			uint64_t generic)
{
	static const struct {
		uint8_t reg, offset;
	} rules[] = {{GORGON_LINES_RETURN_ADDRESS, 88},
		     {GORGON_LINES_RBX, 80},
		     {GORGON_LINES_RBP, 72},
		     {12, 64},
		     {13, 56},
		     {14, 48},
		     {15, 40},
		     {GORGON_LINES_RSP, 96}};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const uint8_t reg = rules[i].reg;
		struct gorgon_lines_bytes x = {0};
		size_t first, done;

		frame_of_cfa(&x);
		OPS(&x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
		first = begin_if_own(&x, layout);
		if (reg == GORGON_LINES_RETURN_ADDRESS)
			line_of_frame(&x, layout, generic);
		else if (reg != GORGON_LINES_RBX && reg != GORGON_LINES_RSP)
			OPS(&x, DW_OP_drop, (uint8_t)(DW_OP_breg0 + reg), 0);
		done = begin_jump(&x, DW_OP_skip);
		end_jump(&x, first);
		record_of_own(&x, layout, rules[i].offset);
		if (reg != GORGON_LINES_RSP)
			OPS(&x, DW_OP_deref);
		end_jump(&x, done);
		put_rule(to, reg, &x);
		free(x.data);
	}
}

// From an evaluator's record to the newest frame that it runs: the thread's newest, or that which
// the next younger evaluator's own frame leads to. The evaluator's first frame has no other way to
// be found while it ends.
static void newest_of_record(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t outer, inner, own, found, ends, none, done;

	OPS(x, DW_OP_dup, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, state),
	    DW_OP_deref, DW_OP_plus_uconst, layout->state_frame, DW_OP_deref);
	if (layout->minor == 12)
		OPS(x, DW_OP_deref);
	outer = x->size;
	// record frame
	OPS(x, DW_OP_dup);
	inner = x->size;
	// record frame other
	OPS(x, DW_OP_dup, DW_OP_lit0, DW_OP_eq);
	none = begin_jump(x, DW_OP_bra);
	own = begin_if_own(x, layout);
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	end_jump_back(x, begin_jump(x, DW_OP_skip), inner);
	end_jump(x, own);
	OPS(x, DW_OP_dup);
	record_of_own(x, layout, 0);
	OPS(x, DW_OP_pick, 3, DW_OP_eq);
	found = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_swap, DW_OP_drop, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	end_jump_back(x, begin_jump(x, DW_OP_skip), outer);
	end_jump(x, found);
	OPS(x, DW_OP_over, DW_OP_eq);
	ends = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_swap, DW_OP_drop);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, none);
	OPS(x, DW_OP_drop);
	end_jump(x, ends);
	OPS(x, DW_OP_drop, DW_OP_deref);
	end_jump(x, done);
}

// The values of the frame whose CFA is on the stack, or 0.
static void values_of_frame(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t same, done;

	frame_of_cfa(x);
	OPS(x, DW_OP_dup, DW_OP_lit4, DW_OP_shr, DW_OP_const2u);
	put_number(x, GORGON_LINES_RECORDS - 1, 2);
	OPS(x, DW_OP_and, DW_OP_const1u, RECORD_SIZE, DW_OP_mul);
	put_number_op(x, (uintptr_t)layout->records);
	OPS(x, DW_OP_plus, DW_OP_swap, DW_OP_over, DW_OP_deref, DW_OP_eq);
	same = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_drop, DW_OP_lit0);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, same);
	OPS(x, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, values), DW_OP_deref);
	end_jump(x, done);
}

// A CIE. Its rules are those of a stub: the frame of the record in rbx.
static void put_cie(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout,
		    uint64_t generic)
{
	size_t start = begin_entry(to);

	put_number(to, UINT32_MAX, 4);
	OPS(to, 4, 0, 8, 0); // version, augmentation, sizes of addresses and segments
	put_uleb(to, 1);
	put_sleb(to, -8);
	put_uleb(to, GORGON_LINES_RETURN_ADDRESS);
	frame_is(to, GORGON_LINES_RBX, layout);
	if (layout->records)
		put_callers(to, layout, generic);
	else
		all_saved(to);
	end_entry(to, start);
}

// The return address is the line of a frame. @frame: what makes its address out of the CFA.
static void returns_to_line(struct gorgon_lines_bytes *to, const uint8_t *frame, size_t size,
			    const struct gorgon_lines_layout *layout, uint64_t generic)
{
	struct gorgon_lines_bytes rule = {0};

	put(&rule, frame, size);
	line_of_frame(&rule, layout, generic);
	OPS(to, DW_CFA_val_expression, GORGON_LINES_RETURN_ADDRESS);
	put_uleb(to, rule.size);
	put(to, rule.data, rule.size);
	to->failed |= rule.failed;
	free(rule.data);
}

static void put_frame_rules(struct gorgon_lines_bytes *to, uint64_t code,
			    const struct gorgon_lines_layout *layout)
{
	// up to the end of each push
	static const uint8_t prologue[] = {1, 1, 2, 2, 2, 2, 11, 1, 2, 2, 1};
	static const uint8_t epilogue[] = {39, 2, 2, 2, 2, 1, 1}; // of the add, and of each pop
	size_t start = begin_function(to, code + GORGON_LINES_FRAME, GORGON_LINES_FRAME_END);
	struct gorgon_lines_bytes frame = {0};
	unsigned depth = 8, at = 0;

	begin_code(to, depth);
	for (size_t i = 0; i < sizeof(prologue); i++) {
		advance(to, prologue[i]);
		at += prologue[i];
		depth += 8;
		def_cfa(to, GORGON_LINES_RSP, depth);
		if (i < sizeof(saved))
			is_saved(to, i);
	}
	advance(to, GORGON_LINES_CALL - at);
	begin_code(to, 8);
	OPS(&frame, DW_OP_lit8, DW_OP_minus);
	if (layout->records)
		newest_of_record(&frame, layout);
	else
		OPS(&frame, DW_OP_deref);
	returns_to_line(to, frame.data, frame.size, layout, code + GORGON_LINES_GENERIC + 1);
	if (layout->records)
		put_rule(to, GORGON_LINES_RBX, &frame);
	free(frame.data);
	advance(to, GORGON_LINES_CALLED - GORGON_LINES_CALL);
	all_saved(to);
	def_cfa(to, GORGON_LINES_RSP, depth);
	depth -= 40;
	for (size_t i = 0; i < sizeof(epilogue); i++) {
		advance(to, epilogue[i]);
		def_cfa(to, GORGON_LINES_RSP, depth);
		if (i)
			same_value(to, sizeof(saved) - i);
		depth -= 8;
	}
	advance(to, 1); // ret
	def_cfa(to, GORGON_LINES_RBX, (uint64_t)RECORD_SIZE);
	all_saved(to);
	end_entry(to, start);
}

// Functions of ours that have no frame: the tracer's entry, and "leave".
static void put_leaf_rules(struct gorgon_lines_bytes *to, uint64_t address, uint64_t size)
{
	size_t start = begin_function(to, address, size);

	begin_code(to, 8);
	end_entry(to, start);
}

// The function that is run for an exception: the frame in rbx has called it, debuggers think.
static void put_raised_rules(struct gorgon_lines_bytes *to, uint64_t code,
			     const struct gorgon_lines_layout *layout)
{
	size_t start = begin_function(to, code + GORGON_LINES_RAISED,
				      GORGON_LINES_CODE_SIZE - GORGON_LINES_RAISED);

	begin_code(to, 8);
	returns_to_line(to,
			(const uint8_t[]){DW_OP_drop, DW_OP_breg0 + GORGON_LINES_RBX, 0,
					  layout->records ? DW_OP_nop : DW_OP_deref},
			4, layout, code + GORGON_LINES_GENERIC + 1);
	end_entry(to, start);
}

// The stubs of a function. When the mov has put the caller's record into rbx, the frame's own is
// still in r15. At the function's entry rbx is the caller's, until the mov.
static void put_stub_rules(struct gorgon_lines_bytes *to,
			   const struct gorgon_lines_function *function,
			   const struct gorgon_lines_layout *layout)
{
	size_t start =
		begin_function(to, (uintptr_t)function->text, gorgon_lines_text_size(function));

	for (size_t i = 0; i < function->line_count; i++) {
		advance(to, GORGON_LINES_STUB_JUMP);
		OPS(to, DW_CFA_remember_state);
		frame_is(to, GORGON_LINES_R15, layout);
		if (layout->records)
			OPS(to, DW_CFA_register, GORGON_LINES_RBX, GORGON_LINES_R13,
			    DW_CFA_register, GORGON_LINES_RETURN_ADDRESS, GORGON_LINES_R10);
		advance(to, GORGON_LINES_STUB_SIZE - GORGON_LINES_STUB_JUMP);
		OPS(to, DW_CFA_restore_state);
	}
	OPS(to, DW_CFA_remember_state);
	frame_is(to, GORGON_LINES_R15, layout);
	OPS(to, DW_CFA_same_value, GORGON_LINES_RBX);
	OPS(to, DW_CFA_register, GORGON_LINES_RETURN_ADDRESS, GORGON_LINES_R10);
	advance(to, GORGON_LINES_ENTRY_JUMP);
	OPS(to, DW_CFA_restore_state);
	end_entry(to, start);
}

// --- names, lines, values ----------------------------------------------------------------------

enum {
	UNIT = 1,
	FUNCTION,
	PARAMETER,
	VARIABLE,
	BASE,
	CONSTANT,
	POINTER,
	STRUCTURE,
	MEMBER,
	FUNCTION_TYPE,
	ARGUMENT,
	UNIT_OF_CODE,
	CODE
};

// An abbreviation lists its number, its tag, whether entries of it have children, and pairs of an
// attribute and its form.
#define ABBREV(...) __VA_ARGS__, 0, 0

static const uint8_t abbrevs[] = {
	ABBREV(UNIT, DW_TAG_compile_unit, 1, DW_AT_producer, DW_FORM_string, DW_AT_language,
	       DW_FORM_data1, DW_AT_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, DW_AT_stmt_list,
	       DW_FORM_sec_offset),
	ABBREV(FUNCTION, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, DW_AT_decl_file,
	       DW_FORM_data1, DW_AT_decl_line, DW_FORM_udata, DW_AT_external, DW_FORM_flag_present,
	       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, DW_AT_frame_base,
	       DW_FORM_exprloc, DW_AT_prototyped, DW_FORM_flag_present),
	ABBREV(PARAMETER, DW_TAG_formal_parameter, 0, DW_AT_name, DW_FORM_string, DW_AT_type,
	       DW_FORM_ref4, DW_AT_location, DW_FORM_exprloc),
	ABBREV(VARIABLE, DW_TAG_variable, 0, DW_AT_name, DW_FORM_string, DW_AT_type, DW_FORM_ref4,
	       DW_AT_location, DW_FORM_exprloc),
	ABBREV(BASE, DW_TAG_base_type, 0, DW_AT_name, DW_FORM_string, DW_AT_byte_size,
	       DW_FORM_data1, DW_AT_encoding, DW_FORM_data1),
	ABBREV(CONSTANT, DW_TAG_const_type, 0, DW_AT_type, DW_FORM_ref4),
	ABBREV(POINTER, DW_TAG_pointer_type, 0, DW_AT_byte_size, DW_FORM_data1, DW_AT_type,
	       DW_FORM_ref4),
	ABBREV(UNIT_OF_CODE, DW_TAG_compile_unit, 1, DW_AT_producer, DW_FORM_string, DW_AT_language,
	       DW_FORM_data1, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
	       DW_FORM_data8),
	ABBREV(CODE, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, DW_AT_external,
	       DW_FORM_flag_present, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8,
	       DW_AT_frame_base, DW_FORM_exprloc, DW_AT_prototyped, DW_FORM_flag_present),
	ABBREV(STRUCTURE, DW_TAG_structure_type, 1, DW_AT_byte_size, DW_FORM_udata),
	ABBREV(MEMBER, DW_TAG_member, 0, DW_AT_name, DW_FORM_string, DW_AT_type, DW_FORM_ref4,
	       DW_AT_data_member_location, DW_FORM_udata),
	ABBREV(FUNCTION_TYPE, DW_TAG_subroutine_type, 1, DW_AT_prototyped, DW_FORM_flag_present,
	       DW_AT_type, DW_FORM_ref4),
	ABBREV(ARGUMENT, DW_TAG_formal_parameter, 0, DW_AT_type, DW_FORM_ref4),
	0,
};

// What is at @offset in the array that the frame's record leads to, or, where there is none, at
// @none.
static void put_location(struct gorgon_lines_bytes *to, uint64_t offset, const void *none,
			 const struct gorgon_lines_layout *layout)
{
	size_t known, done, start = to->size + 1;

	OPS(to, 0); // its size, which is less than 128
	OPS(to, DW_OP_call_frame_cfa);
	if (layout->records)
		values_of_frame(to, layout);
	else
		OPS(to, DW_OP_const1u,
		    (uint8_t)(RECORD_SIZE - offsetof(struct gorgon_lines_record, values)),
		    DW_OP_minus, DW_OP_deref);
	OPS(to, DW_OP_dup);
	known = begin_jump(to, DW_OP_bra);
	OPS(to, DW_OP_drop, DW_OP_addr);
	put_number(to, (uintptr_t)none, 8);
	done = begin_jump(to, DW_OP_skip);
	end_jump(to, known);
	OPS(to, DW_OP_plus_uconst);
	put_uleb(to, offset);
	end_jump(to, done);
	set_number(to, start - 1, to->size - start, 1);
}

static void count_records(struct gorgon_lines_bytes *x)
{
	size_t again, older, done;

	OPS(x, DW_OP_const1u, RECORD_SIZE, DW_OP_minus, DW_OP_lit0);
	again = x->size;
	// record count
	OPS(x, DW_OP_over, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, older),
	    DW_OP_deref, DW_OP_rot);
	// older record count
	OPS(x, DW_OP_pick, 2, DW_OP_pick, 2, DW_OP_gt);
	older = begin_jump(x, DW_OP_bra);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, older);
	OPS(x, DW_OP_plus_uconst, 1, DW_OP_swap, DW_OP_drop);
	end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	end_jump(x, done);
}

static void count_callers(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t again, more, done;

	frame_of_cfa(x);
	OPS(x, DW_OP_lit0, DW_OP_swap);
	again = x->size;
	// count frame
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref, DW_OP_dup);
	more = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_drop);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, more);
	OPS(x, DW_OP_swap, DW_OP_plus_uconst, 1, DW_OP_swap);
	end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	end_jump(x, done);
}

// Which function evaluates expressions in the frame (lines_arch.h) depends on how many older
// records there are. They are counted.
static void put_evaluate_location(struct gorgon_lines_bytes *to, uint64_t code,
				  const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes x = {0};
	size_t few;

	OPS(&x, DW_OP_call_frame_cfa);
	if (layout->records)
		count_callers(&x, layout);
	else
		count_records(&x);
	OPS(&x, DW_OP_dup, DW_OP_const2u);
	put_number(&x, GORGON_LINES_EVALUATE_ALL, 2);
	OPS(&x, DW_OP_lt);
	few = begin_jump(&x, DW_OP_bra);
	OPS(&x, DW_OP_drop, DW_OP_const2u);
	put_number(&x, GORGON_LINES_EVALUATE_ALL, 2);
	end_jump(&x, few);
	OPS(&x, DW_OP_lit0 + GORGON_LINES_EVALUATE_SIZE, DW_OP_mul, DW_OP_addr);
	put_number(&x, code + GORGON_LINES_EVALUATE, 8);
	OPS(&x, DW_OP_plus, DW_OP_stack_value);
	put_uleb(to, x.size);
	put(to, x.data, x.size);
	to->failed |= x.failed;
	free(x.data);
}

static void put_variable(struct gorgon_lines_bytes *to, uint8_t kind, const char *name,
			 uint64_t type)
{
	OPS(to, kind);
	put_text(to, name);
	put_number(to, type, 4);
}

static uint64_t put_base(struct gorgon_lines_bytes *to, const char *name, uint8_t size,
			 uint8_t encoding)
{
	uint64_t ret = to->size;

	OPS(to, BASE);
	put_text(to, name);
	OPS(to, size, encoding);
	return ret;
}

// Whether a function of Python has a variable of that name.
static bool has_value(const struct gorgon_lines_function *function, const char *name)
{
	for (unsigned i = 0; i < function->value_count; i++)
		if (!strcmp(function->values[i], name))
			return true;
	return false;
}

// The type of a function's variable `number`; 0: it has no values, or one of that name.
static uint64_t put_numbers(struct gorgon_lines_bytes *to,
			    const struct gorgon_lines_function *function, uint64_t real)
{
	uint64_t ret = to->size;

	if (!function->value_count || has_value(function, NUMBERS))
		return 0;
	OPS(to, STRUCTURE);
	put_uleb(to, 8 * (uint64_t)function->value_count);
	for (unsigned i = 0; i < function->value_count; i++) {
		put_variable(to, MEMBER, function->values[i], real);
		put_uleb(to, 8 * (uint64_t)i);
	}
	OPS(to, 0);
	return ret;
}

// What types a unit has: texts, numbers, and pointers to functions of a text that give a text.
struct types {
	uint64_t text, real, evaluate;
};

static void put_function(struct gorgon_lines_bytes *to,
			 const struct gorgon_lines_function *function, const struct types *types,
			 uint64_t code, const struct gorgon_lines_layout *layout)
{
	uint64_t numbers = put_numbers(to, function, types->real);

	OPS(to, FUNCTION);
	put_text(to, function->name);
	OPS(to, 1);
	put_uleb(to, (uint64_t)function->lines[0]);
	put_number(to, (uintptr_t)function->text, 8);
	put_number(to, gorgon_lines_text_size(function), 8);
	OPS(to, 1, DW_OP_call_frame_cfa);
	for (unsigned i = 0; i < function->value_count; i++) {
		put_variable(to, i < function->argument_count ? PARAMETER : VARIABLE,
			     function->values[i], types->text);
		put_location(to, 8 * (uint64_t)i, gorgon_lines_no_texts, layout);
	}
	if (numbers) {
		put_variable(to, VARIABLE, NUMBERS, numbers);
		put_location(to, 8 * (uint64_t)function->value_count, gorgon_lines_no_numbers,
			     layout);
	}
	if (!has_value(function, EVALUATE)) {
		put_variable(to, VARIABLE, EVALUATE, types->evaluate);
		put_evaluate_location(to, code, layout);
	}
	OPS(to, 0);
}

static void begin_info(struct gorgon_lines_bytes *to, uint8_t kind, const char *name)
{
	put_number(to, 0, 4);
	put_number(to, 4, 2);
	put_number(to, 0, 4);
	OPS(to, 8, kind);
	put_text(to, "gorgon, Python lines");
	OPS(to, DW_LANG_C99);
	put_text(to, name);
}

static void end_info(struct gorgon_lines_bytes *to)
{
	OPS(to, 0);
	set_number(to, 0, to->size - 4, 4);
}

// The type const char *.
static uint64_t put_text_type(struct gorgon_lines_bytes *to)
{
	uint64_t character = put_base(to, "char", 1, DW_ATE_signed_char), constant = to->size, ret;

	OPS(to, CONSTANT);
	put_number(to, character, 4);
	ret = to->size;
	OPS(to, POINTER, 8);
	put_number(to, constant, 4);
	return ret;
}

static uint64_t put_evaluate_type(struct gorgon_lines_bytes *to, uint64_t text)
{
	uint64_t function = to->size, ret;

	OPS(to, FUNCTION_TYPE);
	put_number(to, text, 4);
	OPS(to, ARGUMENT);
	put_number(to, text, 4);
	OPS(to, 0);
	ret = to->size;
	OPS(to, POINTER, 8);
	put_number(to, function, 4);
	return ret;
}

// The function that is run for an exception has an argument, in r13.
static void put_info_of_code(struct gorgon_lines_bytes *to, uint64_t code)
{
	uint64_t text;

	begin_info(to, UNIT_OF_CODE, "python");
	put_number(to, code, 8);
	put_number(to, GORGON_LINES_CODE_SIZE, 8);
	text = put_text_type(to);
	OPS(to, CODE);
	put_text(to, "python_exception_raised");
	put_number(to, code + GORGON_LINES_RAISED, 8);
	put_number(to, GORGON_LINES_CODE_SIZE - GORGON_LINES_RAISED, 8);
	OPS(to, 1, DW_OP_call_frame_cfa);
	put_variable(to, PARAMETER, "exception", text);
	OPS(to, 2, DW_OP_breg0 + GORGON_LINES_R13, 0);
	OPS(to, 0);
	OPS(to, CODE);
	put_text(to, "python_code");
	put_number(to, code + GORGON_LINES_GENERIC, 8);
	put_number(to, GORGON_LINES_RAISED - GORGON_LINES_GENERIC, 8);
	OPS(to, 1, DW_OP_call_frame_cfa);
	OPS(to, 0);
	end_info(to);
}

// @lines: where the unit's lines are in their section.
static void put_info(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file,
		     uint64_t lines, uint64_t code, const struct gorgon_lines_layout *layout)
{
	size_t slash = (size_t)(strrchr(file->path, '/') - file->path);
	struct types types;

	begin_info(to, UNIT, file->path);
	put(to, file->path, slash ? slash : 1);
	OPS(to, 0);
	put_number(to, (uintptr_t)file->text, 8);
	put_number(to, file->text_size, 8);
	put_number(to, lines, 4);
	types.text = put_text_type(to);
	types.real = put_base(to, "double", 8, DW_ATE_float);
	types.evaluate = put_evaluate_type(to, types.text);
	for (size_t i = 0; i < file->function_count; i++)
		put_function(to, &file->functions[i], &types, code, layout);
	end_info(to);
}

// Debuggers stop in a function that they step into where it has a line: not at its entry, but at
// its first stub.
static void put_lines(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file)
{
	static const uint8_t header[] = {1, 1, 1, (uint8_t)-5, 14, 13, 0, 1, 1,
					 1, 1, 0, 0,           0,  1,  0, 0, 1};
	size_t start;

	put_number(to, 0, 4);
	put_number(to, 4, 2);
	put_number(to, 0, 4);
	start = to->size;
	put(to, header, sizeof(header));
	OPS(to, 0);
	put_text(to, file->path);
	OPS(to, 0, 0, 0, 0);
	set_number(to, start - 4, to->size - start, 4);
	for (size_t i = 0; i < file->function_count; i++) {
		const struct gorgon_lines_function *function = &file->functions[i];
		int line = 1;

		OPS(to, 0, 9, DW_LNE_set_address);
		put_number(to, (uintptr_t)function->text, 8);
		for (size_t k = 0; k < function->line_count; k++) {
			OPS(to, DW_LNS_advance_line);
			put_sleb(to, (int64_t)function->lines[k] - line);
			if (!k)
				OPS(to, DW_LNS_set_prologue_end);
			OPS(to, DW_LNS_copy, DW_LNS_advance_pc, GORGON_LINES_STUB_SIZE);
			line = function->lines[k];
		}
		OPS(to, DW_LNS_advance_line);
		put_sleb(to, -(int64_t)line);
		OPS(to, DW_LNS_copy, DW_LNS_advance_pc, GORGON_LINES_ENTRY_SIZE);
		OPS(to, 0, 1, DW_LNE_end_sequence);
	}
	set_number(to, 0, to->size - 4, 4);
}

// @section: the number of the section of code that it is in.
static void put_symbol(struct gorgon_lines_bytes *symbols, struct gorgon_lines_bytes *names,
		       const char *name, size_t section, uint64_t offset, uint64_t size)
{
	Elf64_Sym symbol = {.st_name = (uint32_t)names->size,
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = (uint16_t)section,
			    .st_value = offset,
			    .st_size = size};

	put_text(names, name);
	put(symbols, &symbol, sizeof(symbol));
}

// --- the file ------------------------------------------------------------------------------------

struct contents {
	struct gorgon_lines_bytes info, abbrev, line, frame, symbols, names;
};

// Code that a symfile tells of: a section each.
struct text {
	uint64_t address, size;
};

static void put_section(struct gorgon_lines_bytes *to, struct gorgon_lines_bytes *names,
			Elf64_Shdr *header, const char *name,
			const struct gorgon_lines_bytes *data)
{
	header->sh_name = (uint32_t)names->size;
	header->sh_addralign = 8;
	put_text(names, name);
	align(to, 8);
	header->sh_offset = to->size;
	if (!data)
		return;
	header->sh_size = data->size;
	put(to, data->data, data->size);
	to->failed |= data->failed;
}

static void put_file(struct gorgon_lines_bytes *to, const struct text *texts, size_t text_count,
		     struct contents *contents)
{
	const struct section {
		const char *name;
		uint32_t type, info, entry_size;
		struct gorgon_lines_bytes *data;
	} sections[] = {
		{".debug_info", SHT_PROGBITS, 0, 0, &contents->info},
		{".debug_abbrev", SHT_PROGBITS, 0, 0, &contents->abbrev},
		{".debug_line", SHT_PROGBITS, 0, 0, &contents->line},
		{".debug_frame", SHT_PROGBITS, 0, 0, &contents->frame},
		{".symtab", SHT_SYMTAB, 1, sizeof(Elf64_Sym), &contents->symbols},
		{".strtab", SHT_STRTAB, 0, 0, &contents->names},
	};
	const size_t others = sizeof(sections) / sizeof(*sections);
	const size_t count = 1 + text_count + others + 1;
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)count,
		.e_shstrndx = (uint16_t)(count - 1),
	};
	Elf64_Shdr *headers = calloc(count, sizeof(*headers));
	struct gorgon_lines_bytes names = {0};

	if (!headers) {
		to->failed = true;
		return;
	}
	put(to, &header, sizeof(header));
	put_text(&names, "");
	for (size_t i = 0; i < text_count; i++) {
		Elf64_Shdr *text = &headers[1 + i];

		put_section(to, &names, text, ".text", NULL);
		text->sh_type = SHT_NOBITS;
		text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		text->sh_addr = texts[i].address;
		text->sh_size = texts[i].size;
	}
	for (size_t i = 0; i < others; i++) {
		Elf64_Shdr *other = &headers[1 + text_count + i];

		put_section(to, &names, other, sections[i].name, sections[i].data);
		other->sh_type = sections[i].type;
		other->sh_info = sections[i].info;
		other->sh_entsize = sections[i].entry_size;
		if (sections[i].type == SHT_SYMTAB)
			other->sh_link = (uint32_t)(1 + text_count + others - 1);
	}
	headers[count - 1].sh_type = SHT_STRTAB;
	put_section(to, &names, &headers[count - 1], ".shstrtab", NULL);
	headers[count - 1].sh_size = names.size;
	put(to, names.data, names.size);
	to->failed |= names.failed;
	align(to, 8);
	header.e_shoff = to->size;
	put(to, headers, count * sizeof(*headers));
	if (!to->failed)
		memcpy(to->data, &header, sizeof(header));
	free(names.data);
	free(headers);
}

static void begin_contents(struct contents *contents, uint64_t code,
			   const struct gorgon_lines_layout *layout)
{
	static const Elf64_Sym none;

	put_text(&contents->names, "");
	put(&contents->symbols, &none, sizeof(none));
	put_cie(&contents->frame, layout, code + GORGON_LINES_GENERIC + 1);
}

static void free_contents(struct contents *contents)
{
	free(contents->info.data);
	free(contents->abbrev.data);
	free(contents->line.data);
	free(contents->frame.data);
	free(contents->symbols.data);
	free(contents->names.data);
}

void gorgon_lines_describe_code(struct gorgon_lines_bytes *ret, uint64_t code,
				const struct gorgon_lines_layout *layout)
{
	const struct {
		const char *name;
		uint64_t offset, size;
	} symbols[] = {
		{"python_frame", GORGON_LINES_FRAME, GORGON_LINES_FRAME_END},
		{"python_tracer", GORGON_LINES_TRACER, GORGON_LINES_LEAVE - GORGON_LINES_TRACER},
		{"python_line_leave", GORGON_LINES_LEAVE,
		 GORGON_LINES_GENERIC - GORGON_LINES_LEAVE},
		{layout->records ? ANYWHERE : "python_code", GORGON_LINES_GENERIC,
		 GORGON_LINES_RAISED - GORGON_LINES_GENERIC},
		{"python_exception_raised", GORGON_LINES_RAISED,
		 GORGON_LINES_CODE_SIZE - GORGON_LINES_RAISED},
	};
	struct contents contents = {0};
	size_t generic;

	begin_contents(&contents, code, layout);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		put_symbol(&contents.symbols, &contents.names, symbols[i].name, 1,
			   symbols[i].offset, symbols[i].size);
	put_frame_rules(&contents.frame, code, layout);
	put_leaf_rules(&contents.frame, code + GORGON_LINES_TRACER,
		       GORGON_LINES_LEAVE - GORGON_LINES_TRACER);
	put_leaf_rules(&contents.frame, code + GORGON_LINES_LEAVE,
		       GORGON_LINES_GENERIC - GORGON_LINES_LEAVE);
	generic = begin_function(&contents.frame, code + GORGON_LINES_GENERIC,
				 GORGON_LINES_RAISED - GORGON_LINES_GENERIC);
	end_entry(&contents.frame, generic);
	put_raised_rules(&contents.frame, code, layout);
	put(&contents.abbrev, abbrevs, sizeof(abbrevs));
	put_info_of_code(&contents.info, code);
	put_file(ret, &(struct text){code, GORGON_LINES_CODE_SIZE}, 1, &contents);
	free_contents(&contents);
}

// @section: the number of the file's section of code.
static void describe_file(struct contents *contents, const struct gorgon_lines_file *file,
			  size_t section, uint64_t code, const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes info = {0}, line = {0};

	put_info(&info, file, contents->line.size, code, layout);
	put_lines(&line, file);
	put(&contents->info, info.data, info.size);
	put(&contents->line, line.data, line.size);
	contents->info.failed |= info.failed;
	contents->line.failed |= line.failed;
	free(info.data);
	free(line.data);
	if (layout->records)
		put_symbol(&contents->symbols, &contents->names, ANYWHERE, section, 0,
			   file->text_size);
	for (size_t i = 0; i < file->function_count; i++) {
		const struct gorgon_lines_function *function = &file->functions[i];

		put_stub_rules(&contents->frame, function, layout);
		if (!layout->records)
			put_symbol(&contents->symbols, &contents->names, function->name, section,
			   (uint64_t)(function->text - file->text),
			   gorgon_lines_text_size(function));
	}
}

void gorgon_lines_describe_files(struct gorgon_lines_bytes *ret,
				 const struct gorgon_lines_file *files, uint64_t code,
				 const struct gorgon_lines_layout *layout)
{
	struct text texts[GORGON_LINES_FILES_MAX];
	struct contents contents = {0};
	size_t count = 0;

	begin_contents(&contents, code, layout);
	put(&contents.abbrev, abbrevs, sizeof(abbrevs));
	for (const struct gorgon_lines_file *file = files; file; file = file->next) {
		texts[count++] = (struct text){(uintptr_t)file->text, file->text_size};
		describe_file(&contents, file, count, code, layout);
	}
	put_file(ret, texts, count, &contents);
	free_contents(&contents);
}

#endif
