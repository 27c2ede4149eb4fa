// SPDX-License-Identifier: MIT
// This file writes the unwind rules of Python lines into .debug_frame, which only debuggers read.
//
//     _PyEval_EvalFrameDefault   CPython's own rules
//     python_frame               calls it; its caller is, by our rule, the line that is reached
//     shop.price                 a stub, which is not run for this; its caller is the real caller
//                                of python_frame
//     _PyEval_Vector             and so on, by CPython's own rules
//
// The rule of python_frame goes from the frame to its code object, from there to our struct
// gorgon_lines_function, and takes the address of the line from its table. A frame that has none
// is in the stub that all of these have in common. A stub that is run, because a breakpoint is
// there, has the frame in a register, so it is the same frame as one that is found by unwinding. A
// stub's caller is another stub, or, for the first frame of an evaluator, the real caller of
// python_frame.
//
// Specification: DWARF 4, sections 2.5 and 6.4.

#define _GNU_SOURCE
#include "machine.h"
#include "symfile.h"

#include "bytes.h"

// Registers that python_frame has saved in its record, at @offset.
static const struct {
	uint8_t reg, offset;
} saved[] = GORGON_LINES_SAVED_REGISTERS;

#define SAVED_COUNT (sizeof(saved) / sizeof(*saved))

static void def_cfa(struct gorgon_lines_bytes *to, uint64_t reg, uint64_t offset)
{
	OPS(to, DW_CFA_def_cfa);
	put_uleb(to, reg);
	put_uleb(to, offset);
}

static void advance(struct gorgon_lines_bytes *to, unsigned bytes)
{
	if (bytes < 64)
		OPS(to, (uint8_t)(DW_CFA_advance_loc | bytes));
	else
		OPS(to, DW_CFA_advance_loc1, (uint8_t)bytes);
}

static void all_saved(struct gorgon_lines_bytes *to)
{
	for (size_t i = 0; i < SAVED_COUNT; i++)
		OPS(to, (uint8_t)(DW_CFA_offset | saved[i].reg),
		    (uint8_t)((GORGON_LINES_RECORD_SIZE - saved[i].offset) / 8));
}

// The registers are those of the caller, which has just called the code.
static void none_saved(struct gorgon_lines_bytes *to)
{
	for (size_t i = 0; i < SAVED_COUNT; i++)
		OPS(to, DW_CFA_same_value, saved[i].reg);
	if (GORGON_LINES_CALL_DEPTH)
		OPS(to, DW_CFA_offset | GORGON_LINES_REG_RETURN, 1);
}

// Code that has just been called, in place of the CIE's rules.
static void begin_code(struct gorgon_lines_bytes *to)
{
	def_cfa(to, GORGON_LINES_REG_STACK, GORGON_LINES_CALL_DEPTH);
	OPS(to, DW_CFA_val_offset, GORGON_LINES_REG_STACK, 0);
	none_saved(to);
}

static void put_rule(struct gorgon_lines_bytes *to, uint8_t reg, struct gorgon_lines_bytes *x)
{
	OPS(to, DW_CFA_val_expression, reg);
	put_block(to, x);
}

// LLDB compares this number as one without a sign, gdb as -1, which DWARF wants.
static size_t begin_if_gdb(struct gorgon_lines_bytes *x)
{
	put_number_op(x, UINT64_MAX);
	OPS(x, DW_OP_lit1, DW_OP_lt);
	return begin_jump(x, DW_OP_bra);
}

