// SPDX-License-Identifier: MIT
// Which view, or the host, gets a signal that has arrived.
//
// Delivery:
// - a signal from outside (Ctrl-C, kill, the host's timers) goes to every view that has a
//   function for it, and to the host's own handler. SIGCHLD does not go to a view that says that
//   the child is another program's (children.c). The view of an interpreter gets the signal
//   on the interpreter's main thread, where blocking calls must be interrupted
//   (EINTR) for Python to notice. The dispatcher marks the signal as pending for that view, so
//   that it is not spread again, and sends it on with pthread_kill();
// - a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT of this thread) goes to the view of the
//   thread that it happened on, and to no other view, then to the host. So faulthandler of the
//   right copy answers. A fault of the host's code goes to the host's handler first. The views
//   get the fault only if the host's handler would let it end the process (fault_owner.c);
// - a signal to one thread (raise(), pthread_kill()) goes to the view of that thread,
//   or to the host if the view has no function for it;
// - an interrupt of the library (gorgon_signals_interrupt()) is a SIGINT to one view, also while
//   its main thread is in a call into another interpreter. Nothing is sent as SIGINT, which the
//   host may handle, ignore or block;
// - the signal of a timer that a view has made (timers.c) goes to that view only; the kernel says
//   which timer has sent it. While a view has timers the dispatcher is installed for their signals.
//   If the view has no function for the signal, and the signal would end a process, the program is
//   interrupted as by SIGINT; if that ends the program, it has the status of a process that the
//   signal has ended. A program without a handler for SIGINT (a program that is being finalised has
//   none) goes on and has that status when it ends;
// - a signal by which the library ends a blocking call of one thread (gorgon_signals_wake()) does
//   nothing else. The kernel says that it carries our mark;
// - the same signal with the address of a view is another process's, which asks something of the
//   view (gorgon_signals_on_ring()).
//
// While faults are reported (faults.c), the dispatcher is installed for their signals. A fault that
// no view has a function for is reported, and goes on to the host.
//
// A handler that the host has put over ours may call ours: what comes back in that way has been
// handled.
//
// The dispatcher takes no lock: see signal_views.c for what it reads.

#define _GNU_SOURCE
#include "restart.h"
#include "signal_dispatch.h"
#include "signal_views.h"
#include "timer_owners.h"
#include "process/faults/fault_owner.h"
#include "process/faults/faults.h"
#include "process/threads/shield.h"
#include "ns/ns.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

// The signal that the host's handler has got from the dispatcher on this thread, and where the
// dispatcher's frame is.
struct handed_on {
	const siginfo_t *info;
	uintptr_t frame;
};

static void (*on_wake)(const void *context); // atomic
static void (*on_end)(const void *context);  // atomic

static __thread struct handed_on handed_on __attribute__((tls_model("initial-exec")));

bool gorgon_signal_is_fault(int number)
{
	switch (number) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
		return true;
	default:
		return false;
	}
}

// From the kernel, or raised by this thread itself (abort(), faulthandler's way on to the
// next handler), not by kill().
static bool is_fault(int number, const siginfo_t *info)
{
	return gorgon_signal_is_fault(number) && (info->si_code > 0 || info->si_code == SI_TKILL);
}

static void signals_call(action_word action, int number, siginfo_t *info, void *context)
{
	if (!is_function(action))
		return;
	if (action & TAKES_INFO)
		((void (*)(int, siginfo_t *, void *))(action & ~(TAKES_INFO | RESTARTS)))(
			number, info, context);
	else
		((sighandler_t)(action & ~RESTARTS))(number);
}

// The system call that the signal has interrupted fails, although the host's handler restarts it.
static void signals_end_call(int number, void *context)
{
	if (__atomic_load_n(&gorgon_dispositions.restarted, __ATOMIC_ACQUIRE) & bit(number))
		gorgon_restart_prevent(context);
}

