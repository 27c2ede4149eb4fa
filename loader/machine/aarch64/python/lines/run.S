/* SPDX-License-Identifier: MIT */
/* void gorgon_lines_run(struct gorgon_lines_run *run) runs the stub of a line;
 * python/lines/machine.h says with which registers. */

	.text
	.globl	gorgon_lines_run
	.hidden	gorgon_lines_run
	.type	gorgon_lines_run, %function
	.p2align 4
gorgon_lines_run:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-64]!
	.cfi_adjust_cfa_offset 64
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	mov	x23, x0			/* "leave" has it there */
	adr	x30, 1f			/* what returns and "leave" come back to */
	mov	x24, x30
	ldp	x16, x19, [x0, #16]
	ldp	x11, x21, [x0, #32]
	ldp	x10, x22, [x0, #48]
	ldp	x20, x12, [x0, #64]
	br	x16
1:
	hint	#36			/* bti j */
	str	x19, [x23, #24]
	ldp	x23, x24, [sp, #48]
	.cfi_restore x23
	.cfi_restore x24
	ldp	x21, x22, [sp, #32]
	.cfi_restore x21
	.cfi_restore x22
	ldp	x19, x20, [sp, #16]
	.cfi_restore x19
	.cfi_restore x20
	ldp	x29, x30, [sp], #64
	.cfi_adjust_cfa_offset -64
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	gorgon_lines_run, . - gorgon_lines_run

#include "base/note.h"
