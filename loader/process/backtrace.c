// SPDX-License-Identifier: MIT
// Walking the stack of a thread that a fault has interrupted, in the handler of the signal.
//
// libgcc's unwinder may take a lock and allocate: a fault inside malloc() or inside a throw would
// hang in it. This walk reads the same tables, .eh_frame_hdr and .eh_frame, which _dl_find_object()
// finds without a lock, for private objects as for those of the system's linker.
//
// The tables are trusted as far as an unwinder trusts them, the stack is not: the caller catches faults
// (faults.c). The walk ends at the first frame whose code has no tables, with one exception: when the
// interrupted address itself is in no object, a call has gone astray, and its return address is where
// calls leave it.
//
// Only registers that calls preserve are restored, and operators that linkers and the C library write
// into expressions are known; with anything else the walk ends.
//
// Specification: DWARF 5, 6.4 and 2.5; LSB, "Exception Frames"; the psABI of each machine.

#define _GNU_SOURCE
#include "backtrace.h"
#include "process/registers.h"
#include "ns/unwind.h"

#include <dlfcn.h>
#include <string.h>

#define RED_ZONE \
	128     // below the stack pointer, which functions that call none may use (psABI, 3.2.2)
#define DEPTH 8 // of DW_CFA_remember_state, and of an expression's stack times two

// --- reading ------------------------------------------------------------------------------------

struct reader {
	const uint8_t *p, *end;
	bool failed;
};

static uint64_t read_fixed(struct reader *r, size_t size)
{
	uint64_t ret = 0;

	if ((size_t)(r->end - r->p) < size) {
		r->failed = true;
		r->p = r->end;
		return 0;
	}
	memcpy(&ret, r->p, size);
	r->p += size;
	return ret;
}

static uint64_t read_uleb(struct reader *r)
{
	uint64_t ret = 0, byte;
	unsigned shift = 0;

	do {
		byte = read_fixed(r, 1);
		if (shift < 64)
			ret |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->failed);
	return ret;
}

static int64_t read_sleb(struct reader *r)
{
	uint64_t ret = 0, byte;
	unsigned shift = 0;

	do {
		byte = read_fixed(r, 1);
		if (shift < 64)
			ret |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->failed);
	if (byte & 0x40 && shift < 64)
		ret |= -(UINT64_C(1) << shift);
	return (int64_t)ret;
}

// A pointer of .eh_frame. Those that linkers write are absolute or relative to their place.
static uint64_t read_encoded(struct reader *r, uint8_t encoding)
{
	uint64_t place = (uintptr_t)r->p, ret;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		ret = read_fixed(r, 8);
		break;
	case 0x02:
		ret = read_fixed(r, 2);
		break;
	case 0x0a:
		ret = (uint64_t)(int16_t)read_fixed(r, 2);
		break;
	case 0x03:
		ret = read_fixed(r, 4);
		break;
	case 0x0b:
		ret = (uint64_t)(int32_t)read_fixed(r, 4);
		break;
	default:
		r->failed = true;
		return 0;
	}
	switch (encoding & 0x70) {
	case 0x00:
		return ret;
	case 0x10:
		return ret + place;
	default:
		r->failed = true;
		return 0;
	}
}

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

// --- the record of an address ----------------------------------------------------------------------

struct description {
	uint64_t start, end; // the addresses that it is for
	struct reader initial, program;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; // of DW_CFA_set_loc
	bool is_signal_frame;
};

// What follows the length of a record.
static struct reader open_record(const uint8_t *record)
{
	struct reader r = {record, record + 4, false};
	uint64_t size = read_fixed(&r, 4);

	if (!size || size == UINT32_MAX)
		return (struct reader){record, record, true};
	return (struct reader){r.p, r.p + size, false};
}

