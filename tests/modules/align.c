// SPDX-License-Identifier: MIT
// Data with an alignment of more than a page, so that the segment has it, too.

#include "note.h"

#include <stdint.h>

void align_probe(void);

static volatile char data[64] __attribute__((aligned(0x200000))) = "data";
static volatile char zero[64] __attribute__((aligned(0x10000)));

void align_probe(void)
{
	note_value("data", (uintptr_t)data % 0x200000 == 0 && data[0] == 'd');
	note_value("zero", (uintptr_t)zero % 0x10000 == 0 && !zero[63]);
}
