// SPDX-License-Identifier: MIT
// An address in a field of 32 bits.

int overflow_value = 1;

__asm__(".pushsection .data.overflow, \"aw\"\n"
	"	.long overflow_value\n"
	"	.popsection\n");
