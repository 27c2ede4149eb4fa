/* SPDX-License-Identifier: MIT */
/* Threads that a debugger has stopped in C code wait for a look at its breakpoints. See
 * lines_alarms.c. */
#ifndef GORGON_PYTHON_LINES_ALARMS_H
#define GORGON_PYTHON_LINES_ALARMS_H

/* All but note are for the watching thread. Give threads that have come a timer. */
void gorgon_lines_alarms_find(void);

/* Put them off: the process is not stopped. */
void gorgon_lines_alarms_put_off(void);

/* A look begins, or ends. */
void gorgon_lines_alarms_note(void);

/* There is no debugger any more. */
void gorgon_lines_alarms_end(void);

/* Timers are not inherited. */
void gorgon_lines_alarms_in_child(void);

#endif
