// SPDX-License-Identifier: MIT
// Interval timers (setitimer(2), alarm(2)) of a namespace.
//
// A process has three interval timers, whose signals go to any of its threads: of two
// interpreters that set an alarm one would lose it. Here each namespace has three of its own.
// Each is a POSIX timer of the kernel's, made when it is first set, which signals the thread of the
// namespace's view: the interpreter's main one, where blocking calls must fail with EINTR for
// Python to notice. signals.c knows whose signal it is by the timer's number.
//
// - ITIMER_REAL runs on CLOCK_MONOTONIC, as the kernel's own.
// - ITIMER_VIRTUAL and ITIMER_PROF run on the main thread's user time, and its user and system
//   time: the kernel has a sum for a process or a thread, nothing in between. Time of threads that
//   the program has started does not count.
//
// The thread is the one that has entered the interpreter last; a timer that is set anew from
// another main thread moves to it. A timer whose thread has ended is silent.
//
// The child that a program forks is its own. It may execute another program and count on its alarm,
// so it uses the kernel's own interval timers. So does a child of vfork(), which runs in this
// memory. In a child of the host interpreters go on as in the parent. System calls that are made by
// syscall(2), and ualarm(3), reach the process's timers. timer_create(2) is the C library's: nobody
// imports it (tests/process/census.txt).
//
// `lock` is a leaf. setitimer() and alarm() may be called in signal handlers: signals are
// blocked while it is held, and no memory is allocated.

#define _GNU_SOURCE
#include "fork.h"
#include "signals.h"
#include "timers.h"
#include "base/masked_lock.h"
#include "ns/ns.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define INTERVALS 3 // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF

struct interval {
	bool made;
	int id;
	pid_t tid;
};

