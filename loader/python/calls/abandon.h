/* SPDX-License-Identifier: MIT */
/* Interpreters that do not end. See abandon.c. */
#ifndef GORGON_PYTHON_ABANDON_H
#define GORGON_PYTHON_ABANDON_H

#include "interp.h"
#include "base/patience.h"

/* Abandon an interpreter, for a reason that follows "was abandoned: ". An interpreter that has
 * ended, or was abandoned before, stays what it is. Takes some milliseconds. */
void gorgon_abandon(struct gorgon_interp *interp, const char *why);
/* As gorgon_abandon(), in the handler of a fault of private code; @text is the report of the fault.
 * A function for struct gorgon_ns_user. */
void gorgon_abandon_on_fault(void *interp, const char *text);

/* Write which threads are in an interpreter: their names, native functions and Python lines, as far
 * as they say that until a time of gorgon_now(). @extra: one more thread, or 0. */
void gorgon_abandon_name_threads(struct gorgon_interp *interp, pid_t extra, uint64_t until,
				 char *ret, size_t size);

/* Write the numbers of threads that code of the interpreter has started, up to @count of them, and
 * return how many. */
size_t gorgon_abandon_list_own(const struct gorgon_interp *interp, pid_t *list, size_t count);

/* A limit of time for what runs in an interpreter: time in which one of its threads, @extra (or 0)
 * or the calling thread was ready, and no processor was free, does not count. See
 * gorgon_patience_begin(), gorgon_patience_look(). */
void gorgon_abandon_patiently(struct gorgon_patience *patience, struct gorgon_interp *interp,
			      pid_t extra, uint64_t limit_ns);
uint64_t gorgon_abandon_later(struct gorgon_patience *patience, struct gorgon_interp *interp,
			      pid_t extra);

#endif
