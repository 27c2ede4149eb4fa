// SPDX-License-Identifier: MIT
// Signals: every namespace has its own view of the dispositions.
//
// A process has one handler per signal; copies of CPython that each install theirs
// would leave Ctrl-C to the last one, and a handler in an unmapped library behind.
// So sigaction() and signal() of private code change a view. While any view has a
// function for a signal, our dispatcher is the process's handler; what the host had
// is kept and put back when the last view gives it up.
//
// What a view sees of a signal that it has not set is the host's disposition, never
// another view's: each CPython finds SIGINT at its default and installs its
// KeyboardInterrupt. A view that keeps out of the process's signals sees the default: a
// host with a handler of its own can interrupt it all the same.
//
// Delivery:
// - a signal from outside (Ctrl-C, kill, the host's timers) goes to every view that has a
//   function for it, and to the host's own handler; SIGCHLD not to a view whose children it
//   cannot be about (../process/children.c). A view of an interpreter gets it
//   on the interpreter's main thread: that is where blocking calls must be interrupted
//   (EINTR) for Python to notice. The dispatcher sends it on with pthread_kill(), after
//   marking it as pending for that view, so that it is not spread again;
// - a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT of this thread) goes to the view
//   of the thread it happened on only, then to the host. faulthandler of the right
//   copy answers;
// - what is sent to one thread (raise(), pthread_kill()) goes to the view of that thread
//   only, or else to the host;
// - what the library sends to an interpreter (gorgon_signals_send()) goes to its view only,
//   also while its main thread is in a call into another interpreter;
// - the signal of a timer that a view has made (../process/timers.c) goes to that view only. The
//   kernel says which timer it is of. While a view has timers the dispatcher is installed for
//   their signals. Where the view has no handler for one that would end a process, its program
//   is interrupted as by SIGINT, and ends with this signal's status if it lets that end it. A
//   program without a handler for SIGINT (one that is being finalised has none) has that
//   status when it ends.
//
// SIG_IGN in a view (CPython ignores SIGPIPE) holds for the process while the host
// has the default, as with any embedded CPython. Not for SIGCHLD: the kernel would keep no
// child's status for anybody (../process/children.c).
//
// A vfork() child (subprocess makes one) runs in this memory but has dispositions of its
// own, which it resets before it executes something: it goes to the kernel directly.
//
// The dispatcher runs at any time on any thread and takes no lock. Views are in a list
// that only grows at its head with release stores; a view that goes is unlinked, and
// freed once no dispatcher is running elsewhere that may have seen it. An action can be
// replaced on one thread while a dispatcher on another thread reads it, so what dispatchers
// read of an action is one atomic word (`brief`). A handler may leave
// by siglongjmp() (cysignals' do, for each error that PARI reports): a dispatcher that calls
// the one of its own thread's view has finished with all views before. `lock` orders
// writers; it is a leaf, and all signals are blocked while it is held.

#define _GNU_SOURCE
#include "signals.h"
#include "base/masked_lock.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// What a dispatcher needs to know of an action: the address of the function, SIG_DFL or
// SIG_IGN. TAKES_INFO is added for a function that is called with three arguments
// (SA_SIGINFO). No address of a function in user space has that bit.
typedef uintptr_t brief;

#define TAKES_INFO ((brief)1 << (sizeof(brief) * 8 - 1))

struct gorgon_signals {
	struct gorgon_signals *next;
	struct sigaction actions[NSIG]; // under `lock`
	brief briefs[NSIG];		// of `actions`; atomic
	uint64_t set;	   // bit per signal: the view has an opinion
	uint64_t pending;  // bit per signal: sent on to `thread`; atomic
	uint64_t timed;	   // bit per signal: timers of the view send it
	pthread_t thread;
	pid_t tid;	 // of the last one that was `thread`, or 0; atomic
	int ended_by;	 // the signal whose default has interrupted the program, or 0; atomic
	int missed;	 // the same that could not interrupt it; atomic
	bool has_thread; // atomic
	bool deliver;
	gorgon_signals_filter *concerns; // NULL: each SIGCHLD does
	void *concerns_ctx;
};

// Whose signals those of a timer are. Entries stay for good and are used again: a signal may
// arrive when its timer has gone, and is then still its view's, or nobody's.
struct timer {
	struct timer *next;
	int id; // the kernel's, or -1; atomic
	enum gorgon_timer_look look;
	struct gorgon_signals *view; // NULL: gone; atomic
	bool alive;
};

