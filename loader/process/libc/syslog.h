/* SPDX-License-Identifier: MIT */
/* What of the system's log is a namespace's own. See syslog.c. */
#ifndef GORGON_PROCESS_SYSLOG_H
#define GORGON_PROCESS_SYSLOG_H

#include <stdarg.h>

struct log;

/* The daemon's address; tests have a daemon of their own. */
extern const char *gorgon_syslog_path;

/* syslog.S of the machine. */
void gorgon_syslog_write(int priority, const char *format, ...);
void gorgon_syslog_write_chk(int priority, int flag, const char *format, ...);

/* The functions that these call. */
void gorgon_syslog_write_list(int priority, const char *format, va_list list, struct log *log);
void gorgon_syslog_write_list_chk(int priority, int flag, const char *format, va_list list,
				  struct log *log);

#endif