static bool read_cie(const uint8_t *record, struct description *ret, bool *augmented)
{
	struct reader r = open_record(record), data;
	const char *letters;
	uint64_t version;

	read_fixed(&r, 4);
	version = read_fixed(&r, 1);
	letters = (const char *)r.p;
	while (read_fixed(&r, 1))
		continue;
	if (version == 4)
		read_fixed(&r, 2); // sizes of addresses and of segments
	ret->code_factor = read_uleb(&r);
	ret->data_factor = read_sleb(&r);
	if ((version == 1 ? read_fixed(&r, 1) : read_uleb(&r)) != RA)
		return false;
	*augmented = *letters == 'z';
	if (*augmented) {
		uint64_t size = read_uleb(&r);

		data = (struct reader){r.p, r.p + size, r.failed};
		r.p += size;
		for (letters++; *letters && !data.failed; letters++) {
			uint8_t encoding;

			if (*letters == 'R') {
				ret->encoding = (uint8_t)read_fixed(&data, 1);
			} else if (*letters == 'L') {
				read_fixed(&data, 1);
			} else if (*letters == 'P') {
				// Only its size counts: it may be in a form that is not known here.
				encoding = (uint8_t)read_fixed(&data, 1);
				read_encoded(&data, encoding & 0x0f);
			} else if (*letters == 'S') {
				ret->is_signal_frame = true;
			} else if (*letters != 'B') { // return addresses are signed with another key
				break;
			}
		}
	}
	ret->initial = r;
	return !r.failed;
}

static bool read_fde(const uint8_t *record, uint64_t pc, struct description *ret)
{
	struct reader r = open_record(record);
	const uint8_t *place = r.p;
	uint64_t delta = read_fixed(&r, 4), size;
	bool augmented = false;

	memset(ret, 0, sizeof(*ret));
	if (r.failed || !delta || !read_cie(place - delta, ret, &augmented))
		return false;
	ret->start = read_encoded(&r, ret->encoding);
	size = read_encoded(&r, ret->encoding & 0x0f);
	ret->end = ret->start + size;
	if (augmented) {
		uint64_t skipped = read_uleb(&r);

		r.p += skipped;
	}
	ret->program = r;
	return !r.failed && r.p <= r.end && pc >= ret->start && pc - ret->start < size;
}

// The search table of .eh_frame_hdr: pairs of 32-bit distances from its start, sorted by the first one.
static const uint8_t *find_fde(const uint8_t *hdr, uint64_t pc)
{
	struct reader r = {hdr, hdr + 64, false};
	const uint8_t *table;
	uint64_t count;
	size_t low = 0, high;
	int32_t pair[2];

	if (hdr[0] != 1 || hdr[3] != 0x3b)
		return NULL;
	r.p += 4;
	read_encoded(&r, hdr[1]);
	count = read_encoded(&r, hdr[2]);
	table = r.p;
	high = (size_t)count;
	if (r.failed)
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

// --- rules -----------------------------------------------------------------------------------------

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
	struct reader expression;
};

struct row {
	struct rule rules[REGISTERS];
	struct rule cfa; // IN_REGISTER with an offset, or IS_EXPRESSION
	unsigned cfa_register;
};

static struct reader read_block(struct reader *r)
{
	uint64_t size = read_uleb(r);
	struct reader ret = {r->p, r->p + size, false};

	if (size > (uint64_t)(r->end - r->p)) {
		r->failed = true;
		return (struct reader){r->p, r->p, true};
	}
	r->p += size;
	return ret;
}

static void set_rule(struct row *row, uint64_t number, enum kind kind, int64_t value)
{
	if (number < REGISTERS)
		row->rules[number] = (struct rule){.kind = kind, .value = value};
}

static void set_expression(struct row *row, uint64_t number, enum kind kind, struct reader expression)
{
	if (number < REGISTERS)
		row->rules[number] = (struct rule){.kind = kind, .expression = expression};
}

static void set_cfa(struct row *row, uint64_t number, int64_t offset)
{
	row->cfa = (struct rule){.kind = IN_REGISTER, .value = offset};
	row->cfa_register = (unsigned)number;
}