// Call a view's function on its own thread.
static void call_view(action_word action, int number, siginfo_t *info, void *context)
{
	if (number != SIGINT || !is_function(action) || !gorgon_shield_keeps_sigint())
		signals_call(action, number, info, context);
	if (is_function(action) && !(action & RESTARTS))
		signals_end_call(number, context);
}

// A handler of the host that was put over ours may call ours, with what it got. A handler that
// leaves by a jump leaves its note here: a later signal at the same address has its dispatcher's
// frame at the same place, not below it.
static void call_host(action_word action, int number, siginfo_t *info, void *context)
{
	struct handed_on before = handed_on;

	handed_on = (struct handed_on){info, (uintptr_t)__builtin_frame_address(0)};
	signals_call(action, number, info, context);
	handed_on = before;
}

static bool has_come_back(const siginfo_t *info)
{
	return handed_on.info == info && (uintptr_t)__builtin_frame_address(0) < handed_on.frame;
}

// The process's action becomes the default.
static void install_default(int number)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(number, &action, NULL);
}

// No view has a function for a fault. The host's handler is called, or its disposition installed,
// which takes effect when the instruction runs again (or abort() raises the signal again).
static void give_fault_to_host(int number, siginfo_t *info, void *context)
{
	action_word action = action_of_host(number);

	if (is_function(action)) {
		// The kernel does this before it calls a handler that is for one signal only.
		if (gorgon_dispositions.host[number].sa_flags & SA_RESETHAND)
			install_default(number);
		call_host(action, number, info, context);
	} else {
		const struct sigaction none = {.sa_handler = (sighandler_t)action};

		sigaction(number, &none, NULL);
		// No instruction brings a signal again that the thread has sent to itself. It is
		// blocked, and comes when this handler has returned.
		if (info->si_code <= 0)
			raise(number);
	}
}

// Whether a signal may be for a view: a SIGCHLD about another program's child is not.
static bool may_concern(const struct gorgon_signals *view, int number, const siginfo_t *info)
{
	gorgon_signals_filter *concerns = __atomic_load_n(&view->concerns, __ATOMIC_ACQUIRE);

	return number != SIGCHLD || info->si_code <= 0 || !concerns ||
	       concerns(view->concerns_ctx, info->si_pid);
}

static void signals_spread(int number, siginfo_t *info, void *context)
{
	action_word own = (action_word)SIG_DFL, hosts = action_of_host(number);
	struct gorgon_signals *view;
	bool taken = false;

	gorgon_views_begin_read();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		action_word action = action_of(view, number);

		taken |= view->deliver && !view->is_worker && action == (action_word)SIG_IGN;
		if (!is_for_view(view, number) || !is_function(action) ||
		    !may_concern(view, number, info))
			continue;
		taken = true;
		if (view == gorgon_views_entered()) {
			own = action;
		} else if (!__atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE)) {
			signals_call(action, number, info, context);
		} else {
			__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
			pthread_kill(view->thread, number);
		}
	}
	gorgon_views_end_read();
	// Each view that takes part in signals leaves this signal to its default: it ends the
	// process, as it would without views.
	if (!taken && gorgon_signals_end_by_default(number) && hosts == (action_word)SIG_DFL) {
		install_default(number);
		raise(number);
	}
	call_host(hosts, number, info, context);
	call_view(own, number, info, context);
}

// The view of this thread lives as long as its code runs, so it need not be kept from being freed.
static void give_fault(int number, siginfo_t *info, void *context)
{
	const struct gorgon_signals *view = gorgon_views_of_thread();
	action_word action = view ? action_of(view, number) : (action_word)SIG_DFL;
	bool aborts = false;
	bool is_hosts = is_function(action_of_host(number)) &&
			gorgon_fault_is_hosts(info, context, &aborts);

	if (is_hosts) {
		give_fault_to_host(number, info, context);
		if (!aborts && !gorgon_fault_ends_process(number, info))
			return;
	}
	if (is_function(action)) {
		signals_call(action, number, info, context);
		return;
	}
	if (__atomic_load_n(&gorgon_dispositions.watched, __ATOMIC_ACQUIRE) & bit(number))
		gorgon_fault_report_below(gorgon_signals_dispatch, number, info, context, view);
	if (!is_hosts)
		give_fault_to_host(number, info, context);
}