// A register has the frame, or its record. A frame's CFA is made of the frame's own address, so
// that a debugger that keeps the CFA finds the frame again: gdb finds other registers only by going
// through all younger frames. gdb accepts any CFA for frames of GORGON_LINES_ANYWHERE, if the CFA
// is below that of the older C frame: it is what is left from there to the end of all addresses.
// LLDB keeps registers, and wants each younger frame's CFA to be below those of older frames: these
// are behind that end. Where frames lead in a circle (newest_of_record()) it counts
// GORGON_LINES_CHAIN_MAX.
static void frame_is(struct gorgon_lines_bytes *to, uint8_t reg,
		     const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes x = {0};
	size_t is_gdb, again, done;

	is_gdb = begin_if_gdb(&x);
	put_number_op(&x, 2 * layout->end);
	OPS(&x, (uint8_t)(DW_OP_breg0 + reg), 0);
	again = x.size;
	// address frame
	OPS(&x, DW_OP_swap, DW_OP_lit16, DW_OP_minus, DW_OP_swap, DW_OP_plus_uconst,
	    layout->frame_previous, DW_OP_deref, DW_OP_dup, DW_OP_lit0, DW_OP_ne, DW_OP_pick, 2);
	put_number_op(&x, 2 * layout->end - 16 * (uint64_t)GORGON_LINES_CHAIN_MAX);
	OPS(&x, DW_OP_gt, DW_OP_and);
	end_jump_back(&x, begin_jump(&x, DW_OP_bra), again);
	OPS(&x, DW_OP_drop);
	done = begin_jump(&x, DW_OP_skip);
	end_jump(&x, is_gdb);
	put_number_op(&x, layout->end);
	OPS(&x, (uint8_t)(DW_OP_breg0 + reg), 0, DW_OP_minus);
	end_jump(&x, done);
	OPS(to, DW_CFA_def_cfa_expression);
	put_block(to, &x);
}

void gorgon_lines_frame_of_cfa(struct gorgon_lines_bytes *x,
			       const struct gorgon_lines_layout *layout)
{
	size_t is_gdb = begin_if_gdb(x), done;

	OPS(x, DW_OP_drop, DW_OP_breg0 + GORGON_LINES_REG_FRAME, 0);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, is_gdb);
	put_number_op(x, layout->end);
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
	align_bytes(to, 8); // with DW_CFA_nop, which is 0
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

// In place of the frame on the stack, if CPython has put it between an __init__ and who makes the
// object: who does.
static void skip_shim(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t shim, done;

	OPS(x, DW_OP_dup, DW_OP_plus_uconst, (uint8_t)(layout->frame_globals - 8), DW_OP_deref);
	OPS(x, DW_OP_const1s, (uint8_t)~GORGON_LINES_TAG, DW_OP_and);
	put_number_op(x, layout->none);
	OPS(x, DW_OP_eq);
	shim = begin_jump(x, DW_OP_bra);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, shim);
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	end_jump(x, done);
}

// Evaluators of CPython 3.11 have no frames of their own. While debuggers follow Python frames, a
// register has the record of the evaluator that runs the younger one of them, or that a younger
// frame has been called by. The frame on the stack is the first one of an evaluator: put its record
// there, too.
static void record_of_first(struct gorgon_lines_bytes *x)
{
	size_t again, found, older, done;

	OPS(x, DW_OP_breg0 + GORGON_LINES_REG_RECORD, 0);
	again = x->size;
	// frame record
	OPS(x, DW_OP_over, DW_OP_over, DW_OP_deref, DW_OP_eq);
	found = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_dup, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, older),
	    DW_OP_deref);
	// frame record older
	OPS(x, DW_OP_over, DW_OP_over, DW_OP_lt);
	older = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_drop);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, older);
	OPS(x, DW_OP_swap, DW_OP_drop);
	end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	end_jump(x, found);
	end_jump(x, done);
}

static void record_of_own(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout,
			  uint64_t offset)
{
	OPS(x, DW_OP_plus_uconst);
	put_uleb(x, layout->entry_record + offset);
}

// A register of the caller, which is the frame on the stack.
static void put_register(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout,
			 uint64_t generic, uint8_t reg)
{
	if (reg == GORGON_LINES_REG_RETURN)
		line_of_frame(x, layout, generic);
	else if (reg != GORGON_LINES_REG_FRAME && reg != GORGON_LINES_REG_STACK)
		OPS(x, DW_OP_drop, (uint8_t)(DW_OP_breg0 + reg), 0);
}

// Of C code, whose registers are in the record on the stack, @reg at @offset.
static void put_saved(struct gorgon_lines_bytes *x, uint8_t reg, uint8_t offset)
{
	OPS(x, DW_OP_plus_uconst);
	put_uleb(x, offset);
	if (reg != GORGON_LINES_REG_STACK)
		OPS(x, DW_OP_deref);
}

