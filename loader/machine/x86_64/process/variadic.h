/* SPDX-License-Identifier: MIT */
/*
 * A macro for variadic functions of private code, which get their namespace's state, too. Any
 * register may hold an argument, so the state comes in r10; what C would do with `...` is done
 * here: the registers are saved where a va_list expects them (psABI x86-64, "Variable Argument
 * Lists").
 */

#define GP_OFFSET	0
#define FP_OFFSET	4
#define OVERFLOW_AREA	8
#define SAVE_AREA	16
#define SAVED		32
#define SAVED_VECTORS	(SAVED + 48)
#define FRAME		0xd8

	/* @named arguments come before `...`. The target gets them, the va_list in @list and the
	 * state in @state. */
	.macro	variadic name, target, named, list, state
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	subq	$FRAME, %rsp
	.cfi_adjust_cfa_offset FRAME
	movq	%rdi, SAVED(%rsp)
	movq	%rsi, SAVED+8(%rsp)
	movq	%rdx, SAVED+16(%rsp)
	movq	%rcx, SAVED+24(%rsp)
	movq	%r8, SAVED+32(%rsp)
	movq	%r9, SAVED+40(%rsp)
	testb	%al, %al
	je	1f
	movaps	%xmm0, SAVED_VECTORS(%rsp)
	movaps	%xmm1, SAVED_VECTORS+16(%rsp)
	movaps	%xmm2, SAVED_VECTORS+32(%rsp)
	movaps	%xmm3, SAVED_VECTORS+48(%rsp)
	movaps	%xmm4, SAVED_VECTORS+64(%rsp)
	movaps	%xmm5, SAVED_VECTORS+80(%rsp)
	movaps	%xmm6, SAVED_VECTORS+96(%rsp)
	movaps	%xmm7, SAVED_VECTORS+112(%rsp)
1:
	movl	$8 * \named, GP_OFFSET(%rsp)
	movl	$48, FP_OFFSET(%rsp)
	leaq	FRAME+8(%rsp), %r11
	movq	%r11, OVERFLOW_AREA(%rsp)
	leaq	SAVED(%rsp), %r11
	movq	%r11, SAVE_AREA(%rsp)
	movq	%rsp, \list
	movq	%r10, \state
	call	\target
	addq	$FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm
