/* SPDX-License-Identifier: MIT */
/*
 * What TLS descriptors call (sysvabi64, "Thread-Local Storage", TLS descriptors).
 *
 * A descriptor is two words: a function and its argument, here the address of a struct
 * gorgon_tls_index. The caller has the descriptor's address in x0, calls the function and adds the
 * result, in x0, to the thread pointer. Every other register but x30 and the flags is preserved -
 * vector registers too, which compilers count on.
 *
 * First the look-up of tls.c's fast path, in five registers. Otherwise gorgon_tls_get_addr() makes
 * the block: it allocates and may use any register, so everything that C code may change is saved
 * around it: the whole scalable vectors and predicates where the processor has them, of which the
 * other vector registers are a part.
 *
 * Not handled: threads in streaming mode (SME), in which C code may not be called.
 */

/* struct gorgon_thread; asserted in tlsdesc.c. */
#define THREAD_SLOTS	  16
#define THREAD_SLOT_COUNT 24

	.arch armv8.2-a+sve
	.text
	.globl	gorgon_tlsdesc
	.hidden	gorgon_tlsdesc
	.type	gorgon_tlsdesc, %function
	.p2align 4
gorgon_tlsdesc:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x1, x2, [sp, #-48]!
	.cfi_adjust_cfa_offset 48
	.cfi_rel_offset x1, 0
	.cfi_rel_offset x2, 8
	stp	x3, x4, [sp, #16]
	.cfi_rel_offset x3, 16
	.cfi_rel_offset x4, 24
	str	x5, [sp, #32]
	.cfi_rel_offset x5, 32
	ldr	x0, [x0, #8]

	adrp	x1, :gottprel:gorgon_thread_current
	ldr	x1, [x1, :gottprel_lo12:gorgon_thread_current]
	mrs	x2, tpidr_el0
	ldr	x1, [x1, x2]
	cbz	x1, .Lslow
	ldr	x3, [x0]
	and	x4, x3, #0xffffff
	ldr	x5, [x1, #THREAD_SLOT_COUNT]
	cmp	x4, x5
	b.hs	.Lslow
	ldr	x1, [x1, #THREAD_SLOTS]
	add	x1, x1, x4, lsl #4
	ldp	x4, x5, [x1]
	cmp	x4, x3
	b.ne	.Lslow
	ldr	x0, [x0, #8]
	add	x0, x0, x5

.Ldone:
	sub	x0, x0, x2
	ldr	x5, [sp, #32]
	ldp	x3, x4, [sp, #16]
	ldp	x1, x2, [sp], #48
	.cfi_remember_state
	.cfi_def_cfa_offset 0
	.cfi_restore x1
	.cfi_restore x2
	.cfi_restore x3
	.cfi_restore x4
	.cfi_restore x5
	ret
	.cfi_restore_state

.Lslow:
	stp	x29, x30, [sp, #-128]!
	.cfi_adjust_cfa_offset 128
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	.cfi_def_cfa_register x29
	stp	x6, x7, [sp, #16]
	stp	x8, x9, [sp, #32]
	stp	x10, x11, [sp, #48]
	stp	x12, x13, [sp, #64]
	stp	x14, x15, [sp, #80]
	stp	x16, x17, [sp, #96]
	mrs	x1, fpsr
	stp	x18, x1, [sp, #112]
	adrp	x1, gorgon_tlsdesc_has_sve
	ldr	w1, [x1, :lo12:gorgon_tlsdesc_has_sve]
	cbnz	w1, .Lscalable
	sub	sp, sp, #512
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	str	q\i, [sp, #16 * \i]
	.endr
	bl	gorgon_tls_get_addr
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ldr	q\i, [sp, #16 * \i]
	.endr
	b	.Lrestore

.Lscalable:
	addvl	sp, sp, #-32
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	str	z\i, [sp, #\i, mul vl]
	.endr
	/* 16 predicates and the first-fault register; a multiple of 16 bytes. */
	addpl	sp, sp, #-24
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	str	p\i, [sp, #\i, mul vl]
	.endr
	rdffr	p0.b
	str	p0, [sp, #16, mul vl]
	bl	gorgon_tls_get_addr
	ldr	p0, [sp, #16, mul vl]
	wrffr	p0.b
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	ldr	p\i, [sp, #\i, mul vl]
	.endr
	addpl	sp, sp, #24
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ldr	z\i, [sp, #\i, mul vl]
	.endr

.Lrestore:
	mov	sp, x29
	ldp	x18, x1, [sp, #112]
	msr	fpsr, x1
	ldp	x16, x17, [sp, #96]
	ldp	x14, x15, [sp, #80]
	ldp	x12, x13, [sp, #64]
	ldp	x10, x11, [sp, #48]
	ldp	x8, x9, [sp, #32]
	ldp	x6, x7, [sp, #16]
	ldp	x29, x30, [sp], #128
	.cfi_def_cfa sp, 48
	.cfi_restore x29
	.cfi_restore x30
	mrs	x2, tpidr_el0
	b	.Ldone
	.cfi_endproc
	.size	gorgon_tlsdesc, . - gorgon_tlsdesc

/* Of a weak variable that nobody defines: the address is the argument. */
	.globl	gorgon_tlsdesc_undefined
	.hidden	gorgon_tlsdesc_undefined
	.type	gorgon_tlsdesc_undefined, %function
	.p2align 4
gorgon_tlsdesc_undefined:
	.cfi_startproc
	hint	#34
	str	x1, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x1, 0
	ldr	x0, [x0, #8]
	mrs	x1, tpidr_el0
	sub	x0, x0, x1
	ldr	x1, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x1
	ret
	.cfi_endproc
	.size	gorgon_tlsdesc_undefined, . - gorgon_tlsdesc_undefined

#include "base/note.h"