static void put_caller(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout,
		       uint64_t generic, uint8_t reg, uint8_t offset)
{
	size_t first, done;

	gorgon_lines_frame_of_cfa(x, layout);
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	first = begin_if_own(x, layout);
	skip_shim(x, layout);
	put_register(x, layout, generic, reg);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, first);
	record_of_own(x, layout, 0);
	put_saved(x, reg, offset);
	end_jump(x, done);
}

// In CPython 3.11.
static void put_caller_by_list(struct gorgon_lines_bytes *x,
			       const struct gorgon_lines_layout *layout, uint64_t generic,
			       uint8_t reg, uint8_t offset)
{
	size_t first, done, done_too, direct, again;

	gorgon_lines_frame_of_cfa(x, layout);
	OPS(x, DW_OP_dup, DW_OP_plus_uconst, layout->frame_entry, DW_OP_deref_size, 1);
	first = begin_jump(x, DW_OP_bra);
	again = x->size;
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	put_register(x, layout, generic, reg);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, first);
	record_of_first(x);
	// frame record
	OPS(x, DW_OP_dup, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, entry),
	    DW_OP_deref, DW_OP_lit0 + GORGON_LINES_DIRECT, DW_OP_and);
	direct = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_swap, DW_OP_drop);
	put_saved(x, reg, offset);
	done_too = begin_jump(x, DW_OP_skip);
	end_jump(x, direct);
	if (reg == GORGON_LINES_REG_RECORD) {
		OPS(x, DW_OP_swap, DW_OP_drop, DW_OP_plus_uconst,
		    offsetof(struct gorgon_lines_record, older), DW_OP_deref);
	} else {
		OPS(x, DW_OP_drop);
		end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	}
	end_jump(x, done);
	end_jump(x, done_too);
}

// The rules for a frame that leads to its caller: that is a frame of the same evaluator, or, for
// the evaluator's first one, C code, whose registers are in the evaluator's record.
static void put_callers(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout,
			uint64_t generic)
{
	for (size_t i = 0; i <= SAVED_COUNT; i++) {
		uint8_t reg = i < SAVED_COUNT ? saved[i].reg : GORGON_LINES_REG_STACK;
		uint8_t offset = i < SAVED_COUNT ? saved[i].offset : GORGON_LINES_RECORD_SIZE;
		struct gorgon_lines_bytes x = {0};

		if (layout->frame_entry)
			put_caller_by_list(&x, layout, generic, reg, offset);
		else
			put_caller(&x, layout, generic, reg, offset);
		put_rule(to, reg, &x);
	}
}

// From an evaluator's record to the newest frame that it runs: the thread's newest, or that which
// the next younger evaluator's own frame leads to. The evaluator's first frame has no other way to
// be found while it ends. While an evaluator begins, the chain of frames may lead anywhere, also in
// a circle: it is given up where it began, or after GORGON_LINES_CHAIN_MAX frames.
static void newest_of_record(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t outer, inner, circle, own, found, ends, none, done;

	OPS(x, DW_OP_lit0, DW_OP_over, DW_OP_plus_uconst,
	    offsetof(struct gorgon_lines_record, state), DW_OP_deref, DW_OP_plus_uconst,
	    layout->state_frame, DW_OP_deref);
	if (layout->minor == 12)
		OPS(x, DW_OP_deref);
	outer = x->size;
	// record count frame
	OPS(x, DW_OP_dup);
	inner = x->size;
	// record count frame other
	OPS(x, DW_OP_rot, DW_OP_swap, DW_OP_plus_uconst, 1, DW_OP_rot, DW_OP_swap);
	OPS(x, DW_OP_dup, DW_OP_lit0, DW_OP_eq, DW_OP_pick, 3, DW_OP_const2u);
	put_number(x, GORGON_LINES_CHAIN_MAX, 2);
	OPS(x, DW_OP_gt, DW_OP_or);
	none = begin_jump(x, DW_OP_bra);
	own = begin_if_own(x, layout);
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	OPS(x, DW_OP_over, DW_OP_over, DW_OP_eq, DW_OP_lit0, DW_OP_eq);
	end_jump_back(x, begin_jump(x, DW_OP_bra), inner);
	circle = begin_jump(x, DW_OP_skip);
	end_jump(x, own);
	OPS(x, DW_OP_dup);
	record_of_own(x, layout, 0);
	OPS(x, DW_OP_pick, 4, DW_OP_eq);
	found = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_swap, DW_OP_drop, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref);
	end_jump_back(x, begin_jump(x, DW_OP_skip), outer);
	end_jump(x, found);
	OPS(x, DW_OP_over, DW_OP_eq);
	ends = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_rot, DW_OP_drop, DW_OP_drop);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, none);
	end_jump(x, circle);
	OPS(x, DW_OP_drop);
	end_jump(x, ends);
	OPS(x, DW_OP_drop, DW_OP_drop, DW_OP_deref);
	end_jump(x, done);
}

