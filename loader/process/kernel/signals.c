// SPDX-License-Identifier: MIT
// Signals: every namespace has its own view of the dispositions.
//
// A process has one handler per signal. If each copy of CPython installed its handler, only the
// last copy would get Ctrl-C, and after the copy is unmapped the handler would be gone. So
// sigaction() and signal() of private code change a view. While any view has a function for a
// signal, our dispatcher is the process's handler; the host's disposition is kept, and put back
// when no view has a function any more.
//
// A view that has not set a disposition for a signal sees the host's, never another view's: each
// CPython finds SIGINT at its default and installs its KeyboardInterrupt. A view to which no
// signals are delivered sees the default. The view of a worker of a pool gets all signals but
// SIGINT, which is the host's; it sees the default where the host has a handler, and what it
// ignores its process does not.
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
//   right copy answers. A fault of the host's code goes to the host's handler first, and to the
//   others only if it ends the process (fault_owner.c);
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
// SIG_IGN in a view (CPython ignores SIGPIPE) holds for the process while the host
// has the default, as with any embedded CPython. SIG_IGN for SIGCHLD does not: the kernel would
// keep no child's status for anybody (children.c).
//
// A handler that the host has put over ours may call ours: what comes back in that way has been
// handled.
//
// A vfork() child (subprocess makes one) runs in this memory but has dispositions of its
// own, which it resets before it executes something: its calls go to the kernel directly. What its
// program ignores it finds ignored, and so does the program that it executes (dispositions.c).
//
// The dispatcher runs at any time on any thread and takes no lock. Views are added at the head of a
// list with release stores; a view that goes is unlinked, and freed when no dispatcher on another
// thread can still look at it. An action can be replaced on one thread while a dispatcher on
// another thread reads it, so dispatchers read one atomic word of an action (`brief`). A handler
// may leave by siglongjmp() (handlers of cysignals do, for each error that PARI reports): so the
// handler of the thread's own view is called after the dispatcher has finished looking at views.
// `lock` orders writers; it is a leaf, and all signals are blocked while it is held.

#define _GNU_SOURCE
#include "dispositions.h"
#include "restart.h"
#include "timer_owners.h"
#include "base/masked_lock.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/faults/fault_owner.h"
#include "process/faults/faults.h"
#include "process/threads/shield.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The signal that the host's handler has got from the dispatcher on this thread, and where the
// dispatcher's frame is.
struct handed_on {
	const siginfo_t *info;
	uintptr_t frame;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned running;    // dispatchers that are looking at views; atomic
static sigset_t before_fork; // the forking thread's mask, under `lock`
static void (*on_wake)(const void *context); // atomic
static void (*on_end)(const void *context);  // atomic
static pid_t process;	    // the process whose dispositions these are; atomic

static __thread struct gorgon_signals *mine __attribute__((tls_model("initial-exec")));
static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread struct handed_on handed_on __attribute__((tls_model("initial-exec")));
static __thread bool reserving __attribute__((tls_model("initial-exec")));
static __thread sighandler_t reserved __attribute__((tls_model("initial-exec")));

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

static void signals_call(brief action, int number, siginfo_t *info, void *context)
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
static void call_view(brief action, int number, siginfo_t *info, void *context)
{
	if (number != SIGINT || !is_function(action) || !gorgon_shield_keeps_sigint())
		signals_call(action, number, info, context);
	if (is_function(action) && !(action & RESTARTS))
		signals_end_call(number, context);
}

// A handler of the host that was put over ours may call ours, with what it got. A handler that
// leaves by a jump leaves its note here: a later signal at the same address has its dispatcher's
// frame at the same place, not below it.
static void call_host(brief action, int number, siginfo_t *info, void *context)
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

static brief action_of(const struct gorgon_signals *view, int number)
{
	return __atomic_load_n(&view->briefs[number], __ATOMIC_ACQUIRE);
}

static brief action_of_host(int number)
{
	return __atomic_load_n(&gorgon_dispositions.host_briefs[number], __ATOMIC_ACQUIRE);
}

static bool ignores(const struct gorgon_signals *view, int number)
{
	return action_of(view, number) == (brief)SIG_IGN;
}

// The process's action becomes the default.
static void install_default(int number)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(number, &action, NULL);
}