static void give_to_thread(int number, siginfo_t *info, void *context,
			   const struct gorgon_signals *view)
{
	action_word action = action_of(view, number);

	if (is_function(action))
		call_view(action, number, info, context);
	else
		call_host(action_of_host(number), number, info, context);
}

// Take one pending signal of a view of this thread; @ret is the view's action. False: there is
// none.
static bool take_pending(int number, action_word *ret)
{
	struct gorgon_signals *view;
	bool found = false;

	gorgon_views_begin_read();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view && !found; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		found = gorgon_views_is_here(view) &&
			__atomic_fetch_and(&view->pending, ~bit(number), __ATOMIC_ACQ_REL) &
				bit(number);
		if (found)
			*ret = action_of(view, number);
	}
	gorgon_views_end_read();
	return found;
}

// Handle signals that were sent on to views of this thread; false: there were none. A thread has
// several views when interpreters call each other through the host.
static bool give_pending(int number, siginfo_t *info, void *context)
{
	action_word action;
	bool any = false;

	while (gorgon_views_entered() && take_pending(number, &action)) {
		any = true;
		call_view(action, number, info, context);
	}
	return any;
}

// The action of a view for its timer's signal that is to be called on this thread, with @number.
// SIG_DFL: none.
static action_word signals_choose(struct gorgon_signals *view, int *number)
{
	action_word action = action_of(view, *number);

	if (is_function(action)) {
		bool has_thread = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE);

		if (!has_thread || gorgon_views_of_thread() == view ||
		    pthread_equal(view->thread, pthread_self()))
			return action;
		__atomic_or_fetch(&view->pending, bit(*number), __ATOMIC_ACQ_REL);
		pthread_kill(view->thread, *number);
	} else if (action != (action_word)SIG_IGN && gorgon_signals_end_by_default(*number)) {
		action_word interrupt = action_of(view, SIGINT);

		if (is_function(interrupt)) {
			__atomic_store_n(&view->ended_by, *number, __ATOMIC_RELAXED);
			*number = SIGINT;
			return interrupt;
		}
		if (gorgon_signals_tid(view)) {
			__atomic_store_n(&view->missed, *number, __ATOMIC_RELAXED);
		} else {
			install_default(*number); // there is no program to end
			raise(*number);
		}
	}
	return (action_word)SIG_DFL;
}

// Handle the signal of a view's timer; false: no view has that timer.
static bool give_timer(int number, siginfo_t *info, void *context)
{
	action_word action = (action_word)SIG_DFL;
	struct gorgon_signals *view;
	bool known;

	gorgon_views_begin_read();
	known = gorgon_timer_owners_find(info, &view);
	if (known && view)
		action = signals_choose(view, &number);
	gorgon_views_end_read();
	call_view(action, number, info, context);
	return known;
}

static bool take_interrupt(struct gorgon_signals *view)
{
	return __atomic_exchange_n(&view->interrupted, false, __ATOMIC_ACQ_REL);
}

// An interrupt that a view of this thread has a handler for. SIG_DFL: there is none. Under a
// shield it waits until Python's handler of GORGON_SIGNAL_RESERVED takes it.
static action_word take_interrupt_here(void)
{
	action_word ret = (action_word)SIG_DFL;
	struct gorgon_signals *view;

	gorgon_views_begin_read();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view && !is_function(ret); view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE))
		if (gorgon_views_is_here(view) &&
		    !(view == gorgon_views_entered() && gorgon_shield_is_up(NULL)) &&
		    gorgon_signals_handles_interrupts(view) && take_interrupt(view))
			ret = action_of(view, SIGINT);
	gorgon_views_end_read();
	return ret;
}