#define DEAD_TIMERS 8 // of a view, that are kept before one is used again

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gorgon_signals *views; // atomic
static struct timer *timers;	     // atomic
static struct sigaction host[NSIG];  // under `lock`
static brief host_briefs[NSIG];	     // of `host`; atomic
static uint64_t dispatched; // bit per signal: our dispatcher is installed
static uint64_t ignored;    // bit per signal: SIG_IGN is installed for a view
static unsigned running;    // dispatchers that look at views; atomic
static sigset_t before_fork; // the forking thread's mask, under `lock`
static pid_t process;	    // the one whose dispositions these are; atomic

static __thread struct gorgon_signals *mine __attribute__((tls_model("initial-exec")));
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

static uint64_t bit(int number)
{
	return UINT64_C(1) << (number - 1);
}

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

static bool is_function(brief action)
{
	return action != (brief)SIG_DFL && action != (brief)SIG_IGN;
}

static brief brief_of(const struct sigaction *action)
{
	brief ret = (brief)action->sa_handler;

	// Whoever resets a handler may leave SA_SIGINFO set.
	return is_function(ret) && action->sa_flags & SA_SIGINFO ? ret | TAKES_INFO : ret;
}

static void call(brief action, int number, siginfo_t *info, void *context)
{
	if (!is_function(action))
		return;
	if (action & TAKES_INFO)
		((void (*)(int, siginfo_t *, void *))(action & ~TAKES_INFO))(number, info, context);
	else
		((sighandler_t)action)(number);
}

static brief action_of(const struct gorgon_signals *view, int number)
{
	return __atomic_load_n(&view->briefs[number], __ATOMIC_ACQUIRE);
}

static brief action_of_host(int number)
{
	return __atomic_load_n(&host_briefs[number], __ATOMIC_ACQUIRE);
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

// What a process does that has no handler.
static bool ends_by_default(int number)
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

// While views are looked at.
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

// Nobody but the host is left for a fault: its handler, or the default, which takes
// effect when the instruction runs again (or abort() raises again).
static void give_fault_to_host(int number, siginfo_t *info, void *context)
{
	brief action = action_of_host(number);

	if (is_function(action)) {
		call(action, number, info, context);
	} else {
		const struct sigaction none = {.sa_handler = (sighandler_t)action};

		sigaction(number, &none, NULL);
	}
}

// What the kernel tells of another program's child is not for this view.
static bool may_concern(const struct gorgon_signals *view, int number, const siginfo_t *info)
{
	gorgon_signals_filter *concerns = __atomic_load_n(&view->concerns, __ATOMIC_ACQUIRE);

	return number != SIGCHLD || info->si_code <= 0 || !concerns ||
	       concerns(view->concerns_ctx, info->si_pid);
}

static void spread(int number, siginfo_t *info, void *context)
{
	brief own = (brief)SIG_DFL, hosts = action_of_host(number);
	struct gorgon_signals *view;
	bool taken = false;

	begin_look();
	view = __atomic_load_n(&views, __ATOMIC_ACQUIRE);
	for (; view; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		brief action = action_of(view, number);

		taken |= view->deliver && action == (brief)SIG_IGN;
		if (!view->deliver || !is_function(action) || !may_concern(view, number, info))
			continue;
		taken = true;
		if (view == mine) {
			own = action;
		} else if (!__atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE)) {
			call(action, number, info, context);
		} else {
			__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
			pthread_kill(view->thread, number);
		}
	}
	end_look();
	// Only views that keep out of it or have timers, none that ignores it: it ends the process as
	// it would without them.
	if (!taken && ends_by_default(number) && hosts == (brief)SIG_DFL) {
		install_default(number);
		raise(number);
	}
	call(hosts, number, info, context);
	call(own, number, info, context);
}

// The view whose code runs on this thread: of the interpreter's main thread, or of one
// that its code has started.
static struct gorgon_signals *view_of_thread(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return mine ?: thread && thread->ns ? thread->ns->signals : NULL;
}

// Views of this thread's own code live as long as that runs: nothing to look for.
static void give_fault(int number, siginfo_t *info, void *context)
{
	const struct gorgon_signals *view = view_of_thread();
	brief action = view ? action_of(view, number) : (brief)SIG_DFL;

	if (is_function(action))
		call(action, number, info, context);
	else
		give_fault_to_host(number, info, context);
}