// No view is freed between the two.
static void begin_look(void)
{
	__atomic_add_fetch(&running, 1, __ATOMIC_ACQ_REL);
	depth++;
}

static void end_look(void)
{
	depth--;
	__atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL);
}

// No view has a function for a fault. The host's handler is called, or its disposition installed,
// which takes effect when the instruction runs again (or abort() raises the signal again).
static void give_fault_to_host(int number, siginfo_t *info, void *context)
{
	brief action = action_of_host(number);

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
	brief own = (brief)SIG_DFL, hosts = action_of_host(number);
	struct gorgon_signals *view;
	bool taken = false;

	begin_look();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		brief action = action_of(view, number);

		taken |= view->deliver && !view->is_worker && action == (brief)SIG_IGN;
		if (!is_for_view(view, number) || !is_function(action) ||
		    !may_concern(view, number, info))
			continue;
		taken = true;
		if (view == mine) {
			own = action;
		} else if (!__atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE)) {
			signals_call(action, number, info, context);
		} else {
			__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
			pthread_kill(view->thread, number);
		}
	}
	end_look();
	// No view that signals are delivered to has a function or SIG_IGN: the signal ends the
	// process, as it would without views.
	if (!taken && gorgon_signals_end_by_default(number) && hosts == (brief)SIG_DFL) {
		install_default(number);
		raise(number);
	}
	call_host(hosts, number, info, context);
	call_view(own, number, info, context);
}

// The view whose code runs on this thread: the interpreter's main thread, or a thread that its code
// has started.
static struct gorgon_signals *view_of_thread(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return mine ?: thread && thread->ns ? thread->ns->signals : NULL;
}

static gorgon_signals_handler signals_dispatch;

// The view of this thread lives as long as its code runs, so begin_look() is not needed.
static void give_fault(int number, siginfo_t *info, void *context)
{
	const struct gorgon_signals *view = view_of_thread();
	brief action = view ? action_of(view, number) : (brief)SIG_DFL;
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
		gorgon_fault_report_below(signals_dispatch, number, info, context, view);
	if (!is_hosts)
		give_fault_to_host(number, info, context);
}

static void give_to_thread(int number, siginfo_t *info, void *context,
			   const struct gorgon_signals *view)
{
	brief action = action_of(view, number);

	if (is_function(action))
		call_view(action, number, info, context);
	else
		call_host(action_of_host(number), number, info, context);
}

static bool is_on_this_thread(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE) &&
	       pthread_equal(view->thread, pthread_self());
}

// Take one pending signal of a view of this thread; @ret is the view's action. False: there is
// none.
static bool take_pending(int number, brief *ret)
{
	struct gorgon_signals *view;
	bool found = false;

	begin_look();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view && !found; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		found = is_on_this_thread(view) &&
			__atomic_fetch_and(&view->pending, ~bit(number), __ATOMIC_ACQ_REL) &
				bit(number);
		if (found)
			*ret = action_of(view, number);
	}
	end_look();
	return found;
}

// Handle signals that were sent on to views of this thread; false: there were none. A thread has
// several views when interpreters call each other through the host.
static bool give_pending(int number, siginfo_t *info, void *context)
{
	brief action;
	bool any = false;

	while (mine && take_pending(number, &action)) {
		any = true;
		call_view(action, number, info, context);
	}
	return any;
}

// The action of a view for its timer's signal that is to be called on this thread, with @number.
// SIG_DFL: none.
static brief signals_choose(struct gorgon_signals *view, int *number)
{
	brief action = action_of(view, *number);

	if (is_function(action)) {
		bool has_thread = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE);

		if (!has_thread || view_of_thread() == view ||
		    pthread_equal(view->thread, pthread_self()))
			return action;
		__atomic_or_fetch(&view->pending, bit(*number), __ATOMIC_ACQ_REL);
		pthread_kill(view->thread, *number);
	} else if (action != (brief)SIG_IGN && gorgon_signals_end_by_default(*number)) {
		brief interrupt = action_of(view, SIGINT);

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
	return (brief)SIG_DFL;
}

