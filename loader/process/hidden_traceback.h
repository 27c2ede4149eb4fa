/* SPDX-License-Identifier: MIT */
/* Python lines of a thread, from a libpython that does not export what writes them. See
 * hidden_traceback.c. */
#ifndef GORGON_PROCESS_HIDDEN_TRACEBACK_H
#define GORGON_PROCESS_HIDDEN_TRACEBACK_H

#include <stdbool.h>

struct gorgon_hidden_traceback;
struct gorgon_image;
struct gorgon_part;

extern const struct gorgon_part gorgon_hidden_traceback_part;

/* Whether a libpython keeps the function for itself. */
bool gorgon_hidden_traceback_is(const struct gorgon_image *libpython);

/* The handler of signals by which faulthandler answers for the thread that runs it; it is called
 * with @number. */
void gorgon_hidden_traceback_set(struct gorgon_hidden_traceback *state, void (*handler)(int),
				 int number);

/* NULL: none was set. */
void (*gorgon_hidden_traceback_get(const struct gorgon_hidden_traceback *state))(int);

/* Write the lines of the calling thread to @fd. Safe in handlers of signals. False: no handler was
 * set. */
bool gorgon_hidden_traceback_write(struct gorgon_hidden_traceback *state, int fd);

#endif