static void give_to_thread(int number, siginfo_t *info, void *context,
			   const struct gorgon_signals *view)
{
	brief action = action_of(view, number);

	call(is_function(action) ? action : action_of_host(number), number, info, context);
}

// The next view of this thread that has been sent this signal, and its action; false when
// there is none.
static bool take_pending(int number, brief *ret)
{
	struct gorgon_signals *view;
	bool found = false;

	begin_look();
	view = __atomic_load_n(&views, __ATOMIC_ACQUIRE);
	for (; view && !found; view = __atomic_load_n(&view->next, __ATOMIC_ACQUIRE)) {
		found = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE) &&
			pthread_equal(view->thread, pthread_self()) &&
			__atomic_fetch_and(&view->pending, ~bit(number), __ATOMIC_ACQ_REL) & bit(number);
		if (found)
			*ret = action_of(view, number);
	}
	end_look();
	return found;
}

// What was sent on to views of this thread; false when there was nothing. More than one
// view when interpreters call each other through the host.
static bool give_pending(int number, siginfo_t *info, void *context)
{
	brief action;
	bool any = false;

	while (mine && take_pending(number, &action)) {
		any = true;
		call(action, number, info, context);
	}
	return any;
}

// The timer of ours that has that number, or NULL. Dispatchers look without the lock.
static const struct timer *find_timer(int id)
{
	const struct timer *timer = __atomic_load_n(&timers, __ATOMIC_ACQUIRE);

	while (timer && __atomic_load_n(&timer->id, __ATOMIC_ACQUIRE) != id)
		timer = timer->next;
	return timer;
}

// As the kernel tells it of an interval timer, or of a timer that was made without a value.
static void dress(siginfo_t *info, enum gorgon_timer_look look)
{
	if (look == GORGON_TIMER_INTERVAL) {
		info->si_code = SI_KERNEL;
		info->si_timerid = 0;
		info->si_overrun = 0;
		info->si_value.sival_ptr = NULL;
	} else if (look == GORGON_TIMER_NUMBERED) {
		info->si_value.sival_ptr = NULL;
		info->si_value.sival_int = info->si_timerid;
	}
}

// What a view does about its timer's signal on this thread: SIG_DFL means nothing more.
static brief choose(struct gorgon_signals *view, int *number)
{
	brief action = action_of(view, *number);

	if (is_function(action)) {
		bool has_thread = __atomic_load_n(&view->has_thread, __ATOMIC_ACQUIRE);

		if (!has_thread || view_of_thread() == view || pthread_equal(view->thread, pthread_self()))
			return action;
		__atomic_or_fetch(&view->pending, bit(*number), __ATOMIC_ACQ_REL);
		pthread_kill(view->thread, *number);
	} else if (action != (brief)SIG_IGN && ends_by_default(*number)) {
		brief interrupt = action_of(view, SIGINT);

		if (is_function(interrupt)) {
			__atomic_store_n(&view->ended_by, *number, __ATOMIC_RELAXED);
			*number = SIGINT;
			return interrupt;
		}
		if (gorgon_signals_tid(view)) {
			__atomic_store_n(&view->missed, *number, __ATOMIC_RELAXED);
		} else {
			install_default(*number); // of nobody's program
			raise(*number);
		}
	}
	return (brief)SIG_DFL;
}

// The signal of a view's timer; false when it is not one.
static bool give_timer(int number, siginfo_t *info, void *context)
{
	brief action = (brief)SIG_DFL;
	const struct timer *timer;
	struct gorgon_signals *view;

	begin_look();
	timer = find_timer(info->si_timerid);
	if (timer) {
		view = __atomic_load_n(&timer->view, __ATOMIC_ACQUIRE);
		dress(info, timer->look);
		if (view)
			action = choose(view, &number);
	}
	end_look();
	call(action, number, info, context);
	return timer;
}

static void dispatch(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code == SI_TIMER && give_timer(number, info, context)) {
		// That was all of it.
	} else if (give_pending(number, info, context)) {
		// That was all of it.
	} else if (is_fault(number, info)) {
		give_fault(number, info, context);
	} else if (info->si_code == SI_TKILL && view_of_thread()) {
		give_to_thread(number, info, context, view_of_thread());
	} else {
		spread(number, info, context);
	}
	errno = saved;
}

