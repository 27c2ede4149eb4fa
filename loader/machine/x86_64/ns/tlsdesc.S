/* SPDX-License-Identifier: MIT */
/*
 * What TLS descriptors call (psABI x86-64, "Thread-Local Storage", TLSDESC model).
 *
 * A descriptor is two words: a function and its argument, here the address of a
 * struct gorgon_tls_index. The caller has the descriptor's address in rax, calls the
 * function and adds the result, in rax, to the thread pointer. Every other register
 * but the flags is preserved - vector registers too, which compilers count on.
 *
 * First the look-up of tls.c's fast path, in four registers. Otherwise
 * gorgon_tls_get_addr() makes the block: it allocates and may use any register, so
 * everything that C code may change is saved around it, the vector state with XSAVE
 * (FXSAVE where the processor has none).
 */

/* struct gorgon_thread and struct gorgon_tls_slot; asserted in tlsdesc.c. */
#define THREAD_SLOTS	  16
#define THREAD_SLOT_COUNT 24

	.text
	.globl	gorgon_tlsdesc
	.hidden	gorgon_tlsdesc
	.type	gorgon_tlsdesc, @function
	.p2align 4
gorgon_tlsdesc:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	movq	8(%rax), %rdi

	movq	gorgon_thread_current@gottpoff(%rip), %rsi
	movq	%fs:(%rsi), %rsi
	testq	%rsi, %rsi
	je	.Lslow
	movq	(%rdi), %rdx
	movl	%edx, %ecx
	andl	$0xffffff, %ecx
	cmpq	THREAD_SLOT_COUNT(%rsi), %rcx
	jae	.Lslow
	movq	THREAD_SLOTS(%rsi), %rsi
	shlq	$4, %rcx
	cmpq	(%rsi,%rcx), %rdx
	jne	.Lslow
	movq	8(%rsi,%rcx), %rax
	addq	8(%rdi), %rax

.Ldone:
	subq	%fs:0, %rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_restore_state

.Lslow:
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	/* Room for the vector state, aligned to 64 as XSAVE wants. */
	subq	gorgon_tlsdesc_state_size(%rip), %rsp
	andq	$-64, %rsp
	cmpl	$0, gorgon_tlsdesc_has_xsave(%rip)
	je	.Lfxsave
	/* XSAVE leaves parts of its header as they are, XRSTOR wants them to be zero. */
	xorl	%eax, %eax
	movq	%rax, 512(%rsp)
	movq	%rax, 520(%rsp)
	movq	%rax, 528(%rsp)
	movq	%rax, 536(%rsp)
	movq	%rax, 544(%rsp)
	movq	%rax, 552(%rsp)
	movq	%rax, 560(%rsp)
	movq	%rax, 568(%rsp)
	movl	$-1, %eax
	movl	$-1, %edx
	xsave64	(%rsp)
	call	gorgon_tls_get_addr
	movq	%rax, %rcx
	movl	$-1, %eax
	movl	$-1, %edx
	xrstor64 (%rsp)
	movq	%rcx, %rax
	jmp	.Lrestore
.Lfxsave:
	fxsave64 (%rsp)
	call	gorgon_tls_get_addr
	fxrstor64 (%rsp)
.Lrestore:
	leaq	-64(%rbp), %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	jmp	.Ldone
	.cfi_endproc
	.size	gorgon_tlsdesc, . - gorgon_tlsdesc

/* Of a weak variable that nobody defines: the address is the argument. */
	.globl	gorgon_tlsdesc_undefined
	.hidden	gorgon_tlsdesc_undefined
	.type	gorgon_tlsdesc_undefined, @function
	.p2align 4
gorgon_tlsdesc_undefined:
	.cfi_startproc
	endbr64
	movq	8(%rax), %rax
	subq	%fs:0, %rax
	ret
	.cfi_endproc
	.size	gorgon_tlsdesc_undefined, . - gorgon_tlsdesc_undefined

	.section .note.GNU-stack, "", @progbits