// Handle the signal of a view's timer; false: no view has that timer.
static bool give_timer(int number, siginfo_t *info, void *context)
{
	brief action = (brief)SIG_DFL;
	struct gorgon_signals *view;
	bool known;

	begin_look();
	known = gorgon_timer_owners_find(info, &view);
	if (known && view)
		action = signals_choose(view, &number);
	end_look();
	call_view(action, number, info, context);
	return known;
}

bool gorgon_signals_handles_interrupts(const struct gorgon_signals *view)
{
	return is_function(action_of(view, SIGINT));
}

static bool take_interrupt(struct gorgon_signals *view)
{
	return __atomic_exchange_n(&view->interrupted, false, __ATOMIC_ACQ_REL);
}

// An interrupt that a view of this thread has a handler for. SIG_DFL: there is none. Under a
// shield it waits until Python's handler of GORGON_SIGNAL_RESERVED takes it.
static brief take_interrupt_here(void)
{
	brief ret = (brief)SIG_DFL;
	struct gorgon_signals *view;

	begin_look();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	for (; view && !is_function(ret); view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE))
		if (is_on_this_thread(view) && !(view == mine && gorgon_shield_is_up(NULL)) &&
		    gorgon_signals_handles_interrupts(view) && take_interrupt(view))
			ret = action_of(view, SIGINT);
	end_look();
	return ret;
}

// As if the kernel had sent it to this thread.
static void call_for_interrupt(brief action, void *context)
{
	siginfo_t info = {.si_signo = SIGINT, .si_code = SI_TKILL};

	info.si_pid = getpid();
	info.si_uid = getuid();
	signals_call(action, SIGINT, &info, context);
}

static void give_interrupts(void *context)
{
	brief action;

	while (mine && is_function(action = take_interrupt_here())) {
		call_for_interrupt(action, context);
		signals_end_call(GORGON_SIGNAL_WAKE, context);
	}
}

// Whether gorgon_signals_wake() has sent the signal.
static bool is_wake(int number, const siginfo_t *info)
{
	return number == GORGON_SIGNAL_WAKE && info->si_code == SI_QUEUE &&
	       info->si_value.sival_ptr == &gorgon_dispositions.wakes;
}

static bool signals_ring(const void *wanted, const siginfo_t *info, void *context)
{
	const struct gorgon_signals *here = view_of_thread();
	struct gorgon_signals *view;
	bool ret = false;

	begin_look();
	view = __atomic_load_n(&gorgon_dispositions.views, __ATOMIC_ACQUIRE);
	while (view && view != wanted)
		view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE);
	if (view && __atomic_load_n(&view->on_ring, __ATOMIC_ACQUIRE)) {
		view->on_ring(view->ring_ctx, info, context, here ? here->ring_ctx : NULL);
		ret = true;
	}
	end_look();
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

static void signals_dispatch(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (has_come_back(info))
		return;
	if (is_fault(number, info))
		gorgon_fault_recover();
	// The kernel keeps one signal of a number for a thread: a signal of the host's may stand
	// for ours.
	if (number == GORGON_SIGNAL_WAKE)
		give_interrupts(context);
	if (is_wake(number, info)) {
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
	} else if (info->si_code == SI_TKILL && view_of_thread()) {
		give_to_thread(number, info, context, view_of_thread());
	} else {
		signals_spread(number, info, context);
	}
	errno = saved;
}

static void signals_install(int number)
{
	gorgon_signals_install(number, signals_dispatch);
}

// Until no dispatcher on another thread looks at views.
static void wait_for_dispatchers(void)
{
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > depth)
		sched_yield();
}

// --- timers ---------------------------------------------------------------------------------

bool gorgon_signals_add_timer(struct gorgon_signals *view, int id, int number,
			      enum gorgon_timer_look look)
{
	sigset_t saved;
	bool ret;

	gorgon_masked_lock(&lock, &saved);
	ret = gorgon_timer_owners_add(view, id, look);
	if (ret && !(view->timed & bit(number))) {
		view->timed |= bit(number);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
	return ret;
}

void gorgon_signals_end_timer(struct gorgon_signals *view, int id)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	gorgon_timer_owners_end(view, id);
	gorgon_masked_unlock(&lock, &saved);
}