// What the views together want of a signal: the dispatcher, SIG_IGN, or the host's own.
static void install(int number)
{
	bool function = false, ignore = false;
	struct sigaction action;
	uint64_t is_ours = (dispatched | ignored) & bit(number);
	int flags = SA_SIGINFO | SA_RESTART;

	for (struct gorgon_signals *view = views; view; view = view->next) {
		const struct sigaction *wanted = &view->actions[number];

		if (view->timed & bit(number) && !(view->set & bit(number) && wanted->sa_handler != SIG_DFL)) {
			function = true;
			flags &= ~SA_RESTART; // its default ends calls, too
		}
		function |= (view->timed & bit(number)) != 0;
		if (!(view->set & bit(number)))
			continue;
		if (is_function((brief)wanted->sa_handler)) {
			function = true;
			// Interrupted calls must fail with EINTR when one view counts on it.
			if (!(wanted->sa_flags & SA_RESTART))
				flags &= ~SA_RESTART;
			flags |= wanted->sa_flags & (SA_ONSTACK | SA_NODEFER | SA_NOCLDSTOP);
		} else if (wanted->sa_handler == SIG_IGN) {
			ignore = true;
		}
	}
	if (!is_ours) {
		sigaction(number, NULL, &host[number]);
		__atomic_store_n(&host_briefs[number], brief_of(&host[number]), __ATOMIC_RELEASE);
	}
	dispatched &= ~bit(number);
	ignored &= ~bit(number);
	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	if (function) {
		dispatched |= bit(number);
		action.sa_flags = flags;
		action.sa_sigaction = dispatch;
	} else if (ignore && number != SIGCHLD && host[number].sa_handler == SIG_DFL) {
		ignored |= bit(number);
		action.sa_handler = SIG_IGN;
	} else {
		action = host[number];
	}
	if (is_ours || function || ignore)
		sigaction(number, &action, NULL);
}

// Until every dispatcher but those on this thread's own stack has left.
static void wait_for_dispatchers(void)
{
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) > depth)
		sched_yield();
}

// --- timers ---------------------------------------------------------------------------------

// The entry for a timer that the kernel has just given this number: the old one of that number,
// one of nobody, the longest dead one of the view when it has many, or NULL.
static struct timer *find_free(const struct gorgon_signals *view, int id)
{
	struct timer *nobodys = NULL, *dead = NULL;
	size_t count = 0;

	for (struct timer *timer = timers; timer; timer = timer->next) {
		if (timer->id == id)
			return timer;
		if (!timer->view)
			nobodys = timer;
		if (timer->view != view || timer->alive)
			continue;
		count++;
		if (!dead || timer->id < dead->id) // numbers grow
			dead = timer;
	}
	return nobodys ?: count < DEAD_TIMERS ? NULL : dead;
}

// Entries by the page: setitimer() may be called in a signal handler, malloc() may not.
static struct timer *grow_timers(void)
{
	static struct timer few[16];
	size_t size = timers ? (size_t)getpagesize() : sizeof(few), count = size / sizeof(struct timer);
	struct timer *list = few;

	if (timers)
		list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		list[i].id = -1;
		list[i].next = i + 1 < count ? &list[i + 1] : timers;
	}
	__atomic_store_n(&timers, list, __ATOMIC_RELEASE);
	return list;
}

bool gorgon_signals_add_timer(struct gorgon_signals *view, int id, int number,
			      enum gorgon_timer_look look)
{
	struct timer *timer;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	timer = find_free(view, id) ?: grow_timers();
	if (timer) {
		__atomic_store_n(&timer->id, -1, __ATOMIC_RELEASE);
		timer->look = look;
		timer->alive = true;
		__atomic_store_n(&timer->view, view, __ATOMIC_RELEASE);
		__atomic_store_n(&timer->id, id, __ATOMIC_RELEASE);
		if (!(view->timed & bit(number))) {
			view->timed |= bit(number);
			install(number);
		}
	}
	gorgon_masked_unlock(&lock, &saved);
	return timer;
}

void gorgon_signals_end_timer(struct gorgon_signals *view, int id)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	for (struct timer *timer = timers; timer; timer = timer->next)
		if (timer->id == id && timer->view == view)
			timer->alive = false;
	gorgon_masked_unlock(&lock, &saved);
}

// Their signals that are still to come are nobody's. Under the lock.
static void drop_timers(const struct gorgon_signals *view)
{
	for (struct timer *timer = timers; timer; timer = timer->next)
		if (timer->view == view)
			__atomic_store_n(&timer->view, NULL, __ATOMIC_RELEASE);
}

