/* SPDX-License-Identifier: MIT */
/*
 * vfork() and posix_spawn() of private code (see children_making.c): the one cannot be a function of
 * C, the other has no argument register left for the state.
 */

#define SYS_vfork 58

/*
 * pid_t gorgon_children_vfork(struct gorgon_children *)
 *
 * The child returns first and runs on this stack: what is at or below the return address is lost
 * by then, so the parent keeps that in r8, the state in rdi, and what is done before in rdx: the
 * kernel preserves them.
 *
 * With shadow stacks both share one. Only the parent pops it: the child goes back by a jump, and
 * must not return further, as vfork() demands.
 */
	.text
	.globl	gorgon_children_vfork
	.hidden	gorgon_children_vfork
	.type	gorgon_children_vfork, @function
	.p2align 4
gorgon_children_vfork:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	call	gorgon_children_before_vfork
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	movl	%eax, %edx
	popq	%r8
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %r8
	movl	$SYS_vfork, %eax
	syscall
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	testq	%rax, %rax
	je	.Lchild
	movq	%rax, %rsi
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	gorgon_children_after_vfork
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
.Lchild:
	xorl	%esi, %esi
	rdsspq	%rsi
	testq	%rsi, %rsi
	jne	.Lshadow
	ret
.Lshadow:
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdx
	notrack jmp *%rdx
	.cfi_endproc
	.size	gorgon_children_vfork, . - gorgon_children_vfork

/* The state, in r10, becomes the seventh argument. */
	.macro	spawn name, target
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	call	\target
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	spawn	gorgon_children_spawn, gorgon_children_run_spawn
	spawn	gorgon_children_spawnp, gorgon_children_run_spawnp

	.section .note.GNU-stack, "", @progbits
