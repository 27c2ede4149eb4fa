// SPDX-License-Identifier: MIT
/*
 * x86-64.
 *
 * An entry of the procedure linkage table ends in a jump through its slot:
 *
 *     [f3 0f 1e fa]  [f2]  ff 25 DISPLACEMENT     endbr64, bnd jmp *DISPLACEMENT(%rip)
 *
 * Specification: x86-64 psABI, "Procedure Linkage Table", "Relocation Types".
 */
#include "machine.h"

#include <string.h>

static uint64_t x86_64_slot(const uint8_t *entry, size_t size, uint64_t vaddr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	int32_t displacement;
	size_t at = 0;

	if (size >= sizeof(endbr64) && !memcmp(entry, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at < size && entry[at] == 0xf2)
		at++;
	if (size < at + 6 || entry[at] != 0xff || entry[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, entry + at + 2, sizeof(displacement));
	return vaddr + at + 6 + (uint64_t)(int64_t)displacement;
}

/* The entries of .plt.got can have 8 bytes, all others have 16. */
static size_t x86_64_read_plt(const uint8_t *code, size_t size, uint64_t entry_size, uint64_t vaddr,
			      uint64_t *slot)
{
	size_t step = entry_size == 8 ? 8 : 16;

	*slot = x86_64_slot(code, size < step ? size : step, vaddr);
	return step;
}

static bool x86_64_is_breakpoint(const void *code)
{
	const uint8_t int3 = 0xcc;

	return __atomic_load_n((const uint8_t *)code, __ATOMIC_RELAXED) == int3;
}

const struct jitreg_machine jitreg_machine_x86_64 = {
	.number = EM_X86_64,
	.unwind_type = SHT_X86_64_UNWIND,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.absolute_64 = R_X86_64_64,
	.absolute_32 = R_X86_64_32,
	.read_plt = x86_64_read_plt,
	.is_breakpoint = x86_64_is_breakpoint,
};
