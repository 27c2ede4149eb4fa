// SPDX-License-Identifier: MIT
// What is installed in the process for a signal, of which every view has an opinion.
//
// The host's handler runs below our dispatcher as it would run without us: on its alternate stack,
// with its mask, and system calls are restarted where it says so. A view that wants EINTR all the
// same gets it on its own threads (restart.c). A handler that the host puts over ours is the host's
// from the next change on, and stays when the last view goes.
//
// A program that private code starts with one of exec()'s functions ignores what the view ignores,
// and nothing that only other views ignore.

#define _GNU_SOURCE
#include "dispositions.h"

#include <errno.h>
#include <string.h>

struct gorgon_dispositions gorgon_dispositions;

static struct gorgon_dispositions *const known = &gorgon_dispositions;

// What the host has installed: before us, or over us.
static void note_host(int number, gorgon_signals_handler *dispatch)
{
	bool is_ours = (known->dispatched | known->ignored) & bit(number);
	struct sigaction now;

	sigaction(number, NULL, &now);
	if (is_ours && (known->dispatched & bit(number) ? now.sa_sigaction == dispatch
							 : now.sa_handler == SIG_IGN))
		return;
	known->host[number] = now;
	__atomic_store_n(&known->host_words[number], action_word_of(&now), __ATOMIC_RELEASE);
}

void gorgon_signals_note_host(gorgon_signals_handler *dispatch)
{
	for (int number = 1; number < NSIG; number++)
		note_host(number, dispatch);
}

// Whether the default action of a signal ends the process.
bool gorgon_signals_end_by_default(int number)
{
	switch (number) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return false;
	default:
		return true;
	}
}

// What those who have a function for a signal want of the dispatcher.
struct wishes {
	bool function, ignore;
	bool own_ignore; // a worker ignores it, for itself
	bool ends_calls; // somebody counts on EINTR
	int flags;
	sigset_t mask;
};

static void add_wish(const struct sigaction *action, struct wishes *ret)
{
	// Who wants to hear of stopped children does, also where somebody else does not.
	if (ret->function)
		ret->flags &= action->sa_flags | ~SA_NOCLDSTOP;
	else
		ret->flags |= action->sa_flags & SA_NOCLDSTOP;
	ret->function = true;
	ret->flags |= action->sa_flags & SA_NODEFER;
	ret->ends_calls |= !(action->sa_flags & SA_RESTART);
	sigorset(&ret->mask, &ret->mask, &action->sa_mask);
}

// What a worker ignores the process does not, but for what a system call sends to its own thread.
// What the worker's threads send themselves with raise() must not end the process all the same:
// the dispatcher drops it.
static void ask_views(int number, struct wishes *ret)
{
	for (struct gorgon_signals *view = known->views; view; view = view->next) {
		const struct sigaction *wanted = &view->actions[number];

		if (view->set & bit(number) && is_function((action_word)wanted->sa_handler))
			add_wish(wanted, ret);
		else if (view->set & bit(number) && wanted->sa_handler == SIG_IGN)
			*(!view->is_worker || number == SIGPIPE || number == SIGXFSZ
				  ? &ret->ignore
				  : &ret->own_ignore) = true;
	}
}

// Signals of timers without a handler end calls, as their default ends the process.
static void ask_timers(int number, struct wishes *ret)
{
	for (struct gorgon_signals *view = known->views; view; view = view->next) {
		bool is_set =
			view->set & bit(number) && view->actions[number].sa_handler != SIG_DFL;

		ret->function |= (view->timed & bit(number)) != 0;
		ret->ends_calls |= view->timed & bit(number) && !is_set;
	}
}

