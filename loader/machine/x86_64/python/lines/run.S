/* SPDX-License-Identifier: MIT */
/* void gorgon_lines_run(struct gorgon_lines_run *run) runs the stub of a line;
 * python/lines/machine.h says with which registers. */

	.text
	.globl	gorgon_lines_run
	.hidden	gorgon_lines_run
	.type	gorgon_lines_run, @function
gorgon_lines_run:
	.cfi_startproc
	endbr64
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	push	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	push	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	lea	1f(%rip), %rax
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %rbp
	mov	%rsp, (%rbp)
	mov	24(%rbp), %rbx
	mov	32(%rbp), %r11
	mov	40(%rbp), %r13
	mov	48(%rbp), %r10
	mov	56(%rbp), %r15
	mov	64(%rbp), %r12
	mov	72(%rbp), %r14
	jmp	*16(%rbp)
1:
	.cfi_adjust_cfa_offset -8
	mov	%rbx, 24(%rbp)
	pop	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	pop	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	gorgon_lines_run, . - gorgon_lines_run

	.section .note.GNU-stack, "", @progbits
