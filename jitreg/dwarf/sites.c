// SPDX-License-Identifier: MIT
/*
 * Where addresses are in DWARF's tables, lists and expressions. Whatever is not an address is
 * passed over.
 *
 * Location and range lists are reached through the attributes that refer to them: GCC
 * puts other data between lists (pairs of view numbers), so reading from one end of the
 * section to the other would go astray. Units share lists, so each entry that has been
 * read is marked. The marks, and a limit for the size of all expressions together (the size of the
 * file's DWARF), bound the work for lists that overlap on purpose.
 *
 * Where a function has been left out linkers write 0, or 1 in lists that two zeros would
 * end, and lld writes the two highest numbers; debuggers know these values, so they stay.
 *
 * Not found: addresses in the plain bytes of DW_OP_implicit_value (GCC before 5) and of
 * constants. Nothing in a linked file tells them from numbers.
 *
 * Specification: DWARF 5 sections 2.5, 2.6, 2.17, 6.1.2, 6.2.4, 7.5, 7.7, 7.27 to 7.29;
 * DWARF 4 sections 2.6.2 and 2.17.3.
 */
#include "sites.h"

#include "file/line_table.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* GCC's extension of the standard: a pair of view numbers before the entry that they belong to. */
#define DW_LLE_GNU_view_pair 0x09

/* A section, and the place in it that is read next. */
struct reader {
	struct jitreg_sites *sites;
	enum jitreg_dwarf_index index;
	struct jitreg_cursor c;
};

static struct reader open_reader(struct jitreg_sites *sites, enum jitreg_dwarf_index index, uint64_t off)
{
	const struct jitreg_dwarf_section *section = &sites->dwarf->sections[index];

	return (struct reader){sites, index, jitreg_cursor_open(section->bytes, section->size, off)};
}

static struct jitreg_dwarf_section *section_of(const struct reader *r)
{
	return &r->sites->dwarf->sections[r->index];
}

static uint64_t place_of(const struct reader *r)
{
	return (uint64_t)(r->c.at - section_of(r)->bytes);
}

int jitreg_sites_fail(struct jitreg_sites *sites, int error, const char *reason)
{
	sites->reason = reason;
	return error;
}

/* Mark the reader's place. Returns 1 when it was not marked before, 0 when it was, or -ENOMEM. */
static int sites_mark(const struct reader *r)
{
	struct jitreg_dwarf_section *section = section_of(r);
	uint64_t at;
	uint8_t bit;

	if (!jitreg_cursor_more(&r->c))
		return 1; // the read that follows will fail
	if (!section->seen)
		section->seen = calloc(section->size / CHAR_BIT + 1, 1);
	if (!section->seen)
		return -ENOMEM;
	at = place_of(r);
	bit = (uint8_t)(1u << at % CHAR_BIT);
	if (section->seen[at / CHAR_BIT] & bit)
		return 0;
	section->seen[at / CHAR_BIT] |= bit;
	return 1;
}

static bool is_left_out(uint64_t addr)
{
	return addr <= 1 || addr >= UINT64_MAX - 1;
}