// Take a pending signal that the calling thread blocks: later the process's default would be its
// action.
static void signals_discard(int number, const sigset_t *blocked)
{
	const struct timespec now = {0, 0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	while (sigismember(blocked, number) && sigtimedwait(&one, NULL, &now) == number)
		continue;
}

void gorgon_signals_stop_timers(struct gorgon_signals *view)
{
	sigset_t saved;
	uint64_t timed;

	gorgon_masked_lock(&lock, &saved);
	timed = view->timed;
	view->timed = 0;
	gorgon_timer_owners_drop(view);
	// A thread of an abandoned program may still have a signal to take, for which the process's
	// default would be its action: the dispatcher stays until the view goes.
	if (!view->deliver)
		view->timed = timed;
	for (int number = 1; number < NSIG; number++) {
		if (!(timed & bit(number)))
			continue;
		signals_discard(number, &saved);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
}

bool gorgon_signals_delivers(const struct gorgon_signals *view)
{
	return view->deliver;
}

pid_t gorgon_signals_tid(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->tid, __ATOMIC_RELAXED);
}

int gorgon_signals_ended_by(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->ended_by, __ATOMIC_RELAXED);
}

int gorgon_signals_missed(const struct gorgon_signals *view)
{
	return __atomic_load_n(&view->missed, __ATOMIC_RELAXED);
}

void gorgon_signals_filter_children(struct gorgon_signals *view, gorgon_signals_filter *concerns,
				    void *ctx)
{
	view->concerns_ctx = ctx;
	__atomic_store_n(&view->concerns, concerns, __ATOMIC_RELEASE);
}

bool gorgon_signals_ignores(const struct gorgon_signals *view, int number)
{
	return ignores(view, number);
}

// --- faults ---------------------------------------------------------------------------------

void gorgon_signals_watch_faults(bool watch)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint64_t now = watch ? gorgon_dispositions.watched | bit(numbers[i])
				     : gorgon_dispositions.watched & ~bit(numbers[i]);

		__atomic_store_n(&gorgon_dispositions.watched, now, __ATOMIC_RELEASE);
		signals_install(numbers[i]);
	}
	gorgon_masked_unlock(&lock, &saved);
}

// --- views ----------------------------------------------------------------------------------

struct gorgon_signals *gorgon_signals_create(bool deliver)
{
	struct gorgon_signals *view = calloc(1, sizeof(*view));
	sigset_t saved;

	if (!view)
		return NULL;
	view->deliver = deliver;
	gorgon_masked_lock(&lock, &saved);
	__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	view->next = gorgon_dispositions.views;
	__atomic_store_n(&gorgon_dispositions.views, view, __ATOMIC_RELEASE);
	gorgon_masked_unlock(&lock, &saved);
	return view;
}

void gorgon_signals_be_worker(struct gorgon_signals *view)
{
	view->is_worker = true;
}

void gorgon_signals_deny(struct gorgon_signals *view)
{
	view->denied = true;
}

void gorgon_signals_destroy(struct gorgon_signals *view)
{
	struct gorgon_signals **p = &gorgon_dispositions.views;
	sigset_t saved;

	if (!view)
		return;
	gorgon_masked_lock(&lock, &saved);
	while (*p != view)
		p = &(*p)->next;
	__atomic_store_n(p, view->next, __ATOMIC_RELEASE);
	gorgon_timer_owners_drop(view);
	for (int number = 1; number < NSIG; number++)
		if ((view->set | view->timed) & bit(number))
			signals_install(number);
	if (gorgon_dispositions.wakes && !gorgon_dispositions.views) {
		gorgon_dispositions.wakes = false;
		signals_install(GORGON_SIGNAL_WAKE);
	}
	gorgon_masked_unlock(&lock, &saved);
	wait_for_dispatchers();
	free(view);
}

struct gorgon_signals *gorgon_signals_enter(struct gorgon_signals *view)
{
	struct gorgon_signals *outer = mine;

	mine = view;
	view->thread = pthread_self();
	__atomic_store_n(&view->tid, gettid(), __ATOMIC_RELAXED);
	__atomic_store_n(&view->has_thread, true, __ATOMIC_RELEASE);
	return outer;
}

void gorgon_signals_leave(struct gorgon_signals *view, struct gorgon_signals *outer, bool last)
{
	if (last) {
		__atomic_store_n(&view->has_thread, false, __ATOMIC_RELEASE);
		// The thread may end now: no dispatcher may still send it a signal.
		wait_for_dispatchers();
	}
	mine = outer;
}

