/* SPDX-License-Identifier: MIT */
/*
 * What each file of assembly says of itself at its end: no stack is executable, and each branch
 * ends at an instruction that is made for it (BTI), so that the library's code can be checked
 * (sysvabi64, "Program Property").
 */
	.section .note.GNU-stack, "", %progbits
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5		/* sizes of name and description; NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
