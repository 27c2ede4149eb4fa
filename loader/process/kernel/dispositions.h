/* SPDX-License-Identifier: MIT */
/* What the views of all namespaces want of a signal together. See dispositions.c. The lock of
 * signals.c guards it. */
#ifndef GORGON_PROCESS_DISPOSITIONS_H
#define GORGON_PROCESS_DISPOSITIONS_H

#include "signals.h"

#include <stdint.h>

// What a dispatcher needs to know of an action: the address of the function, SIG_DFL or SIG_IGN.
// TAKES_INFO is added for a function that is called with three arguments (SA_SIGINFO), RESTARTS for
// one after which system calls are restarted (SA_RESTART). No address of a function in user space
// has these bits.
typedef uintptr_t action_word;

#define TAKES_INFO ((action_word)1 << (sizeof(action_word) * 8 - 1))
#define RESTARTS   ((action_word)1 << (sizeof(action_word) * 8 - 2))

struct gorgon_signals {
	struct gorgon_signals *next;
	struct sigaction actions[NSIG]; // under `lock`
	action_word words[NSIG];        // of `actions`; atomic
	uint64_t set;	   // bit per signal: the view has set a disposition
	uint64_t pending;  // bit per signal: sent on to `thread`; atomic
	uint64_t timed;	   // bit per signal: timers of the view send it
	pthread_t thread;
	pid_t tid;	 // of the last `thread`, or 0; atomic
	int ended_by;	 // the timer's signal that has interrupted the program, or 0; atomic
	int missed;	 // the timer's signal that could not interrupt it, or 0; atomic
	bool has_thread; // atomic
	bool interrupted; // its handler of SIGINT is to run; atomic
	bool deliver;
	bool is_worker; // SIGINT is not for it, and it has nothing of the host's
	bool denied; // it gets no handlers
	gorgon_signals_filter *concerns; // whether a SIGCHLD is for the view; NULL: each is
	void *concerns_ctx;
	gorgon_signals_ring *on_ring; // atomic
	void *ring_ctx;
};

struct gorgon_dispositions {
	struct gorgon_signals *views;	// atomic
	struct sigaction host[NSIG];	// under the signals' lock
	action_word host_words[NSIG];   // of `host`; atomic
	uint64_t dispatched; // bit per signal: our dispatcher is installed
	uint64_t watched;    // bit per signal: faults that are reported; atomic
	uint64_t ignored;    // bit per signal: SIG_IGN is installed for a view
	// bit per signal: calls are restarted, which not all views want; atomic
	uint64_t restarted;
	uint64_t wakes;	     // bit per signal: the dispatcher is installed to end calls
};

extern struct gorgon_dispositions gorgon_dispositions;

typedef void gorgon_signals_handler(int number, siginfo_t *info, void *context);

/* Whether a signal ends the process where nobody has set anything for it. */
bool gorgon_signals_end_by_default(int number);

static inline uint64_t bit(int number)
{
	return UINT64_C(1) << (number - 1);
}

static inline bool is_function(action_word action)
{
	return action != (action_word)SIG_DFL && action != (action_word)SIG_IGN;
}

static inline action_word action_word_of(const struct sigaction *action)
{
	action_word ret = (action_word)action->sa_handler;

	// Whoever resets a handler may leave flags set.
	if (is_function(ret))
		ret |= (action->sa_flags & SA_SIGINFO ? TAKES_INFO : 0) |
		       (action->sa_flags & SA_RESTART ? RESTARTS : 0);
	return ret;
}

/* Whether a signal to the process is for a view. */
static inline bool is_for_view(const struct gorgon_signals *view, int number)
{
	return view->deliver && !(view->is_worker && number == SIGINT);
}

/* Whether a program that is started for a view finds a signal ignored. */
bool gorgon_signals_ignored_for(const struct gorgon_signals *view, int number);

/* Install what the views want of a signal together: the dispatcher, SIG_IGN, or the host's
 * disposition. The signals' lock is held. */
void gorgon_signals_install(int number, gorgon_signals_handler *dispatch);

/* Note the host's present disposition of each signal. The lock is held. */
void gorgon_signals_note_host(gorgon_signals_handler *dispatch);

/* Take the host's handlers out of this process, as exec() would. The lock is held. */
void gorgon_signals_drop_host(gorgon_signals_handler *dispatch);

/* Have the dispatcher handle a signal that ends calls. False: there is no view. See signals.c. */
bool gorgon_signals_install_wake(int number);

/* Whether this is the process whose dispositions these are, and no child of vfork() in its memory.
 */
bool gorgon_signals_are_ours(void);

#endif
