/* SPDX-License-Identifier: MIT */
/*
 * A macro for variadic functions of private code, which get their namespace's state, too. Any
 * register may hold an argument, so the state comes in x9; what C would do with `...` is done here:
 * the registers are saved where a va_list says (AAPCS64, "The va_list type").
 */

#define STACK		16	/* the va_list */
#define GR_TOP		24
#define VR_TOP		32
#define GR_OFFS		40
#define VR_OFFS		44
#define SAVED		48
#define SAVED_VECTORS	112
#define FRAME		240

	/* @named arguments come before `...`. The target gets them, the va_list in @list and the
	 * state in @state. */
	.macro	variadic name, target, named, list, state
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-FRAME]!
	.cfi_adjust_cfa_offset FRAME
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x0, x1, [sp, #SAVED]
	stp	x2, x3, [sp, #SAVED + 16]
	stp	x4, x5, [sp, #SAVED + 32]
	stp	x6, x7, [sp, #SAVED + 48]
	stp	q0, q1, [sp, #SAVED_VECTORS]
	stp	q2, q3, [sp, #SAVED_VECTORS + 32]
	stp	q4, q5, [sp, #SAVED_VECTORS + 64]
	stp	q6, q7, [sp, #SAVED_VECTORS + 96]
	add	x10, sp, #FRAME
	str	x10, [sp, #STACK]
	str	x10, [sp, #VR_TOP]
	add	x10, sp, #SAVED_VECTORS
	str	x10, [sp, #GR_TOP]
	mov	w10, #-8 * (8 - \named)
	str	w10, [sp, #GR_OFFS]
	mov	w10, #-128
	str	w10, [sp, #VR_OFFS]
	add	\list, sp, #STACK
	mov	\state, x9
	bl	\target
	ldp	x29, x30, [sp], #FRAME
	.cfi_adjust_cfa_offset -FRAME
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm
