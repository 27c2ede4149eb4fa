/* SPDX-License-Identifier: MIT */
/* A library that says that each branch ends at an instruction which is made for it, and a function for which that is not so. */
#include "base/note.h"

	.text
	.globl	bti_absent
	.type	bti_absent, %function
bti_absent:
	mov	w0, #7
	ret

	.globl	bti_present
	.type	bti_present, %function
bti_present:
	hint	#34
	mov	w0, #8
	ret
