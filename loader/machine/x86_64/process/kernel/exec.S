/* SPDX-License-Identifier: MIT */
/* execl() and execlp() of private code, see exec.c. */

#include "process/variadic.h"

	.text
	variadic gorgon_execl, gorgon_execl_list, 1, %rsi, %rdx
	variadic gorgon_execlp, gorgon_execlp_list, 1, %rsi, %rdx

	.section .note.GNU-stack, "", @progbits
