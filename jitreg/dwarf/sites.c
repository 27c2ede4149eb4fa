// SPDX-License-Identifier: MIT
/*
 * Where addresses are in DWARF's tables, lists and expressions.
 *
 * They are read by a reader that stays inside of the section. Only places matter: what is no address is passed over.
 *
 * Location and range lists are reached through the attributes that refer to them: GCC
 * puts other data between lists (pairs of view numbers), so reading from one end of the
 * section to the other would go astray. Units share lists, so each entry that has been
 * read is marked. That and the limit of all expressions together, the size of the file's
 * DWARF, bound the work for lists that overlap on purpose.
 *
 * Where a function has been left out linkers write 0, or 1 in lists that two zeros would
 * end, and lld the two highest numbers; debuggers know these by their value, so they stay.
 *
 * Not seen: addresses in the plain bytes of DW_OP_implicit_value (GCC before 5) and of
 * constants. Nothing in a linked file tells them from numbers.
 *
 * Specification: DWARF 5 sections 2.5, 2.6, 2.17, 6.1.2, 6.2.4, 7.5, 7.7, 7.27 to 7.29;
 * DWARF 4 sections 2.6.2 and 2.17.3.
 */
#include "sites.h"

#include <errno.h>
#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_SIZE 8

/* GCC's, not in the standard: a pair of view numbers before the entry that they are for. */
#define DW_LLE_GNU_view_pair 0x09

/* Reads of a section never leave [at, end); a read that would sets bad and gives 0. */
struct reader {
	struct jitreg_sites *sites;
	enum jitreg_dwarf_index index;
	const struct jitreg_dwarf_section *section;
	uint64_t at, end;
	bool bad;
};

static struct reader open_reader(struct jitreg_sites *sites, enum jitreg_dwarf_index index,
				 uint64_t at)
{
	const struct jitreg_dwarf_section *section = &sites->dwarf->sections[index];

	return (struct reader){sites, index, section, at, section->size, at > section->size};
}

static int fail(struct jitreg_sites *sites, int error, const char *reason)
{
	sites->reason = reason;
	return error;
}

static void skip(struct reader *r, uint64_t size)
{
	if (r->bad || size > r->end - r->at)
		r->bad = true;
	else
		r->at += size;
}

static uint64_t read_number(struct reader *r, unsigned size)
{
	uint64_t from = r->at, ret = 0;

	skip(r, size);
	for (unsigned i = 0; i < size && !r->bad; i++) {
		unsigned place = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;

		ret |= (uint64_t)r->section->bytes[from + i] << (place * CHAR_BIT);
	}
	return ret;
}

/* Signed ones are as long; their value is never wanted. */
static uint64_t read_leb(struct reader *r)
{
	uint64_t ret = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_number(r, 1);
		if (shift < 64)
			ret |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->bad);
	return ret;
}

static void skip_lebs(struct reader *r, unsigned count)
{
	while (count--)
		read_leb(r);
}

/* A unit's length: four bytes, or a mark and eight. The reader ends with the unit. */
static unsigned read_length(struct reader *r)
{
	uint64_t length = read_number(r, 4);
	unsigned offset_size = 4;

	if (length == 0xffffffff) {
		length = read_number(r, 8);
		offset_size = 8;
	}
	if (r->bad || length > r->end - r->at)
		r->bad = true;
	else
		r->end = r->at + length;
	return offset_size;
}

/* Whether this place is met for the first time; -ENOMEM. */
static int mark(const struct reader *r)
{
	struct jitreg_dwarf_section *section = &r->sites->dwarf->sections[r->index];
	uint8_t bit = (uint8_t)(1u << r->at % CHAR_BIT);

	if (r->at >= section->size)
		return 1; // the read that follows will fail
	if (!section->seen)
		section->seen = calloc(section->size / CHAR_BIT + 1, 1);
	if (!section->seen)
		return -ENOMEM;
	if (section->seen[r->at / CHAR_BIT] & bit)
		return 0;
	section->seen[r->at / CHAR_BIT] |= bit;
	return 1;
}

static bool is_left_out(uint64_t addr)
{
	return addr <= 1 || addr >= UINT64_MAX - 1;
}