// In CPython 3.11 the thread has a list of its evaluators. One that begins or ends is not in it: it
// has its first frame only.
static void newest_by_list(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t again, found, more, done;

	OPS(x, DW_OP_dup, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, state),
	    DW_OP_deref, DW_OP_plus_uconst, layout->state_cframe, DW_OP_deref);
	again = x->size;
	// record cframe
	OPS(x, DW_OP_over, DW_OP_over);
	record_of_own(x, layout, 0);
	OPS(x, DW_OP_eq);
	found = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_plus_uconst, layout->cframe_previous, DW_OP_deref, DW_OP_dup);
	more = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_drop, DW_OP_deref);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, more);
	end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	end_jump(x, found);
	OPS(x, DW_OP_swap, DW_OP_drop, DW_OP_plus_uconst, layout->cframe_frame, DW_OP_deref);
	end_jump(x, done);
}

// Its rules are those of a stub: the frame, or the record, in a register.
void gorgon_lines_put_cie(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout,
			  uint64_t generic)
{
	size_t start = begin_entry(to);

	put_number(to, UINT32_MAX, 4);
	OPS(to, 4, 0, 8, 0); // version, augmentation, sizes of addresses and segments
	put_uleb(to, 1);
	put_sleb(to, -8);
	put_uleb(to, GORGON_LINES_REG_RETURN);
	frame_is(to, GORGON_LINES_REG_FRAME, layout);
	put_callers(to, layout, generic);
	end_entry(to, start);
}

// The return address is the line of a frame. @frame: what makes its address out of the CFA.
static void returns_to_line(struct gorgon_lines_bytes *to, const uint8_t *frame, size_t size,
			    const struct gorgon_lines_layout *layout, uint64_t generic)
{
	struct gorgon_lines_bytes rule = {0};

	put_bytes(&rule, frame, size);
	line_of_frame(&rule, layout, generic);
	put_rule(to, GORGON_LINES_REG_RETURN, &rule);
}

// While the evaluator runs.
static void put_evaluator_rules(struct gorgon_lines_bytes *to, uint64_t code,
				const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes frame = {0};

	begin_code(to);
	def_cfa(to, GORGON_LINES_REG_STACK, GORGON_LINES_RECORD_SIZE);
	OPS(&frame, DW_OP_const1u, GORGON_LINES_RECORD_SIZE, DW_OP_minus);
	if (layout->frame_entry) {
		struct gorgon_lines_bytes record = {0};

		OPS(&record, DW_OP_const1u, GORGON_LINES_RECORD_SIZE, DW_OP_minus);
		put_rule(to, GORGON_LINES_REG_RECORD, &record);
		newest_by_list(&frame, layout);
	} else {
		newest_of_record(&frame, layout);
		skip_shim(&frame, layout);
	}
	returns_to_line(to, frame.data, frame.size, layout, code + GORGON_LINES_GENERIC_RESUME);
	put_rule(to, GORGON_LINES_REG_FRAME, &frame);
}