/* Note the address that the reader has just passed. */
static int add_last(const struct reader *r)
{
	struct jitreg_dwarf_section *section = section_of(r);
	uint64_t addr, *grown;

	memcpy(&addr, r->c.at - sizeof(addr), sizeof(addr));
	if (is_left_out(addr))
		return 0;
	grown = jitreg_grow(section->sites, section->site_count, &section->site_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	section->sites = grown;
	grown[section->site_count++] = place_of(r) - sizeof(addr);
	return 0;
}

/* Note the address at the reader's place. */
static int add_here(struct reader *r)
{
	jitreg_cursor_skip(&r->c, JITREG_ADDRESS_SIZE);
	return r->c.bad ? 0 : add_last(r);
}

int jitreg_sites_add(struct jitreg_sites *sites, uint64_t off)
{
	struct reader r = open_reader(sites, sites->index, off);
	int error = add_here(&r);

	return r.c.bad ? jitreg_sites_fail(sites, -ENOEXEC, "an address lies outside its section of DWARF") : error;
}

/* ---- expressions ------------------------------------------------------------------ */

/*
 * The operands of an operation, a character for each: a digit is a size in bytes, u a number in
 * LEB128, o an offset, b and c a block of bytes after its length (in LEB128, in one byte), t an
 * address, unless the next operation is about thread-local storage. NULL: the operation is unknown.
 * The expression in an entry value is read like operations of the outer expression.
 */
static const char *operands_of(uint8_t op)
{
	switch (op) {
	case DW_OP_addr:
		return "t";
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

/*
 * Note the address of DW_OP_addr. Before an operation of thread-local storage it is an offset in a
 * thread's block instead.
 */
static int add_operand_address(struct reader *r)
{
	uint8_t next;

	jitreg_cursor_skip(&r->c, JITREG_ADDRESS_SIZE);
	if (r->c.bad)
		return 0;
	next = jitreg_cursor_more(&r->c) ? *r->c.at : 0;
	return next == DW_OP_GNU_push_tls_address || next == DW_OP_form_tls_address ? 0 : add_last(r);
}

static int read_operand(struct reader *r, char kind)
{
	switch (kind) {
	case 'a':
		return add_here(r);
	case 't':
		return add_operand_address(r);
	case 'b':
		jitreg_cursor_skip(&r->c, jitreg_cursor_uleb(&r->c));
		break;
	case 'c':
		jitreg_cursor_skip(&r->c, jitreg_cursor_number(&r->c, 1));
		break;
	case 'o':
		jitreg_cursor_skip(&r->c, r->sites->unit.offset_size);
		break;
	case 'u':
		jitreg_cursor_uleb(&r->c);
		break;
	default:
		jitreg_cursor_skip(&r->c, (uint64_t)(kind - '0'));
	}
	return 0;
}

/* Note the addresses in the expression of @size bytes at the reader's place. */
static int add_expression(struct reader *r, uint64_t size)
{
	struct reader inner = *r;
	int error = 0;

	jitreg_cursor_skip(&r->c, size);
	inner.c.end = r->c.at;
	inner.c.bad = r->c.bad;
	if (!r->c.bad && size > r->sites->expression_room)
		return jitreg_sites_fail(r->sites, -ENOEXEC, "expressions of DWARF overlap");
	r->sites->expression_room -= r->c.bad ? 0 : size;
	while (!error && jitreg_cursor_more(&inner.c)) {
		const char *kinds = operands_of((uint8_t)jitreg_cursor_number(&inner.c, 1));

		if (!kinds)
			return jitreg_sites_fail(r->sites, -EOPNOTSUPP,
						 "an expression of DWARF has an unknown operation");
		while (!error && *kinds)
			error = read_operand(&inner, *kinds++);
	}
	if (inner.c.bad)
		return jitreg_sites_fail(r->sites, -ENOEXEC, "an expression of DWARF ends too early");
	return error;
}

int jitreg_sites_add_expression(struct jitreg_sites *sites, uint64_t off, uint64_t form)
{
	struct reader r = open_reader(sites, sites->index, off);
	unsigned size = form == DW_FORM_block1 ? 1 : form == DW_FORM_block2 ? 2 : form == DW_FORM_block4 ? 4 : 0;

	return add_expression(&r, size ? jitreg_cursor_number(&r.c, size) : jitreg_cursor_uleb(&r.c));
}

/* ---- values ----------------------------------------------------------------------- */

int jitreg_sites_read_value(struct jitreg_sites *sites, uint64_t off, uint64_t form, uint64_t *ret)
{
	struct reader r = open_reader(sites, sites->index, off);
	unsigned size = jitreg_form_number_size(form, sites->unit.version, sites->unit.offset_size);

	if (!size && form != DW_FORM_loclistx && form != DW_FORM_rnglistx)
		return jitreg_sites_fail(sites, -EOPNOTSUPP, "an attribute of DWARF has an unknown form");
	*ret = size ? jitreg_cursor_number(&r.c, size) : jitreg_cursor_uleb(&r.c);
	return r.c.bad ? jitreg_sites_fail(sites, -ENOEXEC, "an attribute of DWARF ends too early") : 0;
}

int jitreg_sites_shift(struct jitreg_sites *sites, uint64_t off, uint64_t distance)
{
	struct reader r = open_reader(sites, sites->index, off);
	unsigned size = sites->unit.offset_size;
	uint64_t value = jitreg_cursor_number(&r.c, size);
	uint64_t limit = size == 8 ? UINT64_MAX : UINT32_MAX;

	if (r.c.bad || distance > limit || value > limit - distance)
		return jitreg_sites_fail(sites, -ENOEXEC, "a reference of DWARF leads too far");
	value += distance;
	memcpy(section_of(&r)->bytes + off, &value, size);
	return 0;
}

/* ---- abbreviations ---------------------------------------------------------------- */

/* Write another form over the form from @start to the reader's place, in as many bytes. */
static void replace_form(const struct reader *r, uint64_t start, uint8_t form)
{
	uint8_t *bytes = section_of(r)->bytes;
	uint64_t at = start;

	bytes[at++] = form | 0x80;
	while (at < place_of(r) - 1)
		bytes[at++] = 0x80;
	bytes[at] = 0;
}

/*
 * Change the forms in an abbreviation's list of attributes, each of which has a name and a form.
 * Two zeros end the list.
 */
static void adopt_attribute_forms(struct reader *r)
{
	uint64_t name, form, start;

	do {
		name = jitreg_cursor_uleb(&r->c);
		start = place_of(r);
		form = jitreg_cursor_uleb(&r->c);
		if (form == DW_FORM_implicit_const)
			jitreg_cursor_uleb(&r->c);
		else if (form == DW_FORM_GNU_ref_alt && !r->c.bad)
			replace_form(r, start, DW_FORM_ref_addr);
		else if (form == DW_FORM_GNU_strp_alt && !r->c.bad)
			replace_form(r, start, DW_FORM_strp);
	} while (!r->c.bad && (name || form));
}

int jitreg_sites_adopt_forms(struct jitreg_sites *sites, uint64_t off)
{
	struct reader r = open_reader(sites, JITREG_DWARF_ABBREV, off);
	int error;

	while (!r.c.bad && (error = sites_mark(&r))) {
		if (error < 0)
			return error;
		if (!jitreg_cursor_uleb(&r.c))
			break;
		jitreg_cursor_uleb(&r.c);    // tag
		jitreg_cursor_skip(&r.c, 1); // has children
		adopt_attribute_forms(&r);
	}
	return r.c.bad ? jitreg_sites_fail(sites, -ENOEXEC, "a table of abbreviations of DWARF has no end") : 0;
}

/* ---- lists ------------------------------------------------------------------------ */

/*
 * A list before version 5: pairs of addresses, or of offsets from the unit's base. In a list of
 * locations an expression follows each pair.
 */
static int add_list_4(struct reader *r, bool has_expressions)
{
	bool absolute = r->sites->unit.absolute;
	int error;

	while (!r->c.bad && (error = sites_mark(r))) {
		struct reader first = *r, second;
		uint64_t begin = jitreg_cursor_number(&r->c, JITREG_ADDRESS_SIZE), end;

		if (error < 0)
			return error;
		second = *r;
		end = jitreg_cursor_number(&r->c, JITREG_ADDRESS_SIZE);
		if (!begin && !end)
			break;
		if (begin == UINT64_MAX) { // a new base for the entries that follow
			absolute = !end;
			error = add_here(&second);
			if (error)
				return error;
			continue;
		}
		if (absolute && !r->c.bad && !is_left_out(begin) &&
		    ((error = add_here(&first)) || (error = add_here(&second))))
			return error;
		if (has_expressions && (error = add_expression(r, jitreg_cursor_number(&r->c, 2))))
			return error;
	}
	return r->c.bad ? jitreg_sites_fail(r->sites, -ENOEXEC, "a list of DWARF has no end") : 0;
}

/*
 * Lists of version 5: the operands of each kind of entry, with the characters of operands_of(), a
 * for an address and x for an expression. Pairs of offsets stay as they are: the address that they
 * count from is noted at its own place, in an entry, a unit or .debug_addr.
 */
#define KINDS (DW_LLE_GNU_view_pair + 1)

static const char *const location_operands[KINDS] = {
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

static const char *const range_operands[KINDS] = {
	[DW_RLE_base_addressx] = "u",
	[DW_RLE_startx_endx] = "uu",
	[DW_RLE_startx_length] = "uu",
	[DW_RLE_offset_pair] = "uu",
	[DW_RLE_base_address] = "a",
	[DW_RLE_start_end] = "aa",
	[DW_RLE_start_length] = "au",
};

static int add_list_5(struct reader *r, const char *const *operands)
{
	uint64_t kind;
	int error;

	while (!r->c.bad && (error = sites_mark(r))) {
		if (error < 0)
			return error;
		kind = jitreg_cursor_number(&r->c, 1);
		if (!kind)
			break;
		if (kind >= KINDS || !operands[kind])
			return jitreg_sites_fail(r->sites, -EOPNOTSUPP,
						 "a list of DWARF has an entry of unknown kind");
		for (const char *at = operands[kind]; *at; at++) {
			error = *at == 'x' ? add_expression(r, jitreg_cursor_uleb(&r->c)) : read_operand(r, *at);
			if (error)
				return error;
		}
	}
	return r->c.bad ? jitreg_sites_fail(r->sites, -ENOEXEC, "a list of DWARF has no end") : 0;
}

/*
 * Turn an index into the place of a list. At @base there is a table of offsets, which count from
 * @base.
 */
static int find_list(struct jitreg_sites *sites, enum jitreg_dwarf_index index, uint64_t base, uint64_t *value)
{
	struct reader r = open_reader(sites, index, base);

	if (*value > UINT32_MAX)
		r.c.bad = true;
	else
		jitreg_cursor_skip(&r.c, *value * sites->unit.offset_size);
	*value = base + jitreg_cursor_number(&r.c, sites->unit.offset_size);
	return r.c.bad ? jitreg_sites_fail(sites, -ENOEXEC, "an index leads outside a table of lists") : 0;
}

int jitreg_sites_add_list(struct jitreg_sites *sites, uint64_t off, uint64_t form, bool is_location)
{
	bool is_new = sites->unit.version >= 5;
	enum jitreg_dwarf_index index = is_location ? is_new ? JITREG_DWARF_LOCLISTS : JITREG_DWARF_LOC
						    : is_new ? JITREG_DWARF_RNGLISTS : JITREG_DWARF_RANGES;
	uint64_t base = is_location ? sites->unit.loclists_base : sites->unit.rnglists_base;
	struct reader r;
	uint64_t value;
	int error = jitreg_sites_read_value(sites, off, form, &value);

	if (!error && (form == DW_FORM_loclistx || form == DW_FORM_rnglistx))
		error = find_list(sites, index, base, &value);
	if (error)
		return error;
	r = open_reader(sites, index, value);
	return is_new ? add_list_5(&r, is_location ? location_operands : range_operands) : add_list_4(&r, is_location);
}

/* ---- tables ----------------------------------------------------------------------- */

static int add_line_program(struct reader *r, const struct jitreg_line_header *header)
{
	int error = 0;

	while (!error && jitreg_cursor_more(&r->c)) {
		uint8_t op = (uint8_t)jitreg_cursor_number(&r->c, 1);
		uint64_t size;

		if (op >= header->opcode_base)
			continue;
		if (op == DW_LNS_fixed_advance_pc) {
			jitreg_cursor_skip(&r->c, 2);
			continue;
		}
		if (op) {
			for (unsigned i = 0; i < header->lengths[op]; i++)
				jitreg_cursor_uleb(&r->c);
			continue;
		}
		size = jitreg_cursor_uleb(&r->c);
		if (size == 1 + JITREG_ADDRESS_SIZE && jitreg_cursor_more(&r->c) &&
		    *r->c.at == DW_LNE_set_address) {
			jitreg_cursor_skip(&r->c, 1);
			error = add_here(r);
		} else {
			jitreg_cursor_skip(&r->c, size);
		}
	}
	return error;
}

int jitreg_sites_add_lines(struct jitreg_sites *sites, uint64_t off, uint64_t form)
{
	struct jitreg_line_header header;
	struct jitreg_cursor names;
	struct reader r;
	uint64_t value;
	int error = jitreg_sites_read_value(sites, off, form, &value);

	if (error)
		return error;
	r = open_reader(sites, JITREG_DWARF_LINE, value);
	error = sites_mark(&r);
	if (error <= 0)
		return error;
	error = jitreg_line_header_read(&r.c, &header, &names);
	if (error == -EOPNOTSUPP)
		return jitreg_sites_fail(sites, error, "a line table is not of version 2 to 5");
	if (!error)
		error = add_line_program(&r, &header);
	return r.c.bad || error == -ENOEXEC ? jitreg_sites_fail(sites, -ENOEXEC, "a line table of DWARF is damaged")
					    : error;
}

int jitreg_sites_check_lines(struct jitreg_sites *sites, uint64_t off, uint64_t form)
{
	uint64_t value;
	struct reader r;
	int error = jitreg_sites_read_value(sites, off, form, &value);

	if (error)
		return error;
	r = open_reader(sites, JITREG_DWARF_LINE, value);
	jitreg_cursor_length(&r.c);
	if (jitreg_cursor_number(&r.c, 2) < 5 && !r.c.bad)
		return 0;
	return jitreg_sites_fail(sites, -EOPNOTSUPP, "a line table of the supplementary file is of version 5");
}

/* Call for each unit of a section whose units have headers of their own. */
static int for_each_unit(struct jitreg_sites *sites, enum jitreg_dwarf_index index,
			 int (*call)(struct reader *unit, unsigned offset_size))
{
	struct reader r = open_reader(sites, index, 0);

	while (jitreg_cursor_more(&r.c)) {
		struct reader unit = r;
		int error = call(&unit, jitreg_cursor_length(&unit.c));

		if (error)
			return error;
		r.c.bad = unit.c.bad;
		r.c.at = unit.c.end;
	}
	return r.c.bad && section_of(&r)->bytes
		       ? jitreg_sites_fail(sites, -ENOEXEC, "a table of DWARF ends too early") : 0;
}

/*
 * Note the addresses behind a unit's header. In .debug_aranges each address has a size behind it,
 * and the first pair is at a multiple of a pair's size from the beginning of the unit.
 */
static int add_address_unit(struct reader *r, unsigned offset_size)
{
	bool has_sizes = r->index == JITREG_DWARF_ARANGES;
	uint64_t start = place_of(r) - (offset_size == 8 ? 12 : 4), address_size;
	int error = 0;

	jitreg_cursor_skip(&r->c, 2 + (has_sizes ? offset_size : 0)); // version; unit
	address_size = jitreg_cursor_number(&r->c, 1);
	jitreg_cursor_skip(&r->c, 1); // size of segment selectors
	if (has_sizes)
		jitreg_cursor_skip(&r->c, -(place_of(r) - start) & (2 * JITREG_ADDRESS_SIZE - 1));
	if (!r->c.bad && address_size != JITREG_ADDRESS_SIZE)
		return jitreg_sites_fail(r->sites, -EOPNOTSUPP, "addresses of DWARF do not have eight bytes");
	while (!error && jitreg_cursor_more(&r->c)) {
		error = add_here(r);
		jitreg_cursor_skip(&r->c, has_sizes ? JITREG_ADDRESS_SIZE : 0);
	}
	return error;
}

int jitreg_sites_add_tables(struct jitreg_sites *sites)
{
	int r = for_each_unit(sites, JITREG_DWARF_ARANGES, add_address_unit);

	return r ? r : for_each_unit(sites, JITREG_DWARF_ADDR, add_address_unit);
}

static int check_list_unit(struct reader *r, unsigned offset_size)
{
	uint64_t version = jitreg_cursor_number(&r->c, 2);
	uint64_t address_size = jitreg_cursor_number(&r->c, 1);
	uint64_t selector_size = jitreg_cursor_number(&r->c, 1);

	jitreg_cursor_skip(&r->c, jitreg_cursor_number(&r->c, 4) * offset_size);
	if (!r->c.bad && (version != 5 || address_size != JITREG_ADDRESS_SIZE || selector_size))
		return jitreg_sites_fail(r->sites, -EOPNOTSUPP, "lists of DWARF have an unknown header");
	return 0;
}

int jitreg_sites_check_lists(struct jitreg_sites *sites)
{
	int r = for_each_unit(sites, JITREG_DWARF_LOCLISTS, check_list_unit);

	return r ? r : for_each_unit(sites, JITREG_DWARF_RNGLISTS, check_list_unit);
}
