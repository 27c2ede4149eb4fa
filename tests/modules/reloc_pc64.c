// SPDX-License-Identifier: MIT
// A distance of 64 bits to another object's symbol.

#include "note.h"

#include <stdint.h>

extern int dep_words[5];

void reloc_pc64(void);

__asm__(".pushsection .data.reloc_asm, \"aw\"\n"
	"	.p2align 3\n"
	"distance: .quad dep_words - .\n"
	"	.popsection\n");

extern volatile int64_t distance __attribute__((visibility("hidden")));

void reloc_pc64(void)
{
	note_value("same", (uintptr_t)&distance + (uintptr_t)distance == (uintptr_t)dep_words);
}
