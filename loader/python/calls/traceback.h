/* SPDX-License-Identifier: MIT */
/* Python lines in a report of a fault. See traceback.c. */
#ifndef GORGON_PYTHON_TRACEBACK_H
#define GORGON_PYTHON_TRACEBACK_H

#include <stdbool.h>

struct gorgon_interp;

/* Whether gorgon_traceback_prepare() is needed. */
bool gorgon_traceback_is_hidden(const struct gorgon_interp *interp);

/* Once, after Python has started, with the GIL. Without it there are no lines. */
void gorgon_traceback_prepare(struct gorgon_interp *interp);

/* As write_python of struct gorgon_ns_user. */
bool gorgon_traceback_write(void *interp, int fd);

/* What a copy of an interpreter takes over: NULL, where nothing is hidden. */
void (*gorgon_traceback_handler(const struct gorgon_interp *interp))(int);
void gorgon_traceback_adopt(struct gorgon_interp *interp, void (*handler)(int));

#endif
