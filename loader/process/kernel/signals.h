/* SPDX-License-Identifier: MIT */
/* A view of signal dispositions per namespace. See signals.c. */
#ifndef GORGON_PROCESS_SIGNALS_H
#define GORGON_PROCESS_SIGNALS_H

#include "timer_owners.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gorgon_signals;

/* Create the view of a namespace; @deliver false: its handlers are recorded and never run. NULL: no
 * memory. */
struct gorgon_signals *gorgon_signals_create(bool deliver);
/* The view is that of a worker: a SIGINT to the process is the host's, everything else the view
 * gets as that of a program does. It sees nothing of handlers that the host has set. Before its
 * code runs. */
void gorgon_signals_be_worker(struct gorgon_signals *signals);
/* No handlers may be set any more, but for SIGINT. Defaults may. */
void gorgon_signals_deny(struct gorgon_signals *signals);
/* Withdraw the view's handlers, wait until no dispatcher on another thread is looking at it, and
 * free it. No thread runs code of the namespace any more. NULL is ignored. */
void gorgon_signals_destroy(struct gorgon_signals *signals);

/* Handlers of this view run on the calling thread, until it leaves. Calls nest on a thread, also
 * with calls for other views; enter() returns what leave() gets as @outer. @last: this is the end
 * of the outermost enter() for the view. */
struct gorgon_signals *gorgon_signals_enter(struct gorgon_signals *signals);
void gorgon_signals_leave(struct gorgon_signals *signals, struct gorgon_signals *outer, bool last);

/* No handler of the view runs any more for a signal that is not a fault. */
void gorgon_signals_silence(struct gorgon_signals *signals);

/* An interrupt, which is SIGINT to the view and nothing to the process. Let the view's thread,
 * which it must have, run the view's handler of SIGINT, and end its blocking call:
 * GORGON_SIGNAL_WAKE tells it. Without a handler the interrupt waits to be taken. False: the thread
 * was not told, and has it all the same. */
bool gorgon_signals_interrupt(struct gorgon_signals *signals);
bool gorgon_signals_handles_interrupts(const struct gorgon_signals *signals);

/* What has become of the interrupt that a view waits for. */
enum gorgon_signals_interrupt {
	GORGON_INTERRUPT_NONE,	  /* there is none, or its handler has run before */
	GORGON_INTERRUPT_HANDLED, /* its handler has run now */
	/* there is no handler: the interrupt is the caller's matter now */
	GORGON_INTERRUPT_TAKEN,
};
/* Take it, on the view's thread. */
enum gorgon_signals_interrupt gorgon_signals_take_interrupt(struct gorgon_signals *signals);
/* Take it back. */
void gorgon_signals_drop_interrupt(struct gorgon_signals *signals);

/* A program sends its own process a signal: it is for the view's program alone, which has a handler
 * for it, ignores it, or waits for it with the signal blocked. On the view's thread its handler has
 * run when this returns. False: nothing was done; the signal is the process's. */
bool gorgon_signals_kill_self(struct gorgon_signals *signals, int number);

/* The signal that ends blocking calls, which the kernel ignores by default. gdb passes it on
 * without a word. LLDB stops at it, and at no real-time signal, so the other one takes its place
 * while LLDB is the debugger. */
#define GORGON_SIGNAL_WAKE SIGURG
#define GORGON_SIGNAL_WAKE_IN_LLDB SIGRTMAX

/* End the blocking call that a thread of this process is in, with EINTR; the signal does nothing
 * else, unless the thread has an interrupt. False: the thread has ended. */
bool gorgon_signals_wake(pid_t tid);

/* Call @fn in the handler of that signal, with the third argument of the handler. */
void gorgon_signals_on_wake(void (*fn)(const void *context));

/* The same, called before that: it may end the thread. */
void gorgon_signals_on_end(void (*fn)(const void *context));

/* Another process may ring for a view: it sends a thread that signal, with the view's address as
 * its value. @fn gets what the handler gets, and the @ctx of the view whose code runs on the
 * thread, or NULL. The view is not destroyed meanwhile.
 * @ctx must outlive the view. */