void gorgon_signals_silence(struct gorgon_signals *view)
{
	__atomic_store_n(&view->deliver, false, __ATOMIC_RELEASE);
}

// --- interrupts -----------------------------------------------------------------------------

bool gorgon_signals_interrupt(struct gorgon_signals *view)
{
	__atomic_store_n(&view->interrupted, true, __ATOMIC_RELEASE);
	return gorgon_signals_wake(gorgon_signals_tid(view));
}

enum gorgon_signals_interrupt gorgon_signals_take_interrupt(struct gorgon_signals *view)
{
	brief action = action_of(view, SIGINT);
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

bool gorgon_signals_wake(pid_t tid)
{
	siginfo_t info = {.si_signo = GORGON_SIGNAL_WAKE, .si_code = SI_QUEUE};
	struct sigaction now;
	sigset_t saved;
	bool ret;

	gorgon_masked_lock(&lock, &saved);
	ret = gorgon_dispositions.views && !sigaction(GORGON_SIGNAL_WAKE, NULL, &now);
	if (ret && (!gorgon_dispositions.wakes || now.sa_sigaction != signals_dispatch)) {
		gorgon_dispositions.wakes = true;
		signals_install(GORGON_SIGNAL_WAKE);
	}
	gorgon_masked_unlock(&lock, &saved);
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = &gorgon_dispositions.wakes;
	return ret && !syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, GORGON_SIGNAL_WAKE, &info);
}

void gorgon_signals_on_end(void (*fn)(const void *context))
{
	__atomic_store_n(&on_end, fn, __ATOMIC_RELEASE);
}

void gorgon_signals_on_ring(struct gorgon_signals *view, gorgon_signals_ring *fn, void *ctx)
{
	sigset_t saved;

	view->ring_ctx = ctx;
	__atomic_store_n(&view->on_ring, fn, __ATOMIC_RELEASE);
	gorgon_masked_lock(&lock, &saved);
	gorgon_dispositions.wakes = true;
	signals_install(GORGON_SIGNAL_WAKE);
	gorgon_masked_unlock(&lock, &saved);
}

void gorgon_signals_on_wake(void (*fn)(const void *context))
{
	__atomic_store_n(&on_wake, fn, __ATOMIC_RELEASE);
}

sighandler_t gorgon_signals_reserve(bool begin)
{
	reserving = begin;
	return reserved;
}

// When a process sends itself a signal with kill(), and no other thread can take it, the signal is
// delivered before kill() returns (POSIX). But the kernel delivers it to the process's first
// thread: a program in one of our interpreters would go on before its handler has run, and programs
// beside it would get the signal, too. So it goes to the calling thread, or to the program's main
// thread.
static bool queue_to_caller(int number)
{
	siginfo_t info = {.si_signo = number, .si_code = SI_TKILL};

	info.si_pid = getpid();
	info.si_uid = getuid();
	return !syscall(SYS_rt_tgsigqueueinfo, info.si_pid, gettid(), number, &info);
}

static bool send_to_main_thread(struct gorgon_signals *view, int number, bool handled)
{
	bool ret;

	begin_look(); // the thread does not leave meanwhile
	ret = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE);
	if (ret && handled)
		__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
	if (ret)
		pthread_kill(view->thread, number);
	end_look();
	return ret;
}

bool gorgon_signals_kill_self(struct gorgon_signals *view, int number)
{
	sigset_t mask;
	bool handled, waited;

	if (!view || number < 1 || number >= NSIG ||
	    getpid() != __atomic_load_n(&process, __ATOMIC_RELAXED))
		return false;
	handled = is_function(action_of(view, number));
	waited = !pthread_sigmask(SIG_BLOCK, NULL, &mask) && sigismember(&mask, number);
	if (ignores(view, number) && !waited)
		return true;
	if (!handled && !waited)
		return false;
	return mine == view ? queue_to_caller(number) : send_to_main_thread(view, number, handled);
}

void gorgon_signals_before_fork(void)
{
	gorgon_masked_lock(&lock, &before_fork);
}