// What the calling thread does not let through would meet the process's default later.
static void discard(int number, const sigset_t *blocked)
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
	drop_timers(view);
	for (int number = 1; number < NSIG; number++) {
		if (!(timed & bit(number)))
			continue;
		discard(number, &saved);
		install(number);
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

void gorgon_signals_filter_children(struct gorgon_signals *view, gorgon_signals_filter *concerns, void *ctx)
{
	view->concerns_ctx = ctx;
	__atomic_store_n(&view->concerns, concerns, __ATOMIC_RELEASE);
}

bool gorgon_signals_ignores(const struct gorgon_signals *view, int number)
{
	return ignores(view, number);
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
	view->next = views;
	__atomic_store_n(&views, view, __ATOMIC_RELEASE);
	gorgon_masked_unlock(&lock, &saved);
	return view;
}

void gorgon_signals_destroy(struct gorgon_signals *view)
{
	struct gorgon_signals **p = &views;
	sigset_t saved;

	if (!view)
		return;
	gorgon_masked_lock(&lock, &saved);
	while (*p != view)
		p = &(*p)->next;
	__atomic_store_n(p, view->next, __ATOMIC_RELEASE);
	drop_timers(view);
	for (int number = 1; number < NSIG; number++)
		if ((view->set | view->timed) & bit(number))
			install(number);
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
		// Nobody may be about to send to this thread once it may end.
		wait_for_dispatchers();
	}
	mine = outer;
}

bool gorgon_signals_send(struct gorgon_signals *view, int number)
{
	struct sigaction now;
	sigset_t saved;
	bool ret;

	gorgon_masked_lock(&lock, &saved);
	// A host that has put its own action in place of the dispatcher would be killed by it.
	ret = is_function(action_of(view, number)) && !sigaction(number, NULL, &now) &&
	      now.sa_sigaction == dispatch;
	if (ret) {
		__atomic_or_fetch(&view->pending, bit(number), __ATOMIC_ACQ_REL);
		pthread_kill(view->thread, number);
	}
	gorgon_masked_unlock(&lock, &saved);
	return ret;
}

// kill() of the own process returns when the signal has been delivered, if no other thread
// takes it (POSIX). The kernel gives it to the process's first thread: a program in one of
// our interpreters would go on before its handler has run. What it looks like is as from
// kill(), which a process may say of what it sends to itself.
bool gorgon_signals_queue_self(struct gorgon_signals *view, int number)
{
	siginfo_t info = {.si_signo = number, .si_code = SI_USER};
	sigset_t blocked;

	if (!view || mine != view || number < 1 || number >= NSIG ||
	    pthread_sigmask(SIG_BLOCK, NULL, &blocked) || sigismember(&blocked, number))
		return false;
	info.si_pid = getpid();
	info.si_uid = getuid();
	return !syscall(SYS_rt_tgsigqueueinfo, info.si_pid, gettid(), number, &info);
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

	for (struct gorgon_signals *view = views; child && view; view = view->next) {
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
	for (struct timer *timer = child ? timers : NULL; timer; timer = timer->next) {
		timer->id = -1;
		timer->view = NULL;
	}
	// A handler of an interpreter that is not there would keep the default, which ends the
	// child, and what the child ignores, from being installed.
	for (int number = 1; number < NSIG; number++)
		if (dropped & bit(number))
			install(number);
	if (child) {
		running = depth;
		__atomic_store_n(&process, getpid(), __ATOMIC_RELAXED);
	}
	gorgon_masked_unlock(&lock, &saved);
}

int gorgon_signal_action(int number, const struct sigaction *action, struct sigaction *old,
			 struct gorgon_signals *view)
{
	struct sigaction before;
	sigset_t saved;

	// What cannot be caught, and the C library's own two, have its own answers.
	if (number < 1 || number >= NSIG || number == SIGKILL || number == SIGSTOP ||
	    (number > SIGSYS && number < SIGRTMIN) ||
	    getpid() != __atomic_load_n(&process, __ATOMIC_RELAXED))
		return sigaction(number, action, old);
	gorgon_masked_lock(&lock, &saved);
	if (view->set & bit(number) || !view->deliver)
		before = view->actions[number]; // at first zero: the default
	else if ((dispatched | ignored) & bit(number))
		before = host[number];
	else
		sigaction(number, NULL, &before);
	if (action) {
		view->actions[number] = *action;
		view->set |= bit(number);
		__atomic_store_n(&view->briefs[number], brief_of(action), __ATOMIC_RELEASE);
		install(number);
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