// Execute instructions up to those for addresses behind @pc. @first: the row that DW_CFA_restore goes back to.
static bool backtrace_execute(struct reader r, const struct description *d, uint64_t pc,
			      struct row *row, const struct row *first)
{
	struct row saved[DEPTH];
	unsigned depth = 0;
	uint64_t at = d->start, number;

	while (r.p < r.end && !r.failed) {
		uint8_t byte = (uint8_t)read_fixed(&r, 1), low = byte & 0x3f;

		switch (byte & 0xc0) {
		case 0x40: // advance_loc
			at += low * d->code_factor;
			if (at > pc)
				return true;
			continue;
		case 0x80: // offset
			set_rule(row, low, AT_OFFSET, (int64_t)read_uleb(&r) * d->data_factor);
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
			at = read_encoded(&r, d->encoding);
			break;
		case 0x02: // advance_loc1, 2, 4
		case 0x03:
		case 0x04:
			at += read_fixed(&r, (size_t)1 << (byte - 2)) * d->code_factor;
			break;
		case 0x05: // offset_extended
			number = read_uleb(&r);
			set_rule(row, number, AT_OFFSET, (int64_t)read_uleb(&r) * d->data_factor);
			break;
		case 0x06: // restore_extended
			number = read_uleb(&r);
			if (number < REGISTERS)
				row->rules[number] = first->rules[number];
			break;
		case 0x07: // undefined
			set_rule(row, read_uleb(&r), UNDEFINED, 0);
			break;
		case 0x08: // same_value
			set_rule(row, read_uleb(&r), SAME, 0);
			break;
		case 0x09: // register
			number = read_uleb(&r);
			set_rule(row, number, IN_REGISTER, (int64_t)read_uleb(&r));
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
			number = read_uleb(&r);
			set_cfa(row, number, (int64_t)read_uleb(&r));
			break;
		case 0x0d: // def_cfa_register
			row->cfa_register = (unsigned)read_uleb(&r);
			break;
		case 0x0e: // def_cfa_offset
			row->cfa.value = (int64_t)read_uleb(&r);
			break;
		case 0x0f: // def_cfa_expression
			row->cfa = (struct rule){.kind = IS_EXPRESSION, .expression = read_block(&r)};
			break;
		case 0x10: // expression
			number = read_uleb(&r);
			set_expression(row, number, AT_EXPRESSION, read_block(&r));
			break;
		case 0x11: // offset_extended_sf
			number = read_uleb(&r);
			set_rule(row, number, AT_OFFSET, read_sleb(&r) * d->data_factor);
			break;
		case 0x12: // def_cfa_sf
			number = read_uleb(&r);
			set_cfa(row, number, read_sleb(&r) * d->data_factor);
			break;
		case 0x13: // def_cfa_offset_sf
			row->cfa.value = read_sleb(&r) * d->data_factor;
			break;
		case 0x14: // val_offset
			number = read_uleb(&r);
			set_rule(row, number, IS_OFFSET, (int64_t)read_uleb(&r) * d->data_factor);
			break;
		case 0x15: // val_offset_sf
			number = read_uleb(&r);
			set_rule(row, number, IS_OFFSET, read_sleb(&r) * d->data_factor);
			break;
		case 0x16: // val_expression
			number = read_uleb(&r);
			set_expression(row, number, IS_EXPRESSION, read_block(&r));
			break;
		case 0x2d: // AARCH64_negate_ra_state: signatures are taken off in any case
			break;
		case 0x2e: // GNU_args_size
			read_uleb(&r);
			break;
		default:
			return false;
		}
		if (at > pc)
			return true;
	}
	return !r.failed;
}

// --- expressions -------------------------------------------------------------------------------------

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

