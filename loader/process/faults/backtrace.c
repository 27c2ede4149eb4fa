// SPDX-License-Identifier: MIT
// Walking the stack of a thread that a fault has interrupted, in the handler of the signal.
//
// libgcc's unwinder may take a lock and allocate: a fault inside malloc() or inside a throw would
// hang in it. This walk reads the same tables, .eh_frame_hdr and .eh_frame, which _dl_find_object()
// finds without a lock, for private objects as for those of the system's linker.
//
// The tables are trusted as far as an unwinder trusts them, the stack is not: the caller catches
// faults (faults.c). The walk ends at the first frame whose code has no tables, with one exception:
// when the interrupted address itself is in no object, a call has gone astray, and its return
// address is where calls leave it.
//
// Only registers that calls preserve are restored, and operators that linkers and the C library
// write into expressions are known; with anything else the walk ends.
//
// Specification: DWARF 5, 6.4 and 2.5; LSB, "Exception Frames"; the psABI of each machine.

#define _GNU_SOURCE
#include "backtrace.h"
#include "process/registers.h"
#include "ns/unwind.h"
#include "file/eh_frame.h"

#include <dlfcn.h>
#include <string.h>

#define RED_ZONE \
	128     // below the stack pointer, which functions that call none may use (psABI, 3.2.2)
#define DEPTH 8 // of DW_CFA_remember_state, and of an expression's stack times two

// --- reading ------------------------------------------------------------------------------------

struct bounds {
	uint64_t low, high;
};

// Read what is at an address of the stack. Damaged unwind tables may name any address, even NULL.
// Reading it is a fault then: the caller of the walk catches the fault, and a sanitizer must not
// report it; or there are bounds, and what is not in them is 0.
static __attribute__((no_sanitize("address", "undefined"))) uint64_t
backtrace_load(uint64_t addr, const struct bounds *bounds)
{
	uint64_t ret;

	if (addr < bounds->low || addr > bounds->high - sizeof(ret))
		return 0;
	memcpy(&ret, (const void *)(uintptr_t)addr, sizeof(ret));
	return ret;
}

// --- the record of an address
// ----------------------------------------------------------------------

struct description {
	uint64_t start, end; // the addresses that it is for
	struct jitreg_cie cie;
	struct jitreg_cursor program;
};

// What follows the length of a record, which an unwinder takes on trust.
static bool open_record(const uint8_t *record, struct jitreg_cursor *ret)
{
	struct jitreg_cursor c = {.at = record, .end = (const uint8_t *)UINTPTR_MAX};

	return jitreg_eh_frame_next(&c, ret);
}

static bool read_fde(const uint8_t *record, uint64_t pc, struct description *ret)
{
	struct jitreg_cursor c, cie;
	const uint8_t *place;
	uint64_t delta, size;

	memset(ret, 0, sizeof(*ret));
	if (!open_record(record, &c))
		return false;
	place = c.at;
	delta = jitreg_cursor_number(&c, 4);
	if (!delta || !open_record(place - delta, &cie) || jitreg_cursor_number(&cie, 4) ||
	    !jitreg_eh_frame_cie(cie, &ret->cie) || ret->cie.return_register != RA)
		return false;
	ret->start = jitreg_eh_frame_address(&c, ret->cie.encoding, 0);
	size = jitreg_cursor_number(&c, (unsigned)jitreg_eh_frame_size(ret->cie.encoding));
	ret->end = ret->start + size;
	if (ret->cie.has_size)
		jitreg_cursor_skip(&c, jitreg_cursor_uleb(&c));
	ret->program = c;
	return !c.bad && pc >= ret->start && pc - ret->start < size;
}