void gorgon_signals_install(int number, gorgon_signals_handler *dispatch)
{
	bool wake = (known->wakes & bit(number)) != 0,
	     fault = known->watched & bit(number);
	struct wishes wishes = {};
	struct sigaction action;
	bool hosts;
	uint64_t was_ours = (known->dispatched | known->ignored) & bit(number);

	note_host(number, dispatch);
	hosts = is_function((action_word)known->host[number].sa_handler);
	ask_views(number, &wishes);
	ask_timers(number, &wishes);
	wishes.function |=
		wake || fault || (wishes.own_ignore && gorgon_signals_end_by_default(number));
	wishes.ends_calls |= wake;
	known->dispatched &= ~bit(number);
	known->ignored &= ~bit(number);
	__atomic_and_fetch(&known->restarted, ~bit(number), __ATOMIC_ACQ_REL);
	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	if (wishes.function) {
		bool ends_calls = wishes.ends_calls;

		if (hosts) {
			ends_calls = !(known->host[number].sa_flags & SA_RESTART);
			add_wish(&known->host[number], &wishes);
		}
		if (wishes.ends_calls && !ends_calls)
			__atomic_or_fetch(&known->restarted, bit(number), __ATOMIC_ACQ_REL);
		known->dispatched |= bit(number);
		// The thread may have a stack of its own for handlers, and a small one for all
		// else, as in Go.
		action.sa_flags =
			SA_SIGINFO | SA_ONSTACK | wishes.flags | (ends_calls ? 0 : SA_RESTART);
		action.sa_mask = wishes.mask;
		action.sa_sigaction = dispatch;
	} else if (wishes.ignore && number != SIGCHLD &&
		   known->host[number].sa_handler == SIG_DFL) {
		known->ignored |= bit(number);
		action.sa_handler = SIG_IGN;
	} else {
		action = known->host[number];
	}
	if (was_ours || wishes.function || wishes.ignore)
		sigaction(number, &action, NULL);
}

void gorgon_signals_drop_host(gorgon_signals_handler *dispatch)
{
	static const struct sigaction none;

	gorgon_signals_note_host(dispatch);
	for (int number = 1; number < NSIG; number++) {
		if (!is_function((action_word)known->host[number].sa_handler))
			continue;
		sigaction(number, &none, NULL);
		known->dispatched &= ~bit(number);
		gorgon_signals_install(number, dispatch);
	}
}

// A worker has a handler of SIGINT to be interrupted by, also where the process ignores SIGINT, as
// what a shell has started in the background does.
bool gorgon_signals_ignored_for(const struct gorgon_signals *view, int number)
{
	if (!(view->set & bit(number)))
		return known->host[number].sa_handler == SIG_IGN;
	return view->actions[number].sa_handler == SIG_IGN ||
	       (number == SIGINT && view->is_worker &&
		is_function((action_word)view->actions[number].sa_handler) &&
		known->host[number].sa_handler == SIG_IGN);
}

// What a child of vfork() has reset since is not ours any more, and stays. Another view may have
// ignored a signal when the child was made, and may have its default now: the child still has it
// ignored, so our own notes about the present are no measure.
static bool exec_wants(const struct gorgon_signals *view, int number, const struct sigaction *now,
		       sighandler_t *ret)
{
	bool ignored = gorgon_signals_ignored_for(view, number);

	*ret = ignored ? SIG_IGN : SIG_DFL;
	if (now->sa_handler == SIG_DFL)
		return ignored && !gorgon_signals_end_by_default(number);
	return ignored != (now->sa_handler == SIG_IGN);
}

// Without the lock: the caller may be a child that shares the memory (vfork).
void gorgon_signals_before_exec(const struct gorgon_signals *view, struct gorgon_exec *exec)
{
	exec->changed = 0;
	for (int number = 1; view && number < NSIG; number++) {
		struct sigaction wanted = {}, *before = &exec->before[number];

		if (sigaction(number, NULL, before) ||
		    !exec_wants(view, number, before, &wanted.sa_handler))
			continue;
		exec->changed |= bit(number);
		sigaction(number, &wanted, NULL);
	}
}

void gorgon_signals_after_exec(const struct gorgon_exec *exec)
{
	int saved = errno;

	for (int number = 1; number < NSIG; number++)
		if (exec->changed & bit(number))
			sigaction(number, &exec->before[number], NULL);
	errno = saved;
}
