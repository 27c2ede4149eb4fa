/* SPDX-License-Identifier: MIT */
/* syslog() and __syslog_chk() of private code, see syslog.c. */

#include "process/variadic.h"

	.text
	variadic gorgon_syslog_write, gorgon_syslog_write_list, 2, x2, x3
	variadic gorgon_syslog_write_chk, gorgon_syslog_write_list_chk, 3, x3, x4

#include "base/note.h"
