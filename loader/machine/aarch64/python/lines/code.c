// SPDX-License-Identifier: MIT
// The code of lines/machine.h.
//
// Specification: Arm Architecture Reference Manual, A64, "Branches, Exception generating and System
// instructions", "PC-relative addressing", "Load register (literal)".

#include "python/lines/machine.h"

#include <string.h>

#define INSTRUCTION_SIZE 4
#define BTI_C            0xd503245f

// As lines/frame.S has it.
_Static_assert(offsetof(struct gorgon_lines_record, saved) == 40 &&
		       offsetof(struct gorgon_lines_run, leave) == 72 &&
		       offsetof(struct gorgon_lines_links, evaluate) == 64 &&
		       offsetof(struct gorgon_lines_links, depth) == 80,
	       "lines/frame.S and lines/run.S");

extern const uint8_t gorgon_lines_code[] __attribute__((visibility("hidden")));
extern const uint8_t gorgon_lines_code_end[] __attribute__((visibility("hidden")));

// Whether an instruction does the same wherever it is, and goes on behind it.
static bool may_be_elsewhere(uint32_t instruction)
{
	static const struct {
		uint32_t mask, value;
	} others[] = {
		{0x1f000000, 0x10000000}, // adr, adrp
		{0x1c000000, 0x14000000}, // branches, exceptions, system: hints are below
		{0x3b000000, 0x18000000}, // ldr of a literal
	};

	if ((instruction & 0xfffff01f) == 0xd503201f) // hints: nop, bti, paciasp
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if ((instruction & others[i].mask) == others[i].value)
			return false;
	return true;
}

// b, at @at. False: it is too far.
static bool make_jump(const uint8_t *at, const uint8_t *target, uint32_t *jump)
{
	const int64_t distance = (target - at) / INSTRUCTION_SIZE;

	*jump = 0x14000000 | (distance & 0x3ffffff);
	return distance >= -(1 << 25) && distance < 1 << 25;
}

// Copy what a jump at the beginning of @function, to @target, replaces, and a jump to the rest. The
// function still begins with a place that calls through a pointer may end at; the jump to the rest
// is one that may end anywhere.
static bool take_beginning(uint8_t *copy, const uint8_t *function, const uint8_t *target,
			   uint8_t *jump)
{
	uint32_t first[2], there[2] = {BTI_C}, back;

	memcpy(first, function, sizeof(first));
	if (!may_be_elsewhere(first[0]) || !may_be_elsewhere(first[1]) ||
	    !make_jump(function + INSTRUCTION_SIZE, target, &there[1]) ||
	    !make_jump(copy + sizeof(first), function + sizeof(first), &back))
		return false;
	memcpy(copy, first, sizeof(first));
	memcpy(copy + sizeof(first), &back, sizeof(back));
	memcpy(jump, there, sizeof(there));
	return true;
}

bool gorgon_lines_write_evaluator(uint8_t *code, struct gorgon_lines_links *links,
				  const uint8_t *evaluator, uint8_t *jump)
{
	uint8_t *copy = code + GORGON_LINES_EVALUATOR;

	if (!take_beginning(copy, evaluator, code + GORGON_LINES_FRAME, jump))
		return false;
	links->evaluator = (uintptr_t)copy;
	return true;
}

bool gorgon_lines_write_depth(uint8_t *code, struct gorgon_lines_links *links,
			      const uint8_t *function, uint8_t *jump)
{
	(void)links;
	return take_beginning(code + GORGON_LINES_DEPTH_COPY, function, code + GORGON_LINES_DEPTH,
			      jump);
}

void gorgon_lines_write_code(uint8_t *code, int32_t newest)
{
	const size_t size = (size_t)(gorgon_lines_code_end - gorgon_lines_code);
	const int64_t offset = newest;

	memcpy(code, gorgon_lines_code, size);
	memcpy(code + size - sizeof(offset), &offset, sizeof(offset));
	gorgon_lines_write_stub(code + GORGON_LINES_GENERIC);
}
