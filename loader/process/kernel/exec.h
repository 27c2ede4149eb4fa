/* SPDX-License-Identifier: MIT */
/* exec() and its relatives of private code. See exec.c. */
#ifndef GORGON_PROCESS_EXEC_H
#define GORGON_PROCESS_EXEC_H

#include <stdarg.h>

struct gorgon_ns;
struct gorgon_part;

extern const struct gorgon_part gorgon_exec_part;

/* execl() and execlp(): exec.S of the machine has the variadic functions, which call those with a
 * list. */
int gorgon_execl(const char *path, ...);
int gorgon_execlp(const char *file, ...);
int gorgon_execl_list(const char *path, va_list list, struct gorgon_ns *ns);
int gorgon_execlp_list(const char *file, va_list list, struct gorgon_ns *ns);

#endif
