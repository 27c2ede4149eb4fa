// SPDX-License-Identifier: MIT
/*
 * aarch64.
 *
 * An entry of the procedure linkage table adds up the address of its slot from a page and an
 * offset:
 *
 *     [bti c]                       where branches need a landing place
 *     adrp x16, PAGE
 *     ldr  x17, [x16, OFFSET]
 *     add  x16, x16, OFFSET
 *     [autia1716]                   where the address is signed
 *     br   x17
 *     [nop]                         up to the next entry
 *
 * The first entry of the table is longer and begins with something else, so entries are found by
 * their instructions.
 *
 * Mapping symbols: $x says that code begins, and $d that data does; both may go on with a dot and
 * anything.
 *
 * Specifications: ELF for the Arm 64-bit Architecture, "Mapping symbols", "Relocation codes"; Arm
 * Architecture Reference Manual, A64.
 */
#include "machine.h"

#include <string.h>

#define INSTRUCTION_SIZE 4
// that adrp counts in, whatever the size of the system's pages
#define PAGE             UINT64_C(4096)

#define BTI_C     0xd503245fu
#define NOP       0xd503201fu
#define AUTIA1716 0xd503219fu
#define AUTIB1716 0xd50321dfu
#define BR_X17    0xd61f0220u

struct code {
	const uint8_t *at;
	size_t size, off;
};

/* The instruction at the reader's place; 0, which is none, behind the end. */
static uint32_t peek(const struct code *c)
{
	uint32_t word = 0;

	if (c->size - c->off >= sizeof(word))
		memcpy(&word, c->at + c->off, sizeof(word));
	return word;
}

static bool skip(struct code *c, uint32_t instruction)
{
	bool found = peek(c) == instruction;

	if (found)
		c->off += INSTRUCTION_SIZE;
	return found;
}

/* adrp x16: a signed number of pages from the page of the instruction, its lowest two bits apart.
 */
static bool read_adrp(struct code *c, uint64_t vaddr, uint64_t *page)
{
	uint32_t word = peek(c);
	int64_t count = (word << 8 >> 13) << 2 | (word >> 29 & 3);

	if ((word & 0x9f00001f) != 0x90000010)
		return false;
	*page = ((vaddr + c->off) & -PAGE) + ((uint64_t)((count ^ 1 << 20) - (1 << 20)) * PAGE);
	c->off += INSTRUCTION_SIZE;
	return true;
}

/* ldr x17, [x16, OFFSET]: in units of eight bytes. */
static bool read_ldr(struct code *c, uint64_t *off)
{
	uint32_t word = peek(c);

	if ((word & 0xffc003ff) != 0xf9400211)
		return false;
	*off = (word >> 10 & 0xfff) * 8;
	c->off += INSTRUCTION_SIZE;
	return true;
}

static bool skip_add(struct code *c)
{
	bool found = (peek(c) & 0xffc003ff) == 0x91000210; // add x16, x16, OFFSET

	if (found)
		c->off += INSTRUCTION_SIZE;
	return found;
}

static size_t aarch64_read_plt(const uint8_t *code, size_t size,
			       uint64_t entry_size __attribute__((unused)), uint64_t vaddr,
			       uint64_t *slot)
{
	struct code c = {.at = code, .size = size};
	uint64_t page, off;

	*slot = 0;
	skip(&c, BTI_C);
	if (!read_adrp(&c, vaddr, &page) || !read_ldr(&c, &off) || !skip_add(&c))
		return INSTRUCTION_SIZE;
	if (!skip(&c, AUTIA1716))
		skip(&c, AUTIB1716);
	if (!skip(&c, BR_X17))
		return INSTRUCTION_SIZE;
	while (skip(&c, NOP))
		;
	*slot = page + off;
	return c.off;
}

static bool aarch64_is_mapping(const char *name, bool *is_data)
{
	if (name[0] != '$' || (name[1] != 'x' && name[1] != 'd') || (name[2] && name[2] != '.'))
		return false;
	*is_data = name[1] == 'd';
	return true;
}

static bool aarch64_is_breakpoint(const void *code)
{
	uint32_t word = __atomic_load_n((const uint32_t *)code, __ATOMIC_RELAXED);

	return (word & 0xffe0001f) == 0xd4200000; // brk, with any number
}

const struct jitreg_machine jitreg_machine_aarch64 = {
	.number = EM_AARCH64,
	.unwind_type = SHT_PROGBITS,
	.jump_slot = R_AARCH64_JUMP_SLOT,
	.glob_dat = R_AARCH64_GLOB_DAT,
	.absolute_64 = R_AARCH64_ABS64,
	.absolute_32 = R_AARCH64_ABS32,
	.read_plt = aarch64_read_plt,
	.is_mapping = aarch64_is_mapping,
	.is_breakpoint = aarch64_is_breakpoint,
};
