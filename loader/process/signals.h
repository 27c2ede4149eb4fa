/* SPDX-License-Identifier: MIT */
/* A view of signal dispositions per namespace. See signals.c. */
#ifndef GORGON_PROCESS_SIGNALS_H
#define GORGON_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct gorgon_signals;

/* A namespace's view; @deliver false: its handlers are recorded and never run. NULL: no
 * memory. */
struct gorgon_signals *gorgon_signals_create(bool deliver);
/* Withdraw its handlers, wait until nobody on another thread is looking at the view, and free. No
 * thread runs its code any more. */
void gorgon_signals_destroy(struct gorgon_signals *signals);

/* The calling thread is the one that handlers of this view run on, until it leaves. Nests,
 * on one thread, also with other views; returns what leave() puts back. @last: the first
 * that entered leaves. */
struct gorgon_signals *gorgon_signals_enter(struct gorgon_signals *signals);
void gorgon_signals_leave(struct gorgon_signals *signals, struct gorgon_signals *outer, bool last);

/* Let the view's thread, which it must have, run its handler of a signal. False: there is
 * no such handler, or the host has put its own in place of our dispatcher. */
bool gorgon_signals_send(struct gorgon_signals *signals, int number);

/* A signal from the process to itself, taken by the calling thread before this returns, and
 * spread from there. False when that is not for this thread: it is not the view's, or does not
 * let the signal through. */
bool gorgon_signals_queue_self(struct gorgon_signals *signals, int number);

/* --- timers of a view; see ../process/timers.c. Safe in signal handlers --------------- */

/* What a handler is told of a timer's signal. */
enum gorgon_timer_look {
	GORGON_TIMER_PLAIN,    /* as the kernel tells it */
	GORGON_TIMER_INTERVAL, /* as of setitimer() */
	GORGON_TIMER_NUMBERED, /* its value is the timer's number */
};

/* The signals @number of the kernel's timer @id are for this view. False: no memory. */
bool gorgon_signals_add_timer(struct gorgon_signals *signals, int id, int number,
			      enum gorgon_timer_look look);
/* It was deleted; what it has sent may still arrive. */
void gorgon_signals_end_timer(struct gorgon_signals *signals, int id);
/* All of the view's were; what they have sent is dropped. */
void gorgon_signals_stop_timers(struct gorgon_signals *signals);

/* Whether its handlers run. */
bool gorgon_signals_delivers(const struct gorgon_signals *signals);
/* The kernel's number of the thread that entered it last, which may have ended; or 0. */
pid_t gorgon_signals_tid(const struct gorgon_signals *signals);
/* The signal of a timer that has interrupted the program because it has no handler; or 0. */
int gorgon_signals_ended_by(const struct gorgon_signals *signals);
/* The same that has not, because there is no handler for SIGINT either; or 0. */
int gorgon_signals_missed(const struct gorgon_signals *signals);
/* Whether the view ignores a signal. */
bool gorgon_signals_ignores(const struct gorgon_signals *signals, int number);

/* Whether a SIGCHLD about a child may be for the view, too. Called by the dispatcher: it is safe in
 * signal handlers. @ctx must outlive the view. */
typedef bool gorgon_signals_filter(void *ctx, pid_t pid);
void gorgon_signals_filter_children(struct gorgon_signals *signals, gorgon_signals_filter *concerns,
				    void *ctx);

/* What the kernel sends a thread for what it has done; or the thread itself, by abort(). */
bool gorgon_signal_is_fault(int number);

/* Around fork(); the loader's lock is held. In the child only the calling thread's view
 * goes on receiving: the other interpreters do not exist there. */
void gorgon_signals_before_fork(void);
void gorgon_signals_after_fork(bool child);

/* --- replacements (see replacements.c): as sigaction(2) and signal(2) say ------------- */

int gorgon_signal_action(int number, const struct sigaction *action, struct sigaction *old,
			 struct gorgon_signals *view);
sighandler_t gorgon_signal_set(int number, sighandler_t handler, struct gorgon_signals *view);

#endif