static void put_frame_rules(struct gorgon_lines_bytes *to, uint64_t code,
			    const struct gorgon_lines_layout *layout)
{
	static const struct {
		uint16_t at;
		uint8_t depth;
		bool saved;
	} depths[] = GORGON_LINES_DEPTHS;
	size_t start = begin_function(to, code + GORGON_LINES_FRAME, GORGON_LINES_FRAME_END);
	unsigned at = 0;

	begin_code(to);
	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		if (depths[i].at == GORGON_LINES_CALLED) {
			advance(to, GORGON_LINES_CALL - at);
			put_evaluator_rules(to, code, layout);
			at = GORGON_LINES_CALL;
		}
		advance(to, depths[i].at - at);
		at = depths[i].at;
		def_cfa(to, GORGON_LINES_REG_STACK, depths[i].depth);
		if (depths[i].saved)
			all_saved(to);
		else
			none_saved(to);
	}
	end_entry(to, start);
}

// Functions of ours that have no frame: the tracer's entry, and "leave".
static void put_leaf_rules(struct gorgon_lines_bytes *to, uint64_t address, uint64_t size)
{
	size_t start = begin_function(to, address, size);

	begin_code(to);
	end_entry(to, start);
}

// The function that is run for an exception: the frame that runs has called it, debuggers think.
static void put_raised_rules(struct gorgon_lines_bytes *to, uint64_t code,
			     const struct gorgon_lines_layout *layout)
{
	size_t start = begin_function(to, code + GORGON_LINES_RAISED,
				      GORGON_LINES_CODE_SIZE - GORGON_LINES_RAISED);

	begin_code(to);
	returns_to_line(to, (const uint8_t[]){DW_OP_drop, DW_OP_breg0 + GORGON_LINES_REG_FRAME, 0},
			3, layout, code + GORGON_LINES_GENERIC_RESUME);
	end_entry(to, start);
}

// When the mov has put the caller's record into the frame's register, the frame's own is still that
// of the newest.
static void put_stub(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout)
{
	advance(to, GORGON_LINES_STUB_JUMP);
	OPS(to, DW_CFA_remember_state);
	frame_is(to, GORGON_LINES_REG_NEWEST, layout);
	OPS(to, DW_CFA_register, GORGON_LINES_REG_FRAME, GORGON_LINES_REG_ARGUMENT, DW_CFA_register,
	    GORGON_LINES_REG_RETURN, GORGON_LINES_REG_BACK, DW_CFA_same_value,
	    GORGON_LINES_REG_RECORD);
	advance(to, GORGON_LINES_STUB_TAIL - GORGON_LINES_STUB_JUMP);
	OPS(to, DW_CFA_restore_state);
	advance(to, GORGON_LINES_STUB_SIZE - GORGON_LINES_STUB_TAIL);
}

void gorgon_lines_put_code_rules(struct gorgon_lines_bytes *to, uint64_t code,
				 const struct gorgon_lines_layout *layout)
{
	size_t generic;

	put_frame_rules(to, code, layout);
	put_leaf_rules(to, code + GORGON_LINES_TRACER, GORGON_LINES_LEAVE - GORGON_LINES_TRACER);
	put_leaf_rules(to, code + GORGON_LINES_LEAVE, GORGON_LINES_GENERIC - GORGON_LINES_LEAVE);
	generic = begin_function(to, code + GORGON_LINES_GENERIC,
				 GORGON_LINES_RAISED - GORGON_LINES_GENERIC);
	put_stub(to, layout);
	end_entry(to, generic);
	put_raised_rules(to, code, layout);
}

// These rules are for the stubs of a function. At an entry the frame's register holds the caller's
// record, until the mov gives it another value.
void gorgon_lines_put_stub_rules(struct gorgon_lines_bytes *to,
				 const struct gorgon_lines_function *function,
				 const struct gorgon_lines_layout *layout)
{
	size_t start =
		begin_function(to, (uintptr_t)function->text, gorgon_lines_text_size(function));

	for (size_t i = 0; i < function->line_count; i++)
		put_stub(to, layout);
	OPS(to, DW_CFA_remember_state);
	frame_is(to, GORGON_LINES_REG_NEWEST, layout);
	OPS(to, DW_CFA_same_value, GORGON_LINES_REG_FRAME);
	OPS(to, DW_CFA_same_value, GORGON_LINES_REG_RECORD);
	OPS(to, DW_CFA_register, GORGON_LINES_REG_RETURN, GORGON_LINES_REG_BACK);
	advance(to, GORGON_LINES_ENTRY_JUMP);
	OPS(to, DW_CFA_restore_state);
	end_entry(to, start);
}