// As if the kernel had sent it to this thread.
static void call_for_interrupt(action_word action, void *context)
{
	siginfo_t info = {.si_signo = SIGINT, .si_code = SI_TKILL};

	info.si_pid = getpid();
	info.si_uid = getuid();
	signals_call(action, SIGINT, &info, context);
}

static void give_interrupts(int number, void *context)
{
	action_word action;

	while (gorgon_views_entered() && is_function(action = take_interrupt_here())) {
		call_for_interrupt(action, context);
		signals_end_call(number, context);
	}
}

enum gorgon_signals_interrupt gorgon_signals_take_interrupt(struct gorgon_signals *view)
{
	action_word action = action_of(view, SIGINT);
	ucontext_t context; // a handler that looks at it finds a thread that runs nowhere

	if (!take_interrupt(view))
		return GORGON_INTERRUPT_NONE;
	if (!is_function(action))
		return GORGON_INTERRUPT_TAKEN;
	memset(&context, 0, sizeof(context));
	call_for_interrupt(action, &context);
	return GORGON_INTERRUPT_HANDLED;
}

void gorgon_signals_drop_interrupt(struct gorgon_signals *view)
{
	take_interrupt(view);
}

// Whether gorgon_signals_wake() has sent the signal.
static bool is_wake(const siginfo_t *info)
{
	return info->si_code == SI_QUEUE &&
	       info->si_value.sival_ptr == &gorgon_dispositions.wakes;
}

static bool signals_ring(const void *wanted, const siginfo_t *info, void *context)
{
	const struct gorgon_signals *here = gorgon_views_of_thread();
	struct gorgon_signals *view;
	bool ret = false;

	gorgon_views_begin_read();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	while (view && view != wanted)
		view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE);
	if (view && __atomic_load_n(&view->on_ring, __ATOMIC_ACQUIRE)) {
		view->on_ring(view->ring_ctx, info, context, here ? here->ring_ctx : NULL);
		ret = true;
	}
	gorgon_views_end_read();
	return ret;
}

bool gorgon_signals_pass_ring(const void *wanted)
{
	return signals_ring(wanted, NULL, NULL);
}

// Whether another process has rung for a view.
static bool give_ring(int number, const siginfo_t *info, void *context)
{
	return number == GORGON_SIGNAL_WAKE && info->si_code == SI_QUEUE &&
	       signals_ring(info->si_value.sival_ptr, info, context);
}

void gorgon_signals_dispatch(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (has_come_back(info))
		return;
	if (is_fault(number, info))
		gorgon_fault_recover();
	// The kernel keeps one signal of a number for a thread: a signal of the host's may stand
	// for ours.
	if (number == GORGON_SIGNAL_WAKE || is_wake(info))
		give_interrupts(number, context);
	if (is_wake(info)) {
		// That a call was interrupted is what is wanted, unless somebody asks where the
		// thread is.
		void (*answer)(const void *) = __atomic_load_n(&on_wake, __ATOMIC_ACQUIRE);
		void (*end)(const void *) = __atomic_load_n(&on_end, __ATOMIC_ACQUIRE);

		if (end)
			end(context);
		if (answer)
			answer(context);
		signals_end_call(number, context);
	} else if (give_ring(number, info, context)) {
		// Handled.
	} else if (info->si_code == SI_TIMER && give_timer(number, info, context)) {
		// Handled.
	} else if (give_pending(number, info, context)) {
		// Handled.
	} else if (is_fault(number, info)) {
		give_fault(number, info, context);
	} else if (info->si_code == SI_TKILL && gorgon_views_of_thread()) {
		give_to_thread(number, info, context, gorgon_views_of_thread());
	} else {
		signals_spread(number, info, context);
	}
	errno = saved;
}

void gorgon_signals_on_end(void (*fn)(const void *context))
{
	__atomic_store_n(&on_end, fn, __ATOMIC_RELEASE);
}

void gorgon_signals_on_wake(void (*fn)(const void *context))
{
	__atomic_store_n(&on_wake, fn, __ATOMIC_RELEASE);
}
