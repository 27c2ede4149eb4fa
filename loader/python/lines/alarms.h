/* SPDX-License-Identifier: MIT */
/* Threads that a debugger has stopped in C code wait for a look at its breakpoints. See
 * lines/alarms.c. */
#ifndef GORGON_PYTHON_LINES_ALARMS_H
#define GORGON_PYTHON_LINES_ALARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* So many threads have timers. */
#define GORGON_LINES_ALARMS_MAX 1024

/* All but note are for the watching thread. Give threads a timer, which they have until they end,
 * whether Python runs in them or not. */
void gorgon_lines_alarms_find(const pid_t *threads, size_t count);

/* Put the timers off, further on a machine that is busy: the process is not stopped. */
void gorgon_lines_alarms_put_off(bool busy);

/* A look begins, or ends. */
void gorgon_lines_alarms_note(void);

/* There is no debugger any more. */
void gorgon_lines_alarms_end(void);

/* Timers are not inherited. */
void gorgon_lines_alarms_in_child(void);

#endif