void gorgon_signals_after_fork(bool child)
{
	const struct gorgon_signals *own = view_of_thread();
	sigset_t saved = before_fork;
	uint64_t dropped = 0;

	for (struct gorgon_signals *view = gorgon_dispositions.views; child && view;
	     view = view->next) {
		view->deliver &= view == mine;
		view->has_thread &= view == mine;
		dropped |= view->timed; // a child has no timers
		view->timed = 0;
		view->tid = gettid();
		if (view == own)
			continue;
		dropped |= view->set;
		view->set = 0;
		memset(view->briefs, 0, sizeof(view->briefs));
	}
	if (child)
		gorgon_timer_owners_forget();
	// Dispositions of interpreters that do not exist in the child must not keep the default, or
	// what the child ignores, from being installed.
	for (int number = 1; number < NSIG; number++)
		if (dropped & bit(number))
			signals_install(number);
	if (child) {
		running = depth;
		__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	}
	gorgon_masked_unlock(&lock, &saved);
}

// What the kernel says of a signal that a view has not set, if that is the default: then nobody has
// set it, and it is so in a child of vfork(), too. CPython asks for each signal when it starts.
static bool is_default(int number, const struct gorgon_signals *view, struct sigaction *ret)
{
	return !(__atomic_load_n(&view->set, __ATOMIC_RELAXED) & bit(number)) &&
	       !sigaction(number, NULL, ret) && ret->sa_handler == SIG_DFL;
}

// In a child of vfork(): what it looks at to reset it, it finds ignored where its program ignores
// it.
static int change_in_child(int number, const struct sigaction *action, struct sigaction *old,
			   const struct gorgon_signals *view)
{
	int r = sigaction(number, action, old);

	if (!r && old && old->sa_sigaction == signals_dispatch &&
	    gorgon_signals_ignored_for(view, number))
		*old = (struct sigaction){.sa_handler = SIG_IGN};
	return r;
}

int gorgon_signal_action(int number, const struct sigaction *action, struct sigaction *old,
			 struct gorgon_signals *view)
{
	struct sigaction before;
	sigset_t saved;

	if (number == GORGON_SIGNAL_RESERVED && reserving) {
		if (old)
			*old = (struct sigaction){.sa_handler = SIG_DFL};
		if (action)
			reserved = action->sa_handler;
		return 0;
	}
	// The C library answers for signals that cannot be caught, and for the two that it uses
	// itself.
	if (number < 1 || number >= NSIG || number == SIGKILL || number == SIGSTOP ||
	    (number > SIGSYS && number < SIGRTMIN))
		return sigaction(number, action, old);
	if (!action && old && is_default(number, view, old))
		return 0;
	if (getpid() != __atomic_load_n(&process, __ATOMIC_RELAXED))
		return change_in_child(number, action, old, view);
	// By the handler of SIGINT that CPython begins with the host interrupts an interpreter, and
	// asyncio.run() sets its own.
	if (view->denied && action && number != SIGINT && is_function((brief)action->sa_handler)) {
		errno = EPERM;
		return -1;
	}
	gorgon_masked_lock(&lock, &saved);
	if (view->set & bit(number) || !view->deliver)
		before = view->actions[number]; // at first zero: the default
	else if ((gorgon_dispositions.dispatched | gorgon_dispositions.ignored) & bit(number))
		before = gorgon_dispositions.host[number];
	else
		sigaction(number, NULL, &before);
	// As in a process that was made by exec(): handlers are gone, what was ignored still is.
	if (view->is_worker && !(view->set & bit(number)) &&
	    (number == SIGINT || is_function((brief)before.sa_handler)))
		before = (struct sigaction){.sa_handler = SIG_DFL};
	if (action) {
		view->actions[number] = *action;
		view->set |= bit(number);
		__atomic_store_n(&view->briefs[number], brief_of(action), __ATOMIC_RELEASE);
		signals_install(number);
	}
	gorgon_masked_unlock(&lock, &saved);
	if (old)
		*old = before;
	return 0;
}

sighandler_t gorgon_signal_set(int number, sighandler_t handler, struct gorgon_signals *view)
{
	struct sigaction action = {.sa_flags = SA_RESTART}, old;

	action.sa_handler = handler;
	sigemptyset(&action.sa_mask);
	return gorgon_signal_action(number, &action, &old, view) ? SIG_ERR : old.sa_handler;
}
