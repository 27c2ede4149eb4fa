/* SPDX-License-Identifier: MIT */
/* Whose the timers of the kernel are: a table from the kernel's number of a timer to the view of
 * signals that the timer's signals are for. See timer_owners.c. signals.c orders all calls but
 * find() by its lock. */
#ifndef GORGON_PROCESS_TIMER_OWNERS_H
#define GORGON_PROCESS_TIMER_OWNERS_H

#include <signal.h>
#include <stdbool.h>

struct gorgon_signals;

/* The kernel has just given a timer of @view the number @id. False: no memory. Safe in signal
 * handlers. */
bool gorgon_timer_owners_add(struct gorgon_signals *view, int id);
/* The timer was deleted; signals that it has sent may still arrive, and are for the view. */
void gorgon_timer_owners_end(const struct gorgon_signals *view, int id);
/* Signals of the view's timers that are still to come are for nobody. */
void gorgon_timer_owners_drop(const struct gorgon_signals *view);
/* In a child of fork(), which has none of the timers. */
void gorgon_timer_owners_forget(void);

/* Called by the dispatcher, without a lock. Whether @info is of a timer in the table: then @view
 * gets its view, or NULL when that has gone, and @info what the kernel says of an interval
 * timer. */
bool gorgon_timer_owners_find(siginfo_t *info, struct gorgon_signals **view);

#endif