typedef void gorgon_signals_ring(void *ctx, const siginfo_t *info, void *context, void *here);
void gorgon_signals_on_ring(struct gorgon_signals *signals, gorgon_signals_ring *fn, void *ctx);
/* Call that function of the view at an address, without these. False: there is no such view. */
bool gorgon_signals_pass_ring(const void *signals);

/* A number that programs cannot handle, because it is the C library's own. */
#define GORGON_SIGNAL_RESERVED 32

/* Until gorgon_signals_reserve(false), sigaction() of private code on this thread says that it has
 * done what it was asked for GORGON_SIGNAL_RESERVED, and does nothing. Returns the handler that it
 * was given last. */
sighandler_t gorgon_signals_reserve(bool begin);

/* --- timers of a view; see timers.c. Safe in signal handlers --------------- */

/* From now on the signals @number of the kernel's timer @id are for this view. False: no memory. */
bool gorgon_signals_add_timer(struct gorgon_signals *signals, int id, int number);
/* The timer was deleted; signals that it has sent may still arrive. */
void gorgon_signals_end_timer(struct gorgon_signals *signals, int id);
/* All timers of the view were deleted; signals that they have sent are dropped. */
void gorgon_signals_stop_timers(struct gorgon_signals *signals);

/* Whether handlers of the view run. */
bool gorgon_signals_delivers(const struct gorgon_signals *signals);
/* The kernel's number of the thread that entered it last, which may have ended; or 0. */
pid_t gorgon_signals_tid(const struct gorgon_signals *signals);
/* The timer's signal that has interrupted the program, which has no handler for it; or 0. */
int gorgon_signals_ended_by(const struct gorgon_signals *signals);
/* The timer's signal that has not, because the program has no handler for SIGINT either; or 0. */
int gorgon_signals_missed(const struct gorgon_signals *signals);
/* Whether the view ignores a signal. */
bool gorgon_signals_ignores(const struct gorgon_signals *signals, int number);

/* Says whether a SIGCHLD about a child may be for the view. Called by the dispatcher: it must be
 * async-signal-safe. @ctx must outlive the view. */
typedef bool gorgon_signals_filter(void *ctx, pid_t pid);
void gorgon_signals_filter_children(struct gorgon_signals *signals, gorgon_signals_filter *concerns,
				    void *ctx);

/* Note which signals the host ignores. Callers are about to execute a program, or to make a child
 * by vfork() that executes one. In such a child, which shares the memory and may take no lock, the
 * function does nothing. */
void gorgon_signals_before_program(void);
/* Find the signals that a program which is started for the view does not ignore. */
void gorgon_signals_find_defaults(const struct gorgon_signals *signals, sigset_t *ret);

/* What exec() has changed in the process. */
struct gorgon_exec {
	uint64_t changed; /* bit per signal */
	struct sigaction before[NSIG];
};
/* Before exec(): the process ignores what the view does, and has defaults where only other views
 * ignore something; a program inherits both. Also in a child of vfork(). NULL: nothing changes. */
void gorgon_signals_before_exec(const struct gorgon_signals *signals, struct gorgon_exec *exec);
/* exec() has failed. errno stays. */
void gorgon_signals_after_exec(const struct gorgon_exec *exec);

/* Whether the kernel sends this signal to a thread for a fault of the thread; SIGABRT counts, too.
 */
bool gorgon_signal_is_fault(int number);

/* Report faults before they go to the host, or do not. */
void gorgon_signals_watch_faults(bool watch);

/* Around fork(); the loader's lock is held. In the child only the calling thread's view
 * goes on receiving: the other interpreters do not exist there. */
void gorgon_signals_before_fork(void);
void gorgon_signals_after_fork(bool child);

/* --- replacements (see replacements.c): as sigaction(2) and signal(2) say ------------- */

int gorgon_signal_action(int number, const struct sigaction *action, struct sigaction *old,
			 struct gorgon_signals *view);
sighandler_t gorgon_signal_set(int number, sighandler_t handler, struct gorgon_signals *view);

#endif
