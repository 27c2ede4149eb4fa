/* SPDX-License-Identifier: MIT */
/* execl() and execlp() of private code, see exec.c. */

#include "process/variadic.h"

	.text
	variadic gorgon_execl, gorgon_execl_list, 1, x1, x2
	variadic gorgon_execlp, gorgon_execlp_list, 1, x1, x2

#include "base/note.h"
