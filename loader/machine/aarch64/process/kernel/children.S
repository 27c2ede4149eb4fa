/* SPDX-License-Identifier: MIT */
/* vfork() and posix_spawn() of private code (see children_making.c). */

#define SYS_clone 220
#define FLAGS	  0x4111 /* CLONE_VM, CLONE_VFORK, SIGCHLD */

/*
 * pid_t gorgon_children_vfork(struct gorgon_children *)
 *
 * The child returns first and runs on this stack, so nothing of the parent's may be left there. What
 * the parent needs is in registers, which the kernel preserves.
 */
	.text
	.globl	gorgon_children_vfork
	.hidden	gorgon_children_vfork
	.type	gorgon_children_vfork, %function
	.p2align 4
gorgon_children_vfork:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	str	x0, [sp, #16]
	bl	gorgon_children_before_vfork
	mov	w11, w0
	ldr	x10, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	mov	x0, #FLAGS
	mov	x1, xzr			/* on the same stack */
	mov	x2, xzr
	mov	x3, xzr
	mov	x4, xzr
	mov	x8, #SYS_clone
	svc	#0
	cbz	x0, .Lchild
	mov	x1, x0
	mov	x0, x10
	mov	w2, w11
	b	gorgon_children_after_vfork
.Lchild:
	ret
	.cfi_endproc
	.size	gorgon_children_vfork, . - gorgon_children_vfork

/* The state is in the register of the seventh argument already. */
	.macro	spawn name, target
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34
	b	\target
	.cfi_endproc
	.size	\name, . - \name
	.endm

	spawn	gorgon_children_spawn, gorgon_children_run_spawn
	spawn	gorgon_children_spawnp, gorgon_children_run_spawnp

#include "base/note.h"
