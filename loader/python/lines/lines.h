/* SPDX-License-Identifier: MIT */
/* Python lines that have addresses, for debuggers. See lines.c. */
#ifndef GORGON_PYTHON_LINES_H
#define GORGON_PYTHON_LINES_H

#include <stdbool.h>

struct gorgon_error;
struct gorgon_interp;

/* Before the load of an interpreter: an error where its options ask for what is not to be had. */
struct gorgon_error *gorgon_lines_check(struct gorgon_interp *interp);

/* Before Python starts. Lines are made from the first module on. */
struct gorgon_error *gorgon_lines_begin(struct gorgon_interp *interp);

/* Tell that Python has started, and that its program or calls begin: debuggers do not stop at what
 * Python raises and catches before. An interpreter without lines is ignored. */
void gorgon_lines_started(struct gorgon_interp *interp);

/* It is about to be unloaded: nobody looks for breakpoints any more. */
void gorgon_lines_stop(struct gorgon_interp *interp);

/* Its code is unmapped, or it never started: debuggers forget the lines. */
void gorgon_lines_end(struct gorgon_interp *interp);

/* After fork(), when it is known which interpreters are lost: nobody holds the lock of lines, and a
 * thread watches for debuggers. */
void gorgon_lines_in_child(void);

/* Whether the interpreter's option demands lines, so that it is an error where they cannot be
 * made. */
bool gorgon_lines_are_wanted(const struct gorgon_interp *interp);

#endif