struct timers {
	struct gorgon_ns *ns;
	pid_t pid; // the process that has made them
	struct interval intervals[INTERVALS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before_fork; // the forking thread's mask, under `lock`

static bool are_ours(const struct timers *timers)
{
	return timers->pid == getpid();
}

// --- the kernel's timers, which the C library wraps with malloc() ------------------------------

static int kernel_create(clockid_t clock, struct sigevent *event, int *id)
{
	return (int)syscall(SYS_timer_create, clock, event, id);
}

static int kernel_set(int id, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	return (int)syscall(SYS_timer_settime, id, flags, value, old);
}

static void kernel_delete(int id)
{
	syscall(SYS_timer_delete, id);
}

// The clock of a thread's user time (@user), or of its user and system time. glibc's
// pthread_getcpuclockid() makes the clock of a thread's run time in this way.
static clockid_t cpu_clock(pid_t tid, bool user)
{
	return (clockid_t)(~(unsigned)tid << 3 | 4 | (user ? 1 : 0));
}

static clockid_t interval_clock(int which, pid_t tid)
{
	return which == ITIMER_REAL ? CLOCK_MONOTONIC : cpu_clock(tid, which == ITIMER_VIRTUAL);
}

static pid_t main_tid(const struct timers *timers)
{
	return gorgon_signals_tid(timers->ns->signals) ?: gettid();
}

// Signals @tid; a namespace that keeps out of the process's signals sends none.
static void set_target(struct sigevent *event, const struct timers *timers, pid_t tid)
{
	event->sigev_notify =
		gorgon_signals_delivers(timers->ns->signals) ? SIGEV_THREAD_ID : SIGEV_NONE;
	event->_sigev_un._tid = tid;
}

// --- interval timers -----------------------------------------------------------------------------

static bool make_on(const struct timers *timers, int which, pid_t tid, struct interval *ret)
{
	static const int numbers[INTERVALS] = {SIGALRM, SIGVTALRM, SIGPROF};
	struct sigevent event = {.sigev_signo = numbers[which]};

	set_target(&event, timers, tid);
	*ret = (struct interval){.made = true, .tid = tid};
	if (kernel_create(interval_clock(which, tid), &event, &ret->id))
		return false;
	if (event.sigev_notify == SIGEV_NONE ||
	    gorgon_signals_add_timer(timers->ns->signals, ret->id, numbers[which]))
		return true;
	kernel_delete(ret->id);
	errno = EAGAIN;
	return false;
}

// Make a timer for the main thread or, when that has ended, for the calling thread.
static bool timers_make(const struct timers *timers, int which, struct interval *ret)
{
	pid_t tid = main_tid(timers), own = gettid();

	return make_on(timers, which, tid, ret) ||
	       (errno == EINVAL && tid != own && make_on(timers, which, own, ret));
}

static void timers_drop(const struct timers *timers, const struct interval *interval)
{
	if (!interval->made)
		return;
	kernel_delete(interval->id);
	gorgon_signals_end_timer(timers->ns->signals, interval->id);
}

static bool is_valid(const struct timeval *time)
{
	return time->tv_sec >= 0 && time->tv_usec >= 0 && time->tv_usec < 1000000;
}

static bool is_set(const struct itimerval *value)
{
	return value->it_value.tv_sec || value->it_value.tv_usec;
}

static struct timespec to_timespec(const struct timeval *time)
{
	return (struct timespec){time->tv_sec, time->tv_usec * 1000};
}

// Rounded up, so that a timer that is set never reads as zero.
static struct timeval to_timeval(const struct timespec *time)
{
	suseconds_t usec = (time->tv_nsec + 999) / 1000;

	return (struct timeval){time->tv_sec + usec / 1000000, usec % 1000000};
}

static struct itimerval to_itimerval(const struct itimerspec *value)
{
	return (struct itimerval){to_timeval(&value->it_interval), to_timeval(&value->it_value)};
}

// The timer to set. A new timer may be made for it; @replaced is then the timer before.
static bool timers_choose(struct timers *timers, int which, struct interval *new,
			  struct interval *replaced, sigset_t *saved)
{
	struct interval *now = &timers->intervals[which];
	pid_t tid = main_tid(timers);
	bool right;

	gorgon_masked_lock(&lock, saved);
	right = now->made && now->tid == tid;
	if (right)
		return true;
	gorgon_masked_unlock(&lock, saved);
	if (!timers_make(timers, which, new))
		return false;
	gorgon_masked_lock(&lock, saved);
	*replaced = *now;
	*now = *new;
	return true;
}

// The time that was left.
static void stop_replaced(const struct timers *timers, const struct interval *replaced,
			  struct itimerspec *old)
{
	if (!replaced->made)
		return;
	if (syscall(SYS_timer_gettime, replaced->id, old))
		memset(old, 0, sizeof(*old));
	timers_drop(timers, replaced);
}

static int set_interval(struct timers *timers, int which, const struct itimerval *value,
			struct itimerval *old)
{
	struct itimerspec spec = {to_timespec(&value->it_interval), to_timespec(&value->it_value)};
	struct itimerspec before = {{0, 0}, {0, 0}};
	struct interval new, replaced = {0};
	sigset_t saved;
	int ret;

	if (!is_set(value) && !__atomic_load_n(&timers->intervals[which].made, __ATOMIC_ACQUIRE)) {
		memset(old, 0, sizeof(*old));
		return 0;
	}
	if (!timers_choose(timers, which, &new, &replaced, &saved))
		return -1;
	ret = kernel_set(timers->intervals[which].id, 0, &spec, &before);
	gorgon_masked_unlock(&lock, &saved);
	stop_replaced(timers, &replaced, &before);
	*old = to_itimerval(&before);
	return ret;
}

static int timers_setitimer(int which, const struct itimerval *value, struct itimerval *old,
			    struct timers *timers)
{
	static const struct itimerval none;
	struct itimerval before;

	if (!are_ours(timers))
		return setitimer(which, value, old);
	value = value ?: &none;
	if (which < 0 || which >= INTERVALS || !is_valid(&value->it_value) ||
	    !is_valid(&value->it_interval)) {
		errno = EINVAL;
		return -1;
	}
	if (set_interval(timers, which, value, &before))
		return -1;
	if (old)
		*old = before;
	return 0;
}

static int timers_getitimer(int which, struct itimerval *ret, struct timers *timers)
{
	struct itimerspec now = {{0, 0}, {0, 0}};
	sigset_t saved;
	int err = 0;

	if (!are_ours(timers))
		return getitimer(which, ret);
	if (which < 0 || which >= INTERVALS) {
		errno = EINVAL;
		return -1;
	}
	gorgon_masked_lock(&lock, &saved);
	if (timers->intervals[which].made)
		err = (int)syscall(SYS_timer_gettime, timers->intervals[which].id, &now);
	gorgon_masked_unlock(&lock, &saved);
	if (err) // the timer's clock is of a thread that has ended
		memset(&now, 0, sizeof(now));
	*ret = to_itimerval(&now);
	return 0;
}

// Rounded as the kernel does: to the nearest second, but never to zero.
static unsigned timers_alarm(unsigned seconds, struct timers *timers)
{
	struct itimerval value = {{0, 0}, {0, 0}}, old;

	value.it_value.tv_sec = seconds;
	if (!are_ours(timers))
		return alarm(seconds);
	if (set_interval(timers, ITIMER_REAL, &value, &old))
		return 0;
	if (old.it_value.tv_usec >= 500000 || (!old.it_value.tv_sec && old.it_value.tv_usec))
		old.it_value.tv_sec++;
	return (unsigned)old.it_value.tv_sec;
}

// --- the part ------------------------------------------------------------------------------------

static bool timers_begin(void *state, struct gorgon_ns *ns)
{
	struct timers *timers = state;

	timers->ns = ns;
	timers->pid = getpid();
	return true;
}

static void timers_stop(void *state)
{
	struct timers *timers = state;
	struct interval none[INTERVALS] = {{0}}, old[INTERVALS];
	sigset_t saved;

	if (!are_ours(timers))
		return;
	gorgon_masked_lock(&lock, &saved);
	memcpy(old, timers->intervals, sizeof(old));
	memcpy(timers->intervals, none, sizeof(none));
	gorgon_masked_unlock(&lock, &saved);
	for (int i = 0; i < INTERVALS; i++)
		timers_drop(timers, &old[i]);
	gorgon_signals_stop_timers(timers->ns->signals);
}

void gorgon_timers_abandon(struct gorgon_ns *ns)
{
	timers_stop(gorgon_parts_state(ns->parts, &gorgon_timers_part));
}

static void take_for_fork(void)
{
	gorgon_masked_lock(&lock, &before_fork);
}

static void release_after_fork(bool child)
{
	sigset_t saved = before_fork;

	(void)child;
	gorgon_masked_unlock(&lock, &saved);
}

// A forked child has no timers.
static void in_child(void *state)
{
	struct timers *timers = state;

	memset(timers->intervals, 0, sizeof(timers->intervals));
	if (gorgon_fork_keeps(timers->ns))
		timers->pid = getpid();
}

static const struct gorgon_bound bound[] = {
	{"setitimer", timers_setitimer, 3, 0, GORGON_OWN,
	 "three timers of its own; the signal comes on its main thread, to it alone"},
	{"getitimer", timers_getitimer, 2, 0, GORGON_OWN, "as setitimer"},
	{"alarm", timers_alarm, 1, 0, GORGON_OWN, "its own ITIMER_REAL, as setitimer"},
};

const struct gorgon_part gorgon_timers_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct timers),
	.begin = timers_begin,
	.stop = timers_stop,
	.before_fork = take_for_fork,
	.after_fork = release_after_fork,
	.in_child = in_child,
};
