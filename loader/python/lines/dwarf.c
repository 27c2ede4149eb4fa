// SPDX-License-Identifier: MIT
// Python files, functions, lines and variables as DWARF (.debug_info, .debug_abbrev, .debug_line).
//
// Specification: DWARF 4, sections 2.5, 3 and 6.2.

#define _GNU_SOURCE
#include "machine.h"
#include "symfile.h"
#include "values.h"

#include "bytes.h"

// The variable that has the frame's values as numbers, each under its name.
#define NUMBERS "number"

// The variable that is a pointer to the function which evaluates expressions in the frame.
#define EVALUATE "py"

// The values of the frame whose CFA is on the stack, or 0.
static void values_of_frame(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t again, same, done;

	gorgon_lines_frame_of_cfa(x, layout);
	OPS(x, DW_OP_dup, DW_OP_lit4, DW_OP_shr, DW_OP_const2u);
	put_number(x, GORGON_LINES_RECORDS - 1, 2);
	OPS(x, DW_OP_and, DW_OP_const1u, GORGON_LINES_RECORD_SIZE, DW_OP_mul);
	put_number_op(x, (uintptr_t)layout->records);
	OPS(x, DW_OP_plus);
	again = x->size;
	// frame record
	OPS(x, DW_OP_dup, DW_OP_deref, DW_OP_pick, 2, DW_OP_eq);
	same = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, next), DW_OP_deref,
	    DW_OP_dup);
	end_jump_back(x, begin_jump(x, DW_OP_bra), again);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, same);
	OPS(x, DW_OP_plus_uconst, offsetof(struct gorgon_lines_record, values), DW_OP_deref);
	end_jump(x, done);
	OPS(x, DW_OP_swap, DW_OP_drop);
}

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

void gorgon_lines_put_abbrevs(struct gorgon_lines_bytes *to)
{
	put_bytes(to, abbrevs, sizeof(abbrevs));
}

// What is at @offset in the array that the frame's record leads to, or, where there is none, at
// @none. A variable in whose location DW_OP_addr is anywhere is static for LLDB, which does not
// show it among the locals.
static void put_location(struct gorgon_lines_bytes *to, uint64_t offset, const void *none,
			 const struct gorgon_lines_layout *layout)
{
	size_t known, done, start = to->size + 1;

	OPS(to, 0); // its size, which is less than 128
	OPS(to, DW_OP_call_frame_cfa);
	values_of_frame(to, layout);
	OPS(to, DW_OP_dup);
	known = begin_jump(to, DW_OP_bra);
	OPS(to, DW_OP_drop);
	put_number_op(to, (uintptr_t)none);
	done = begin_jump(to, DW_OP_skip);
	end_jump(to, known);
	OPS(to, DW_OP_plus_uconst);
	put_uleb(to, offset);
	end_jump(to, done);
	set_number(to, start - 1, to->size - start, 1);
}

// As many as put_evaluate_location() tells apart: they may lead in a circle.
static void count_callers(struct gorgon_lines_bytes *x, const struct gorgon_lines_layout *layout)
{
	size_t again, more, done;

	gorgon_lines_frame_of_cfa(x, layout);
	OPS(x, DW_OP_lit0, DW_OP_swap);
	again = x->size;
	// count frame
	OPS(x, DW_OP_plus_uconst, layout->frame_previous, DW_OP_deref, DW_OP_dup, DW_OP_lit0,
	    DW_OP_ne, DW_OP_pick, 2, DW_OP_const2u);
	put_number(x, GORGON_LINES_EVALUATE_ALL, 2);
	OPS(x, DW_OP_lt, DW_OP_and);
	more = begin_jump(x, DW_OP_bra);
	OPS(x, DW_OP_drop);
	done = begin_jump(x, DW_OP_skip);
	end_jump(x, more);
	OPS(x, DW_OP_swap, DW_OP_plus_uconst, 1, DW_OP_swap);
	end_jump_back(x, begin_jump(x, DW_OP_skip), again);
	end_jump(x, done);
}

