/* SPDX-License-Identifier: MIT */
/* What private code gets instead of functions that reach for the whole process. See process.c. */
#ifndef GORGON_PROCESS_PROCESS_H
#define GORGON_PROCESS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct gorgon_ns;

void gorgon_process_exit(int status, struct gorgon_ns *ns);
/* End a child process that code of @ns has forked: only the functions and destructors of @ns run.
 * In any other process this is exit(). */
_Noreturn void gorgon_process_leave(struct gorgon_ns *ns, int status);
/* Call what code of @ns has registered for the end of a process, if its program has descriptors of
 * its own: on a thread that has them. Python has ended. Returns whether it has. */
bool gorgon_process_end(struct gorgon_ns *ns, int status);
int gorgon_process_kill(pid_t pid, int number, struct gorgon_ns *ns);
char *gorgon_process_getenv(const char *name, struct gorgon_ns *ns);
char *gorgon_process_secure_getenv(const char *name, struct gorgon_ns *ns);

#endif