int jitreg_sites_add(struct jitreg_sites *sites, enum jitreg_dwarf_index index, uint64_t off)
{
	struct jitreg_dwarf_section *section = &sites->dwarf->sections[index];
	uint64_t addr;

	if (!jitreg_range_ok(off, ADDRESS_SIZE, section->size))
		return fail(sites, -ENOEXEC, "an address lies outside its section of DWARF");
	memcpy(&addr, section->bytes + off, sizeof(addr));
	if (is_left_out(addr))
		return 0;
	if (section->site_count == section->site_capacity) {
		size_t capacity = 2 * section->site_capacity + 64;
		uint64_t *grown = reallocarray(section->sites, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		section->sites = grown;
		section->site_capacity = capacity;
	}
	section->sites[section->site_count++] = off;
	return 0;
}

/* An address at the reader's place. */
static int add_here(struct reader *r)
{
	uint64_t off = r->at;

	skip(r, ADDRESS_SIZE);
	return r->bad ? 0 : jitreg_sites_add(r->sites, r->index, off);
}

/* ---- expressions ------------------------------------------------------------------ */

/*
 * The operands of an operation: sizes in bytes, u LEB128, o offset, a address, b and c
 * a block of bytes after its length (LEB128, one byte). NULL: unknown. The expression in
 * an entry value is read as if it stood there itself.
 */
static const char *operands_of(uint8_t op)
{
	switch (op) {
	case DW_OP_addr:
		return "a";
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_pick:
	case DW_OP_deref_size:
	case DW_OP_xderef_size:
		return "1";
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_bra:
	case DW_OP_skip:
	case DW_OP_call2:
		return "2";
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_call4:
	case DW_OP_GNU_parameter_ref:
		return "4";
	case DW_OP_const8u:
	case DW_OP_const8s:
		return "8";
	case DW_OP_constu:
	case DW_OP_consts:
	case DW_OP_plus_uconst:
	case DW_OP_breg0 ... DW_OP_breg31:
	case DW_OP_regx:
	case DW_OP_fbreg:
	case DW_OP_piece:
	case DW_OP_addrx:
	case DW_OP_constx:
	case DW_OP_entry_value:
	case DW_OP_convert:
	case DW_OP_reinterpret:
	case DW_OP_GNU_entry_value:
	case DW_OP_GNU_convert:
	case DW_OP_GNU_reinterpret:
	case DW_OP_GNU_addr_index:
	case DW_OP_GNU_const_index:
		return "u";
	case DW_OP_bregx:
	case DW_OP_bit_piece:
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		return "uu";
	case DW_OP_deref_type:
	case DW_OP_xderef_type:
	case DW_OP_GNU_deref_type:
		return "1u";
	case DW_OP_const_type:
	case DW_OP_GNU_const_type:
		return "uc";
	case DW_OP_implicit_value:
		return "b";
	case DW_OP_call_ref:
	case DW_OP_GNU_variable_value:
		return "o";
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		return "ou";
	case DW_OP_deref:
	case DW_OP_dup ... DW_OP_over:
	case DW_OP_swap ... DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor:
	case DW_OP_eq ... DW_OP_ne:
	case DW_OP_lit0 ... DW_OP_reg31:
	case DW_OP_nop:
	case DW_OP_push_object_address:
	case DW_OP_form_tls_address:
	case DW_OP_call_frame_cfa:
	case DW_OP_stack_value:
	case DW_OP_GNU_push_tls_address:
	case DW_OP_GNU_uninit:
		return "";
	}
	return NULL;
}

/* DW_OP_addr; followed by a TLS operation it is an offset in the block of a thread. */
static int add_operand_address(struct reader *r)
{
	uint8_t next;

	if (r->end - r->at <= ADDRESS_SIZE)
		return add_here(r);
	next = r->section->bytes[r->at + ADDRESS_SIZE];
	if (next != DW_OP_GNU_push_tls_address && next != DW_OP_form_tls_address)
		return add_here(r);
	skip(r, ADDRESS_SIZE);
	return 0;
}

static int read_operand(struct reader *r, const struct jitreg_unit *unit, char kind)
{
	switch (kind) {
	case 'a':
		return add_operand_address(r);
	case 'b':
		skip(r, read_leb(r));
		break;
	case 'c':
		skip(r, read_number(r, 1));
		break;
	case 'o':
		skip(r, unit->offset_size);
		break;
	case 'u':
		read_leb(r);
		break;
	default:
		skip(r, (uint64_t)(kind - '0'));
	}
	return 0;
}

/* The expression of @size bytes at the reader's place. */
static int add_expression(struct reader *r, const struct jitreg_unit *unit, uint64_t size)
{
	struct reader inner = *r;
	int error;

	skip(r, size);
	inner.end = r->at;
	if (!r->bad && size > r->sites->expression_room)
		return fail(r->sites, -ENOEXEC, "expressions of DWARF overlap");
	r->sites->expression_room -= r->bad ? 0 : size;
	while (!r->bad && !inner.bad && inner.at < inner.end) {
		const char *kinds = operands_of((uint8_t)read_number(&inner, 1));

		if (!kinds)
			return fail(r->sites, -EOPNOTSUPP,
				    "an expression of DWARF has an unknown operation");
		for (; *kinds; kinds++) {
			error = read_operand(&inner, unit, *kinds);
			if (error)
				return error;
		}
	}
	if (r->bad || inner.bad)
		return fail(r->sites, -ENOEXEC, "an expression of DWARF ends too early");
	return 0;
}

int jitreg_sites_add_expression(struct jitreg_sites *sites, const struct jitreg_unit *unit,
				enum jitreg_dwarf_index index, uint64_t off, uint64_t form)
{
	struct reader r = open_reader(sites, index, off);
	uint64_t size;

	switch (form) {
	case DW_FORM_block1:
		size = read_number(&r, 1);
		break;
	case DW_FORM_block2:
		size = read_number(&r, 2);
		break;
	case DW_FORM_block4:
		size = read_number(&r, 4);
		break;
	default: // DW_FORM_exprloc, DW_FORM_block
		size = read_leb(&r);
	}
	return add_expression(&r, unit, size);
}

/* ---- lists ------------------------------------------------------------------------ */

int jitreg_sites_read_value(struct jitreg_sites *sites, const struct jitreg_unit *unit,
			    enum jitreg_dwarf_index index, uint64_t off, uint64_t form,
			    uint64_t *ret)
{
	struct reader r = open_reader(sites, index, off);

	switch (form) {
	case DW_FORM_sec_offset:
		*ret = read_number(&r, unit->offset_size);
		break;
	case DW_FORM_data4:
		*ret = read_number(&r, 4);
		break;
	case DW_FORM_addr:
	case DW_FORM_data8:
		*ret = read_number(&r, 8);
		break;
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
		*ret = read_leb(&r);
		break;
	default:
		return fail(sites, -EOPNOTSUPP, "an attribute of DWARF has an unknown form");
	}
	return r.bad ? fail(sites, -ENOEXEC, "an attribute of DWARF ends too early") : 0;
}

static void write_number(const struct reader *r, uint64_t at, unsigned size, uint64_t value)
{
	for (unsigned i = 0; i < size; i++) {
		unsigned place = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;

		r->section->bytes[at + i] = (uint8_t)(value >> place * CHAR_BIT);
	}
}

int jitreg_sites_shift(struct jitreg_sites *sites, const struct jitreg_unit *unit,
		       enum jitreg_dwarf_index index, uint64_t off, uint64_t distance)
{
	struct reader r = open_reader(sites, index, off);
	uint64_t value = read_number(&r, unit->offset_size);
	uint64_t limit = unit->offset_size == 8 ? UINT64_MAX : UINT32_MAX;

	if (r.bad || distance > limit || value > limit - distance)
		return fail(sites, -ENOEXEC, "a reference of DWARF leads too far");
	write_number(&r, off, unit->offset_size, value + distance);
	return 0;
}

/* Another form instead of the one that ends where the reader stands, in as many bytes. */
static void replace_form(const struct reader *r, uint64_t start, uint8_t form)
{
	uint64_t at = start;

	r->section->bytes[at++] = form | 0x80;
	while (at < r->at - 1)
		r->section->bytes[at++] = 0x80;
	r->section->bytes[at] = 0;
}

/* Names and forms of an abbreviation's attributes, up to two zeros. */
static void adopt_attribute_forms(struct reader *r)
{
	uint64_t name, form, start;

	do {
		name = read_leb(r);
		start = r->at;
		form = read_leb(r);
		if (form == DW_FORM_implicit_const)
			read_leb(r);
		else if (form == DW_FORM_GNU_ref_alt && !r->bad)
			replace_form(r, start, DW_FORM_ref_addr);
		else if (form == DW_FORM_GNU_strp_alt && !r->bad)
			replace_form(r, start, DW_FORM_strp);
	} while (!r->bad && (name || form));
}

int jitreg_sites_adopt_forms(struct jitreg_sites *sites, uint64_t off)
{
	struct reader r = open_reader(sites, JITREG_DWARF_ABBREV, off);
	int error;

	while (!r.bad && (error = mark(&r))) {
		if (error < 0)
			return error;
		if (!read_leb(&r))
			break;
		read_leb(&r); // tag
		skip(&r, 1);  // has children
		adopt_attribute_forms(&r);
	}
	return r.bad ? fail(sites, -ENOEXEC, "a table of abbreviations of DWARF has no end") : 0;
}

/* Pairs of addresses or of offsets from the unit's base; each with an expression or not. */
static int add_list_4(struct reader *r, const struct jitreg_unit *unit, bool has_expressions)
{
	bool absolute = unit->absolute;
	uint64_t begin, end, off;
	int error;

	while (!r->bad && (error = mark(r))) {
		if (error < 0)
			return error;
		off = r->at;
		begin = read_number(r, ADDRESS_SIZE);
		end = read_number(r, ADDRESS_SIZE);
		if (!begin && !end)
			break;
		if (begin == UINT64_MAX) { // a new base for the entries that follow
			r->at = off + ADDRESS_SIZE;
			error = add_here(r);
			absolute = !end;
			if (error)
				return error;
			continue;
		}
		if (absolute && !r->bad && !is_left_out(begin) &&
		    ((error = jitreg_sites_add(r->sites, r->index, off)) ||
		     (error = jitreg_sites_add(r->sites, r->index, off + ADDRESS_SIZE))))
			return error;
		if (has_expressions && (error = add_expression(r, unit, read_number(r, 2))))
			return error;
	}
	return r->bad ? fail(r->sites, -ENOEXEC, "a list of DWARF has no end") : 0;
}

/*
 * Version 5: the operands of an entry, as above, x for the expression. Offset pairs count
 * from a base that has an entry, a unit or a row of .debug_addr of its own.
 */
static const char *location_operands(uint64_t kind)
{
	static const char *const operands[] = {
		[DW_LLE_end_of_list] = "",
		[DW_LLE_base_addressx] = "u",
		[DW_LLE_startx_endx] = "uux",
		[DW_LLE_startx_length] = "uux",
		[DW_LLE_offset_pair] = "uux",
		[DW_LLE_default_location] = "x",
		[DW_LLE_base_address] = "a",
		[DW_LLE_start_end] = "aax",
		[DW_LLE_start_length] = "aux",
		[DW_LLE_GNU_view_pair] = "uu",
	};

	return kind < sizeof(operands) / sizeof(*operands) ? operands[kind] : NULL;
}

static const char *range_operands(uint64_t kind)
{
	static const char *const operands[] = {
		[DW_RLE_end_of_list] = "",
		[DW_RLE_base_addressx] = "u",
		[DW_RLE_startx_endx] = "uu",
		[DW_RLE_startx_length] = "uu",
		[DW_RLE_offset_pair] = "uu",
		[DW_RLE_base_address] = "a",
		[DW_RLE_start_end] = "aa",
		[DW_RLE_start_length] = "au",
	};

	return kind < sizeof(operands) / sizeof(*operands) ? operands[kind] : NULL;
}

static int add_list_5(struct reader *r, const struct jitreg_unit *unit,
		      const char *(*operands)(uint64_t kind))
{
	uint64_t kind;
	int error;

	while (!r->bad && (error = mark(r))) {
		if (error < 0)
			return error;
		kind = read_number(r, 1);
		if (!kind)
			break;
		if (!operands(kind))
			return fail(r->sites, -EOPNOTSUPP,
				    "a list of DWARF has an entry of unknown kind");
		for (const char *at = operands(kind); *at; at++) {
			error = 0;
			if (*at == 'a')
				error = add_here(r);
			else if (*at == 'x')
				error = add_expression(r, unit, read_leb(r));
			else
				read_leb(r);
			if (error)
				return error;
		}
	}
	return r->bad ? fail(r->sites, -ENOEXEC, "a list of DWARF has no end") : 0;
}

/* An index leads to a table of offsets, from the place where the table begins. */
static int find_list(struct jitreg_sites *sites, const struct jitreg_unit *unit,
		     enum jitreg_dwarf_index index, uint64_t base, uint64_t form, uint64_t *value)
{
	struct reader r;

	if (form != DW_FORM_loclistx && form != DW_FORM_rnglistx)
		return 0;
	r = open_reader(sites, index, base);
	if (*value > UINT32_MAX)
		r.bad = true;
	else
		skip(&r, *value * unit->offset_size);
	*value = base + read_number(&r, unit->offset_size);
	return r.bad ? fail(sites, -ENOEXEC, "an index leads outside a table of lists") : 0;
}

int jitreg_sites_add_locations(struct jitreg_sites *sites, const struct jitreg_unit *unit,
			       enum jitreg_dwarf_index index, uint64_t off, uint64_t form)
{
	enum jitreg_dwarf_index to = unit->version < 5 ? JITREG_DWARF_LOC : JITREG_DWARF_LOCLISTS;
	struct reader r;
	uint64_t value;
	int error = jitreg_sites_read_value(sites, unit, index, off, form, &value);

	if (!error)
		error = find_list(sites, unit, to, unit->loclists_base, form, &value);
	if (error)
		return error;
	r = open_reader(sites, to, value);
	return unit->version < 5 ? add_list_4(&r, unit, true)
				 : add_list_5(&r, unit, location_operands);
}

int jitreg_sites_add_ranges(struct jitreg_sites *sites, const struct jitreg_unit *unit,
			    enum jitreg_dwarf_index index, uint64_t off, uint64_t form)
{
	enum jitreg_dwarf_index to =
		unit->version < 5 ? JITREG_DWARF_RANGES : JITREG_DWARF_RNGLISTS;
	struct reader r;
	uint64_t value;
	int error = jitreg_sites_read_value(sites, unit, index, off, form, &value);

	if (!error)
		error = find_list(sites, unit, to, unit->rnglists_base, form, &value);
	if (error)
		return error;
	r = open_reader(sites, to, value);
	return unit->version < 5 ? add_list_4(&r, unit, false)
				 : add_list_5(&r, unit, range_operands);
}

/* ---- tables ----------------------------------------------------------------------- */

/* What the header of a line table says of its program. */
struct line_header {
	uint8_t opcode_base;
	uint64_t lengths; // place of standard_opcode_lengths, opcode 1 first
};

/* Afterwards the reader stands at the program and ends with it. */
static int read_line_header(struct reader *r, struct line_header *ret)
{
	unsigned offset_size = read_length(r);
	unsigned version = (unsigned)read_number(r, 2);
	uint64_t header_size, program;

	if (!r->bad && (version < 2 || version > 5))
		return fail(r->sites, -EOPNOTSUPP, "a line table is not of version 2 to 5");
	if (version == 5)
		skip(r, 2); // sizes of addresses and of segment selectors
	header_size = read_number(r, offset_size);
	if (r->bad || header_size > r->end - r->at) {
		r->bad = true;
		return 0;
	}
	program = r->at + header_size;
	skip(r, version < 4 ? 4 : 5); // minimum_instruction_length to line_range
	ret->opcode_base = (uint8_t)read_number(r, 1);
	ret->lengths = r->at;
	skip(r, ret->opcode_base ? ret->opcode_base - 1u : 0);
	r->bad |= r->at > program;
	r->at = program;
	return 0;
}

static int add_line_program(struct reader *r, const struct line_header *header)
{
	while (!r->bad && r->at < r->end) {
		uint8_t op = (uint8_t)read_number(r, 1);
		uint64_t size;

		if (op >= header->opcode_base && op)
			continue;
		if (op == DW_LNS_fixed_advance_pc) {
			skip(r, 2);
			continue;
		}
		if (op) {
			skip_lebs(r, r->section->bytes[header->lengths + op - 1]);
			continue;
		}
		size = read_leb(r);
		if (size == 1 + ADDRESS_SIZE && r->at < r->end &&
		    r->section->bytes[r->at] == DW_LNE_set_address) {
			int error;

			skip(r, 1);
			error = add_here(r);
			if (error)
				return error;
		} else {
			skip(r, size);
		}
	}
	return 0;
}

int jitreg_sites_add_lines(struct jitreg_sites *sites, const struct jitreg_unit *unit,
			   enum jitreg_dwarf_index index, uint64_t off, uint64_t form)
{
	struct line_header header = {0};
	uint64_t value;
	struct reader r;
	int error = jitreg_sites_read_value(sites, unit, index, off, form, &value);

	if (error)
		return error;
	r = open_reader(sites, JITREG_DWARF_LINE, value);
	error = mark(&r);
	if (error <= 0)
		return error;
	error = read_line_header(&r, &header);
	if (!error && !r.bad)
		error = add_line_program(&r, &header);
	if (!error && r.bad)
		error = fail(sites, -ENOEXEC, "a line table of DWARF ends too early");
	return error;
}

int jitreg_sites_check_lines(struct jitreg_sites *sites, const struct jitreg_unit *unit,
			     enum jitreg_dwarf_index index, uint64_t off, uint64_t form)
{
	uint64_t value;
	struct reader r;
	int error = jitreg_sites_read_value(sites, unit, index, off, form, &value);

	if (error)
		return error;
	r = open_reader(sites, JITREG_DWARF_LINE, value);
	read_length(&r);
	if (read_number(&r, 2) < 5 && !r.bad)
		return 0;
	return fail(sites, -EOPNOTSUPP, "a line table of the supplementary file is of version 5");
}

/* Go through units of a section that have a header of their own. */
static int for_each_unit(struct jitreg_sites *sites, enum jitreg_dwarf_index index,
			 int (*call)(struct reader *unit, unsigned offset_size))
{
	struct reader r = open_reader(sites, index, 0);

	while (!r.bad && r.at < r.end) {
		struct reader unit = r;
		int error = call(&unit, read_length(&unit));

		if (error)
			return error;
		r.bad = unit.bad;
		r.at = unit.end;
	}
	return r.bad ? fail(sites, -ENOEXEC, "a table of DWARF ends too early") : 0;
}

/* Pairs of address and size, the first at a multiple of their size from the beginning. */
static int add_arange_unit(struct reader *r, unsigned offset_size)
{
	uint64_t start = r->at - (offset_size == 8 ? 12 : 4);
	unsigned address_size;

	skip(r, 2 + offset_size); // version, unit
	address_size = (unsigned)read_number(r, 1);
	skip(r, 1);
	skip(r, -(r->at - start) & (2 * ADDRESS_SIZE - 1));
	if (!r->bad && address_size != ADDRESS_SIZE)
		return fail(r->sites, -EOPNOTSUPP, "addresses of DWARF do not have eight bytes");
	while (!r->bad && r->at < r->end) {
		int error = add_here(r);

		skip(r, ADDRESS_SIZE);
		if (error)
			return error;
	}
	return 0;
}

int jitreg_sites_add_aranges(struct jitreg_sites *sites)
{
	return for_each_unit(sites, JITREG_DWARF_ARANGES, add_arange_unit);
}

static int add_address_unit(struct reader *r, unsigned offset_size)
{
	unsigned address_size;

	(void)offset_size;
	skip(r, 2); // version
	address_size = (unsigned)read_number(r, 1);
	skip(r, 1);
	if (!r->bad && address_size != ADDRESS_SIZE)
		return fail(r->sites, -EOPNOTSUPP, "addresses of DWARF do not have eight bytes");
	while (!r->bad && r->at < r->end) {
		int error = add_here(r);

		if (error)
			return error;
	}
	return 0;
}

int jitreg_sites_add_addresses(struct jitreg_sites *sites)
{
	return for_each_unit(sites, JITREG_DWARF_ADDR, add_address_unit);
}

static int check_list_unit(struct reader *r, unsigned offset_size)
{
	unsigned version = (unsigned)read_number(r, 2);
	unsigned address_size = (unsigned)read_number(r, 1);
	unsigned selector_size = (unsigned)read_number(r, 1);
	uint64_t count = read_number(r, 4);

	skip(r, count * offset_size);
	if (!r->bad && (version != 5 || address_size != ADDRESS_SIZE || selector_size))
		return fail(r->sites, -EOPNOTSUPP, "lists of DWARF have an unknown header");
	return 0;
}

int jitreg_sites_check_lists(struct jitreg_sites *sites)
{
	int r = for_each_unit(sites, JITREG_DWARF_LOCLISTS, check_list_unit);

	return r ? r : for_each_unit(sites, JITREG_DWARF_RNGLISTS, check_list_unit);
}
