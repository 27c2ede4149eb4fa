/* SPDX-License-Identifier: MIT */
/* The code of lines/machine.h, which is copied for each interpreter. */

#include "python/lines/arch.h"

/* struct gorgon_lines_links */
#define LINK(at) .Lcode + GORGON_LINES_PAGE_SIZE + (at)
#define EVALUATOR LINK(0)
#define BEFORE	  LINK(8)
#define AFTER	  LINK(16)
#define TRACE	  LINK(24)
#define CTX	  LINK(32)
#define ACTIVE	  LINK(40)
#define COUNTED	  LINK(48)
#define WATCHED	  LINK(56)
#define EVALUATE  LINK(64)
#define DEPTH	  LINK(80)

	.macro	at offset
	.org	.Lcode + \offset, 0
	.endm

	/* The address of where the thread's newest record is. */
	.macro	newest to
	mrs	\to, tpidr_el0
	ldr	x10, .Lnewest
	add	\to, \to, x10
	.endm

	.section .rodata
	.globl	gorgon_lines_code, gorgon_lines_code_end
	.hidden	gorgon_lines_code, gorgon_lines_code_end
	.p2align 3
gorgon_lines_code:
.Lcode:
	at	GORGON_LINES_FRAME	/* (x0 state, x1 frame, w2) */
	hint	#34			/* bti c */
	sub	sp, sp, #GORGON_LINES_RECORD_SIZE
	stp	x19, x20, [sp, #48]
	stp	x21, x22, [sp, #64]
	stp	x23, x24, [sp, #80]
	stp	x25, x26, [sp, #96]
	stp	x27, x28, [sp, #112]
	stp	x29, x30, [sp, #128]
	newest	x9
	ldr	x10, [x9]
	adr	x11, .Lcalled
	stp	x1, x0, [sp]		/* frame, state */
	stp	xzr, x10, [sp, #16]	/* waiting, older */
	stp	xzr, x11, [sp, #32]	/* entry, saved[0] */
	mov	x19, sp
	str	x19, [x9]
	ldr	w9, [x0, #36]
	ldr	w10, COUNTED
	bic	w9, w10, w9
	tbnz	w9, #31, .Lbefore
	ldr	w9, ACTIVE
	cbnz	w9, .Lbefore
	ldr	x9, WATCHED
	ldr	w9, [x9]
	mov	w10, #0xd4200000	/* brk #0 */
	cmp	w9, w10
	b.eq	.Lbefore
.Lcall:
	ldr	x16, EVALUATOR
	at	GORGON_LINES_CALL
	blr	x16
	at	GORGON_LINES_CALLED
.Lcalled:
	newest	x9
	ldp	x10, x11, [sp, #24]	/* older, entry */
	str	x10, [x9]
	str	xzr, [sp, #40]
	cbnz	x11, .Lafter
	ldr	w9, ACTIVE
	cbnz	w9, .Lafter
.Ldone:
	ldp	x19, x20, [sp, #48]
	ldp	x21, x22, [sp, #64]
	ldp	x23, x24, [sp, #80]
	ldp	x25, x26, [sp, #96]
	ldp	x27, x28, [sp, #112]
	ldp	x29, x30, [sp, #128]
	add	sp, sp, #GORGON_LINES_RECORD_SIZE
	ret
.Lbefore:
	mov	x20, x0
	mov	x21, x1
	mov	w22, w2
	ldr	x0, CTX
	mov	x1, sp
	ldr	x16, BEFORE
	blr	x16
	mov	x0, x20
	mov	x1, x21
	mov	w2, w22
	b	.Lcall
.Lafter:
	mov	x20, x0
	ldr	x0, CTX
	mov	x1, sp
	ldr	x16, AFTER
	blr	x16
	mov	x0, x20
	b	.Ldone

	at	GORGON_LINES_FRAME_END
	at	GORGON_LINES_TRACER
	ldr	x4, CTX
	ldr	x16, TRACE
	br	x16
	at	GORGON_LINES_LEAVE	/* x23: struct gorgon_lines_run, x24: in gorgon_lines_run() */
	str	x30, [x23, #8]
	br	x24
	at	GORGON_LINES_RAISED	/* behind the stub that C code writes */
	nop
	br	x10
	at	GORGON_LINES_UNCAUGHT
	nop
	br	x10
	at	GORGON_LINES_CODE_SIZE
.Levaluate:
	ldr	x2, CTX
	ldr	x16, EVALUATE
	br	x16
	at	GORGON_LINES_DEPTH
	ldr	x2, CTX
	ldr	x16, DEPTH
	br	x16
	at	GORGON_LINES_EVALUATE	/* behind what C code copies */
	.set	end, 0
	.rept	GORGON_LINES_EVALUATE_ALL + 1
	.set	end, end + GORGON_LINES_EVALUATE_SIZE
	mov	x1, #end
	b	.Levaluate
	.endr
.Lnewest:
	.xword	0			/* C code sets it */
gorgon_lines_code_end:

#include "base/note.h"