// Which function evaluates expressions in the frame (lines/arch.h) depends on how many older
// frames there are. They are counted.
static void put_evaluate_location(struct gorgon_lines_bytes *to, uint64_t code,
				  const struct gorgon_lines_layout *layout)
{
	struct gorgon_lines_bytes x = {0};
	size_t few;

	OPS(&x, DW_OP_call_frame_cfa);
	count_callers(&x, layout);
	OPS(&x, DW_OP_dup, DW_OP_const2u);
	put_number(&x, GORGON_LINES_EVALUATE_ALL, 2);
	OPS(&x, DW_OP_lt);
	few = begin_jump(&x, DW_OP_bra);
	OPS(&x, DW_OP_drop, DW_OP_const2u);
	put_number(&x, GORGON_LINES_EVALUATE_ALL, 2);
	end_jump(&x, few);
	OPS(&x, DW_OP_lit0 + GORGON_LINES_EVALUATE_SIZE, DW_OP_mul);
	put_number_op(&x, code + GORGON_LINES_EVALUATE);
	OPS(&x, DW_OP_plus, DW_OP_stack_value);
	put_block(to, &x);
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

// Puts the type of a function's variable `number` and returns it. It is 0 if the function has no
// values, or has a variable of its own that is called `number`.
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

// Each unit has types for texts, for numbers, and for pointers to functions that take a text and
// return a text.
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

static void put_code(struct gorgon_lines_bytes *to, const char *name, uint64_t start, uint64_t end)
{
	OPS(to, CODE);
	put_text(to, name);
	put_number(to, start, 8);
	put_number(to, end - start, 8);
	OPS(to, 1, DW_OP_call_frame_cfa);
}

static void put_argument(struct gorgon_lines_bytes *to, const char *name, uint64_t type,
			 uint8_t offset)
{
	put_variable(to, PARAMETER, name, type);
	OPS(to, 2, DW_OP_breg0 + GORGON_LINES_REG_ARGUMENT, offset);
}

// The functions that are run for exceptions have arguments.
void gorgon_lines_put_info_of_code(struct gorgon_lines_bytes *to, uint64_t code)
{
	uint64_t text;

	begin_info(to, UNIT_OF_CODE, "python");
	put_number(to, code, 8);
	put_number(to, GORGON_LINES_CODE_SIZE, 8);
	text = put_text_type(to);
	put_code(to, "python_exception_raised", code + GORGON_LINES_RAISED,
		 code + GORGON_LINES_UNCAUGHT);
	put_argument(to, "exception", text, 0);
	OPS(to, 0);
	put_code(to, "python_exception_uncaught", code + GORGON_LINES_UNCAUGHT,
		 code + GORGON_LINES_CODE_SIZE);
	put_argument(to, "exception", text, 0);
	put_argument(to, "where", text, sizeof(uint64_t));
	OPS(to, 0);
	put_code(to, "python_code", code + GORGON_LINES_GENERIC, code + GORGON_LINES_RAISED);
	OPS(to, 0);
	end_info(to);
}

// @lines: where the unit's lines are in their section.
void gorgon_lines_put_info(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file,
		     uint64_t lines, uint64_t code, const struct gorgon_lines_layout *layout)
{
	size_t slash = (size_t)(strrchr(file->path, '/') - file->path);
	struct types types;

	begin_info(to, UNIT, file->path);
	put_bytes(to, file->path, slash ? slash : 1);
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

static void begin_lines(struct gorgon_lines_bytes *to, const uint8_t *text)
{
	OPS(to, 0, 9, DW_LNE_set_address);
	put_number(to, (uintptr_t)text, 8);
}

static void advance_line(struct gorgon_lines_bytes *to, int *line, int next)
{
	OPS(to, DW_LNS_advance_line);
	put_sleb(to, (int64_t)next - *line);
	*line = next;
}

// The row of a tail, where debuggers set no breakpoints.
static void put_tail(struct gorgon_lines_bytes *to, int *line, int next)
{
	advance_line(to, line, next);
	OPS(to, DW_LNS_negate_stmt, DW_LNS_copy, DW_LNS_negate_stmt, DW_LNS_advance_pc,
	    GORGON_LINES_STUB_SIZE - GORGON_LINES_STUB_TAIL);
}

// Debuggers stop in a function that they step into where it has a line: not at its entry, but at
// its first stub. Two rows of that say that nothing is before: gdb would go to the second line on
// aarch64. The entry is a sequence of its own, because gdb takes no row of line 0: it would
// be in the last line, so that `next` there would enter a call of the function itself. The tail of
// a stub belongs to the line before, because gdb 16 makes one range of a line's two rows that are
// side by side.
void gorgon_lines_put_lines(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file)
{
	static const uint8_t header[] = {1, 1, 1, (uint8_t)-5, 14, 13, 0, 1, 1,
					 1, 1, 0, 0,           0,  1,  0, 0, 1};
	size_t start;

	put_number(to, 0, 4);
	put_number(to, 4, 2);
	put_number(to, 0, 4);
	start = to->size;
	put_bytes(to, header, sizeof(header));
	OPS(to, 0);
	put_text(to, file->path);
	OPS(to, 0, 0, 0, 0);
	set_number(to, start - 4, to->size - start, 4);
	for (size_t i = 0; i < file->function_count; i++) {
		const struct gorgon_lines_function *function = &file->functions[i];
		int line = 1;

		begin_lines(to, function->text);
		for (size_t k = 0; k < function->line_count; k++) {
			advance_line(to, &line, function->lines[k]);
			if (!k)
				OPS(to, DW_LNS_set_prologue_end, DW_LNS_copy);
			OPS(to, DW_LNS_copy, DW_LNS_advance_pc, GORGON_LINES_STUB_TAIL);
			put_tail(to, &line, function->lines[k ? k - 1 : 0]);
		}
		OPS(to, 0, 1, DW_LNE_end_sequence);
		line = 1;
		begin_lines(to, gorgon_lines_entry(function));
		advance_line(to, &line, 0);
		OPS(to, DW_LNS_copy, DW_LNS_advance_pc, GORGON_LINES_STUB_TAIL);
		put_tail(to, &line, function->lines[function->line_count - 1]);
		OPS(to, 0, 1, DW_LNE_end_sequence);
	}
	set_number(to, 0, to->size - 4, 4);
}