// The search table of .eh_frame_hdr: pairs of 32-bit distances from its start, sorted by the first
// one.
static const uint8_t *find_fde(const uint8_t *hdr, uint64_t pc)
{
	struct jitreg_cursor c = {.at = hdr + 4, .end = hdr + 64};
	const uint8_t *table;
	uint64_t count;
	size_t low = 0, high;
	int32_t pair[2];

	if (hdr[0] != 1 || hdr[3] != 0x3b)
		return NULL;
	jitreg_eh_frame_address(&c, hdr[1], 0);
	count = jitreg_eh_frame_address(&c, hdr[2], 0);
	table = c.at;
	high = (size_t)count;
	if (c.bad)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		memcpy(pair, table + middle * sizeof(pair), sizeof(pair));
		if ((uint64_t)((int64_t)(uintptr_t)hdr + pair[0]) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	memcpy(pair, table + (low - 1) * sizeof(pair), sizeof(pair));
	return hdr + pair[1];
}

static bool backtrace_describe(uint64_t pc, struct description *ret)
{
	struct dl_find_object found;
	const uint8_t *record;

	if (gorgon_unwind_find_object((void *)(uintptr_t)pc, &found) || !found.dlfo_eh_frame)
		return false;
	record = find_fde(found.dlfo_eh_frame, pc);
	return record && read_fde(record, pc, ret);
}

// --- rules
// -----------------------------------------------------------------------------------------

enum kind {
	SAME,
	UNDEFINED,
	AT_OFFSET,  // in memory, @value behind the CFA
	IS_OFFSET,  // the address itself
	AT_EXPRESSION,
	IS_EXPRESSION,
	IN_REGISTER,
};

struct rule {
	enum kind kind;
	int64_t value;
	struct jitreg_cursor expression;
};

struct cfi_row {
	struct rule rules[REGISTERS];
	struct rule cfa; // IN_REGISTER with an offset, or IS_EXPRESSION
	unsigned cfa_register;
};

static struct jitreg_cursor read_block(struct jitreg_cursor *c)
{
	struct jitreg_cursor ret;
	uint64_t size = jitreg_cursor_uleb(c);

	ret = *c;
	jitreg_cursor_skip(c, size);
	ret.end = c->at;
	return ret;
}

static void set_rule(struct cfi_row *row, uint64_t number, enum kind kind, int64_t value)
{
	if (number < REGISTERS)
		row->rules[number] = (struct rule){.kind = kind, .value = value};
}

static void set_expression(struct cfi_row *row, uint64_t number, enum kind kind,
			   struct jitreg_cursor expression)
{
	if (number < REGISTERS)
		row->rules[number] = (struct rule){.kind = kind, .expression = expression};
}

static void set_cfa(struct cfi_row *row, uint64_t number, int64_t offset)
{
	row->cfa = (struct rule){.kind = IN_REGISTER, .value = offset};
	row->cfa_register = (unsigned)number;
}

// Execute instructions up to those for addresses behind @pc. @first: the row that DW_CFA_restore
// goes back to.
static bool backtrace_execute(struct jitreg_cursor r, const struct description *d, uint64_t pc,
			      struct cfi_row *row, const struct cfi_row *first)
{
	struct cfi_row saved[DEPTH];
	unsigned depth = 0;
	uint64_t at = d->start, number;

	while (jitreg_cursor_more(&r)) {
		uint8_t byte = (uint8_t)jitreg_cursor_number(&r, 1), low = byte & 0x3f;

		switch (byte & 0xc0) {
		case 0x40: // advance_loc
			at += low * d->cie.code_factor;
			if (at > pc)
				return true;
			continue;
		case 0x80: // offset
			set_rule(row, low, AT_OFFSET,
				 (int64_t)jitreg_cursor_uleb(&r) * d->cie.data_factor);
			continue;
		case 0xc0: // restore
			if (low < REGISTERS)
				row->rules[low] = first->rules[low];
			continue;
		}
		switch (byte) {
		case 0x00: // nop
			break;
		case 0x01: // set_loc
			at = jitreg_eh_frame_address(&r, d->cie.encoding, 0);
			break;
		case 0x02: // advance_loc1, 2, 4
		case 0x03:
		case 0x04:
			at += jitreg_cursor_number(&r, 1u << (byte - 2)) * d->cie.code_factor;
			break;
		case 0x05: // offset_extended
			number = jitreg_cursor_uleb(&r);
			set_rule(row, number, AT_OFFSET,
				 (int64_t)jitreg_cursor_uleb(&r) * d->cie.data_factor);
			break;
		case 0x06: // restore_extended
			number = jitreg_cursor_uleb(&r);
			if (number < REGISTERS)
				row->rules[number] = first->rules[number];
			break;
		case 0x07: // undefined
			set_rule(row, jitreg_cursor_uleb(&r), UNDEFINED, 0);
			break;
		case 0x08: // same_value
			set_rule(row, jitreg_cursor_uleb(&r), SAME, 0);
			break;
		case 0x09: // register
			number = jitreg_cursor_uleb(&r);
			set_rule(row, number, IN_REGISTER, (int64_t)jitreg_cursor_uleb(&r));
			break;
		case 0x0a: // remember_state
			if (depth == DEPTH)
				return false;
			saved[depth++] = *row;
			break;
		case 0x0b: // restore_state
			if (!depth)
				return false;
			*row = saved[--depth];
			break;
		case 0x0c: // def_cfa
			number = jitreg_cursor_uleb(&r);
			set_cfa(row, number, (int64_t)jitreg_cursor_uleb(&r));
			break;
		case 0x0d: // def_cfa_register
			row->cfa_register = (unsigned)jitreg_cursor_uleb(&r);
			break;
		case 0x0e: // def_cfa_offset
			row->cfa.value = (int64_t)jitreg_cursor_uleb(&r);
			break;
		case 0x0f: // def_cfa_expression
			row->cfa =
				(struct rule){.kind = IS_EXPRESSION, .expression = read_block(&r)};
			break;
		case 0x10: // expression
			number = jitreg_cursor_uleb(&r);
			set_expression(row, number, AT_EXPRESSION, read_block(&r));
			break;
		case 0x11: // offset_extended_sf
			number = jitreg_cursor_uleb(&r);
			set_rule(row, number, AT_OFFSET,
				 jitreg_cursor_sleb(&r) * d->cie.data_factor);
			break;
		case 0x12: // def_cfa_sf
			number = jitreg_cursor_uleb(&r);
			set_cfa(row, number, jitreg_cursor_sleb(&r) * d->cie.data_factor);
			break;
		case 0x13: // def_cfa_offset_sf
			row->cfa.value = jitreg_cursor_sleb(&r) * d->cie.data_factor;
			break;
		case 0x14: // val_offset
			number = jitreg_cursor_uleb(&r);
			set_rule(row, number, IS_OFFSET,
				 (int64_t)jitreg_cursor_uleb(&r) * d->cie.data_factor);
			break;
		case 0x15: // val_offset_sf
			number = jitreg_cursor_uleb(&r);
			set_rule(row, number, IS_OFFSET,
				 jitreg_cursor_sleb(&r) * d->cie.data_factor);
			break;
		case 0x16: // val_expression
			number = jitreg_cursor_uleb(&r);
			set_expression(row, number, IS_EXPRESSION, read_block(&r));
			break;
		case 0x2d: // AARCH64_negate_ra_state: signatures are taken off in any case
			break;
		case 0x2e: // GNU_args_size
			jitreg_cursor_uleb(&r);
			break;
		default:
			return false;
		}
		if (at > pc)
			return true;
	}
	return !r.bad;
}

// --- expressions
// -------------------------------------------------------------------------------------

struct stack {
	uint64_t items[2 * DEPTH];
	unsigned count;
	bool failed;
};

static void backtrace_push(struct stack *stack, uint64_t value)
{
	if (stack->count == 2 * DEPTH)
		stack->failed = true;
	else
		stack->items[stack->count++] = value;
}

static uint64_t backtrace_pop(struct stack *stack)
{
	if (stack->count)
		return stack->items[--stack->count];
	stack->failed = true;
	return 0;
}

// An operator of two operands; @b was on top.
static bool backtrace_combine(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	switch (op) {
	case 0x1a: // and
		*ret = a & b;
		return true;
	case 0x1c: // minus
		*ret = a - b;
		return true;
	case 0x1e: // mul
		*ret = a * b;
		return true;
	case 0x21: // or
		*ret = a | b;
		return true;
	case 0x22: // plus
		*ret = a + b;
		return true;
	case 0x24: // shl
		*ret = b < 64 ? a << b : 0;
		return true;
	case 0x25: // shr
		*ret = b < 64 ? a >> b : 0;
		return true;
	case 0x2a: // ge
		*ret = (int64_t)a >= (int64_t)b;
		return true;
	default:
		return false;
	}
}

static bool backtrace_evaluate(struct jitreg_cursor r, const uint64_t *registers,
			       const uint64_t *cfa, const struct bounds *bounds, uint64_t *ret)
{
	struct stack stack = {.count = 0};

	if (cfa)
		backtrace_push(&stack, *cfa);
	while (jitreg_cursor_more(&r) && !stack.failed) {
		uint8_t op = (uint8_t)jitreg_cursor_number(&r, 1);
		uint64_t top;

		if (op >= 0x30 && op <= 0x4f) { // lit0 to lit31
			backtrace_push(&stack, op - 0x30u);
		} else if (op >= 0x70 && op < 0x90 && op - 0x70 < REGISTERS) { // breg0 to breg31
			backtrace_push(&stack,
				       registers[op - 0x70] + (uint64_t)jitreg_cursor_sleb(&r));
		} else if (op == 0x06) { // deref
			backtrace_push(&stack, backtrace_load(backtrace_pop(&stack), bounds));
		// const1u to const8u
		} else if (op == 0x08 || op == 0x0a || op == 0x0c || op == 0x0e) {
			backtrace_push(&stack, jitreg_cursor_number(&r, 1u << (op - 0x08) / 2));
		} else if (op == 0x10) { // constu
			backtrace_push(&stack, jitreg_cursor_uleb(&r));
		} else if (op == 0x11) { // consts
			backtrace_push(&stack, (uint64_t)jitreg_cursor_sleb(&r));
		} else if (op == 0x12) { // dup
			top = backtrace_pop(&stack);
			backtrace_push(&stack, top);
			backtrace_push(&stack, top);
		} else if (op == 0x23) { // plus_uconst
			top = backtrace_pop(&stack);
			backtrace_push(&stack, top + jitreg_cursor_uleb(&r));
		} else {
			uint64_t b = backtrace_pop(&stack), a = backtrace_pop(&stack);

			if (!backtrace_combine(op, a, b, &top))
				return false;
			backtrace_push(&stack, top);
		}
	}
	*ret = backtrace_pop(&stack);
	return !r.bad && !stack.failed;
}

// --- steps
// -------------------------------------------------------------------------------------------

static bool backtrace_restore(const struct rule *rule, uint64_t old, const uint64_t *registers,
			      uint64_t cfa, const struct bounds *bounds, uint64_t *ret)
{
	switch (rule->kind) {
	case SAME:
		*ret = old;
		return true;
	case UNDEFINED:
		*ret = 0;
		return true;
	case AT_OFFSET:
		*ret = backtrace_load(cfa + (uint64_t)rule->value, bounds);
		return true;
	case IS_OFFSET:
		*ret = cfa + (uint64_t)rule->value;
		return true;
	case IN_REGISTER:
		*ret = rule->value < REGISTERS ? registers[rule->value] : 0;
		return rule->value < REGISTERS;
	case AT_EXPRESSION:
		if (!backtrace_evaluate(rule->expression, registers, &cfa, bounds, ret))
			return false;
		*ret = backtrace_load(*ret, bounds);
		return true;
	default:
		return backtrace_evaluate(rule->expression, registers, &cfa, bounds, ret);
	}
}

// From a frame to its caller's. False: there is none, or nobody knows it.
static bool backtrace_step(uint64_t *registers, bool interrupted, const struct bounds *bounds,
			   bool *caller_interrupted)
{
	struct cfi_row row = {.cfa_register = REGISTERS}, first;
	uint64_t next[REGISTERS], cfa, pc = registers[PC] - !interrupted;
	struct description d;

	if (!backtrace_describe(pc, &d)) {
		*caller_interrupted = true;
		return !interrupted && gorgon_arch_undo_signal(registers);
	}
	if (!backtrace_execute(d.cie.rules, &d, UINT64_MAX, &row, &row))
		return false;
	first = row;
	if (!backtrace_execute(d.program, &d, pc, &row, &first) || row.rules[RA].kind == UNDEFINED)
		return false;
	if (row.cfa.kind == IS_EXPRESSION) {
		if (!backtrace_evaluate(row.cfa.expression, registers, NULL, bounds, &cfa))
			return false;
	} else if (row.cfa_register < REGISTERS) {
		cfa = registers[row.cfa_register] + (uint64_t)row.cfa.value;
	} else {
		return false;
	}
	next[SP] = cfa;
	for (unsigned i = 0; i < REGISTERS; i++)
		if ((i != SP || row.rules[i].kind != SAME) &&
		    !backtrace_restore(&row.rules[i], registers[i], registers, cfa, bounds,
				       &next[i]))
			return false;
	// A stack that does not get shorter is damaged, unless a function that calls none was
	// interrupted, which may have nothing on the stack; a handler may have had another stack.
	if (!d.cie.signal &&
	    (next[SP] < registers[SP] || (next[SP] == registers[SP] && !interrupted)))
		return false;
	memcpy(registers, next, sizeof(next));
	registers[PC] = gorgon_arch_code_address(next[RA]);
	*caller_interrupted = d.cie.signal;
	return registers[PC] != 0;
}

static bool is_in_an_object(uint64_t pc)
{
	struct dl_find_object found;

	return !gorgon_unwind_find_object((void *)(uintptr_t)pc, &found);
}

void gorgon_backtrace(const void *context, struct gorgon_frame *frames, size_t capacity,
		      volatile size_t *count)
{
	static const struct bounds everywhere = {0, UINT64_MAX};
	uint64_t registers[REGISTERS];
	bool interrupted = true;

	gorgon_arch_read_context(context, registers);
	*count = 0;
	while (*count < capacity) {
		frames[*count] = (struct gorgon_frame){registers[PC], interrupted};
		*count = *count + 1;
		if (backtrace_step(registers, interrupted, &everywhere, &interrupted))
			continue;
		if (*count > 1 || is_in_an_object(registers[PC]))
			return;
		gorgon_arch_undo_call(registers);
		interrupted = false;
		if (!is_in_an_object(registers[PC]))
			return;
	}
}

static size_t backtrace_between(uint64_t *registers, const struct bounds *bounds,
				struct gorgon_frame *frames, size_t capacity)
{
	bool interrupted = true;
	size_t count = 0;

	while (count < capacity && registers[SP] < bounds->high) {
		frames[count++] = (struct gorgon_frame){registers[PC], interrupted};
		if (!backtrace_step(registers, interrupted, bounds, &interrupted))
			break;
	}
	return count;
}

size_t gorgon_backtrace_below(const void *context, uint64_t top, struct gorgon_frame *frames,
			      size_t capacity)
{
	uint64_t registers[REGISTERS];
	struct bounds bounds;

	gorgon_arch_read_context(context, registers);
	bounds = (struct bounds){registers[SP] - RED_ZONE, top};
	return backtrace_between(registers, &bounds, frames, capacity);
}

// The thread was not interrupted: what its unwind tables name is there.
size_t gorgon_backtrace_here(struct gorgon_frame *frames, size_t capacity)
{
	static const struct bounds everywhere = {0, UINT64_MAX};
	uint64_t registers[REGISTERS];
	ucontext_t here;

	if (getcontext(&here))
		return 0;
	gorgon_arch_read_context(&here, registers);
	return backtrace_between(registers, &everywhere, frames, capacity);
}

uint64_t gorgon_backtrace_function(uint64_t pc, uint64_t *end)
{
	struct description d;

	if (!backtrace_describe(pc, &d))
		return 0;
	*end = d.end;
	return d.start;
}
