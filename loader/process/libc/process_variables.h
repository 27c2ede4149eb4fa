/* SPDX-License-Identifier: MIT */
/* Changes of the process's environment while other threads start programs. See process_variables.c.
 */
#ifndef GORGON_PROCESS_PROCESS_VARIABLES_H
#define GORGON_PROCESS_PROCESS_VARIABLES_H

#include <stdbool.h>
#include <unistd.h>

/* As setenv(), unsetenv(), putenv() with a copy of the string, and clearenv(). One caller at a
 * time. */
int gorgon_process_variables_set(const char *name, const char *value, int overwrite);
int gorgon_process_variables_unset(const char *name);
int gorgon_process_variables_put(const char *text);
int gorgon_process_variables_clear(void);

/* The C library's `environ`, which another thread may set meanwhile. */
static inline char **gorgon_process_variables_list(void)
{
	return __atomic_load_n(&environ, __ATOMIC_SEQ_CST);
}

/* What `environ` is between these two calls of a thread stays readable and complete, in this thread
 * and in a child that shares its memory (vfork). The second call gets what the first has returned:
 * false where the thread, or the parent of such a child, had called it before. */
bool gorgon_process_variables_hold(void);
void gorgon_process_variables_let_go(bool held);

/* In a child of fork(): the threads that held the environment are not there. */
void gorgon_process_variables_in_child(void);

#endif