static bool backtrace_evaluate(struct reader r, const uint64_t *registers, const uint64_t *cfa,
			       const struct bounds *bounds, uint64_t *ret)
{
	struct stack stack = {.count = 0};

	if (cfa)
		backtrace_push(&stack, *cfa);
	while (r.p < r.end && !r.failed && !stack.failed) {
		uint8_t op = (uint8_t)read_fixed(&r, 1);
		uint64_t top;

		if (op >= 0x30 && op <= 0x4f) { // lit0 to lit31
			backtrace_push(&stack, op - 0x30u);
		} else if (op >= 0x70 && op < 0x90 && op - 0x70 < REGISTERS) { // breg0 to breg31
			backtrace_push(&stack, registers[op - 0x70] + (uint64_t)read_sleb(&r));
		} else if (op == 0x06) { // deref
			backtrace_push(&stack, backtrace_load(backtrace_pop(&stack), bounds));
		} else if (op == 0x08 || op == 0x0a || op == 0x0c || op == 0x0e) { // const1u to const8u
			backtrace_push(&stack, read_fixed(&r, (size_t)1 << (op - 0x08) / 2));
		} else if (op == 0x10) { // constu
			backtrace_push(&stack, read_uleb(&r));
		} else if (op == 0x11) { // consts
			backtrace_push(&stack, (uint64_t)read_sleb(&r));
		} else if (op == 0x12) { // dup
			top = backtrace_pop(&stack);
			backtrace_push(&stack, top);
			backtrace_push(&stack, top);
		} else if (op == 0x23) { // plus_uconst
			top = backtrace_pop(&stack);
			backtrace_push(&stack, top + read_uleb(&r));
		} else {
			uint64_t b = backtrace_pop(&stack), a = backtrace_pop(&stack);

			if (!backtrace_combine(op, a, b, &top))
				return false;
			backtrace_push(&stack, top);
		}
	}
	*ret = backtrace_pop(&stack);
	return !r.failed && !stack.failed;
}

// --- steps -------------------------------------------------------------------------------------------

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
	struct row row = {.cfa_register = REGISTERS}, first;
	uint64_t next[REGISTERS], cfa, pc = registers[PC] - !interrupted;
	struct description d;

	if (!backtrace_describe(pc, &d)) {
		*caller_interrupted = true;
		return !interrupted && gorgon_arch_undo_signal(registers);
	}
	if (!backtrace_execute(d.initial, &d, UINT64_MAX, &row, &row))
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
	// A stack that does not get shorter is damaged, unless a function that calls none was interrupted, which
	// may have nothing on the stack; a handler may have had another stack.
	if (!d.is_signal_frame && (next[SP] < registers[SP] || (next[SP] == registers[SP] && !interrupted)))
		return false;
	memcpy(registers, next, sizeof(next));
	registers[PC] = gorgon_arch_code_address(next[RA]);
	*caller_interrupted = d.is_signal_frame;
	return registers[PC] != 0;
}

static bool is_in_an_object(uint64_t pc)
{
	struct dl_find_object found;

	return !gorgon_unwind_find_object((void *)(uintptr_t)pc, &found);
}

void gorgon_backtrace(const void *context, struct gorgon_frame *frames, size_t capacity, volatile size_t *count)
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

size_t gorgon_backtrace_below(const void *context, uint64_t top, struct gorgon_frame *frames,
			      size_t capacity)
{
	uint64_t registers[REGISTERS];
	struct bounds bounds;
	bool interrupted = true;
	size_t count = 0;

	gorgon_arch_read_context(context, registers);
	bounds = (struct bounds){registers[SP] - RED_ZONE, top};
	while (count < capacity && registers[SP] < top) {
		frames[count++] = (struct gorgon_frame){registers[PC], interrupted};
		if (!backtrace_step(registers, interrupted, &bounds, &interrupted))
			break;
	}
	return count;
}

uint64_t gorgon_backtrace_function(uint64_t pc, uint64_t *end)
{
	struct description d;

	if (!backtrace_describe(pc, &d))
		return 0;
	*end = d.end;
	return d.start;
}
