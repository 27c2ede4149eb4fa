// SPDX-License-Identifier: MIT
// Threads of a namespace that are to raise an exception.
//
// A request. A thread that runs bytecode is reached by an asynchronous exception
// (python/calls/interrupt.c). A thread in a blocking call is not: the exception waits for the next
// bytecode. A signal ends the system call with EINTR, but after EINTR Python asks whether a handler
// of a signal has raised something, answers the question itself with "no" on every thread but its
// main one, and repeats the call. To find out which thread it is on it calls pthread_self(). So
// libpython gets ours, which answers truly, with one exception: on a thread with a request, when
// one of the functions asks that look for signals (PyErr_CheckSignals(), Py_MakePendingCalls()), it
// lets them find a signal that no program can have, and answers that this is the main thread.
// Python calls the handler of that signal (python/calls/interrupt.c), which raises the exception on
// this thread, within the blocking call: what Python does after a KeyboardInterrupt is what
// happens, and nothing believes that it got a lock or a value. The GIL is held from the answer to
// the handler, so the main thread cannot take the signal. A SIGINT that waits at that time is for a
// call on the main thread: it is taken away before, and made known again when the request has been
// taken. Who asks is told by the unwinder; that costs microseconds, and only threads with a request
// pay it.
//
// A signal that comes just before the system call begins is lost, and functions may wait again: so
// a thread of ours, which lives while there are requests and a moment longer, repeats the signals,
// at first after a millisecond, then less often.
//
// Not reached: libraries that call a blocking function and repeat it after EINTR without asking
// Python; threads that block GORGON_SIGNAL_WAKE; copies that our loader has not loaded, whose
// libpython calls the C library directly.
//
// The lock of the list of threads guards requests and the waker; a thread takes its own request
// without the lock.

#define _GNU_SOURCE
#include "interruption.h"
#include "base/clock.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/faults/backtrace.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/threads/parking.h"
#include "process/threads/shield.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// Frames from here to the function that looks for signals: of a question, of a handler.
enum { QUESTION_DEPTH = 5, HANDLER_DEPTH = 12 };

#define ABANDONED_MS 10000 // so long threads of an abandoned interpreter are waited for

#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 200
#define LINGER_MS    100

#define WANTED_FOR_GOOD (1U << 31)

struct gorgon_interruption {
	struct gorgon_ns *ns;
	// The highest bit, WANTED_FOR_GOOD, is set once some thread had a request or posed as the
	// main one. The others count threads for which a SIGINT or an interrupt may have been
	// kept. Atomic.
	unsigned wanted;
	bool stolen; // another thread may have handled what told the main thread; atomic
	bool keeps;  // a SIGINT that the main thread is to get once a request was taken; atomic
	struct gorgon_interruption_python python;
};

static bool waking;	    // the waker lives; under the list's lock
static bool lingering;	    // it waits for a request; under the list's lock
static uint64_t wanted_at;  // time of the newest request; under the list's lock
static uint32_t requests;   // counts them; a futex; under the list's lock

static __thread bool poses_as_main __attribute__((tls_model("initial-exec")));
static __thread bool uninterrupted __attribute__((tls_model("initial-exec")));
static __thread bool tripping __attribute__((tls_model("initial-exec")));
// for a SIGINT, as the main thread
static __thread bool taking_sigint __attribute__((tls_model("initial-exec")));
static __thread bool blocks __attribute__((
	tls_model("initial-exec"))); // who looks now finds an interrupt that a shield kept

static bool interruption_begin(void *state, struct gorgon_ns *ns)
{
	((struct gorgon_interruption *)state)->ns = ns;
	return true;
}

// A thread of the host may have a request that it never met: its call has ended by a fault, or has
// been abandoned.
static void interruption_end(void *state)
{
	const struct gorgon_interruption *interruption = state;
	struct gorgon_thread *thread = NULL;

	gorgon_threads_lock();
	while ((thread = gorgon_thread_next(thread))) {
		struct gorgon_ns *wanted = interruption->ns;

		__atomic_compare_exchange_n(&thread->interrupt, &wanted, NULL, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	gorgon_threads_unlock();
}

void gorgon_interruption_describe(struct gorgon_interruption *state,
				  const struct gorgon_interruption_python *python)
{
	state->python = *python;
}

// --- which thread this is --------------------------------------------------------------------

// A handler of a signal may ask, wherever the signal has met this thread: libgcc's unwinder, which
// the thread may be in, has a lock.
static bool is_look_for_signals(const struct gorgon_interruption *state, size_t depth)
{
	const struct gorgon_code_range *checks = state->python.checks;
	struct gorgon_frame frames[HANDLER_DEPTH];
	size_t count = gorgon_backtrace_here(frames, depth);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < sizeof(state->python.checks) / sizeof(*checks); k++)
			if (frames[i].pc - 1 - checks[k].start < checks[k].size)
				return true;
	return false;
}

static struct gorgon_ns *request_of(const struct gorgon_thread *thread)
{
	return __atomic_load_n(&thread->interrupt, __ATOMIC_ACQUIRE);
}

// When Python only runs finalisers it handles no signals, and CPython 3.11.2 reads what it has
// freed of their handlers.
static void trip(const struct gorgon_interruption *state, int number)
{
	if (state->python.trip && !(state->python.is_finalizing && state->python.is_finalizing()))
		state->python.trip(number);
}

// On the main thread, in a blocking call that looks for signals.
static void trip_kept(const struct gorgon_interruption *state)
{
	tripping = true;
	if (gorgon_shield_take_sigint()) {
		trip(state, SIGINT);
	} else {
		gorgon_shield_take_interrupt();
		blocks = true;
		trip(state, GORGON_SIGNAL_RESERVED);
	}
	tripping = false;
}

static __attribute__((noinline)) pthread_t interruption_answer(struct gorgon_interruption *state)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	if (taking_sigint)
		return state->python.main;
	// What was kept for a shield may interrupt a blocking call.
	if (!tripping)
		blocks = false;
	if (!tripping && state->python.trip && !gorgon_shield_is_whole() &&
	    (gorgon_shield_has_kept() ||
	     (__atomic_load_n(&state->stolen, __ATOMIC_ACQUIRE) && thread &&
	      pthread_self() == state->python.main && request_of(thread) == state->ns)) &&
	    is_look_for_signals(state, QUESTION_DEPTH))
		trip_kept(state);
	// Making the signal known asks which thread this is, too. The main thread finds it by
	// itself.
	if (tripping || pthread_self() == state->python.main || uninterrupted || !thread ||
	    request_of(thread) != state->ns || !state->python.trip || gorgon_shield_is_whole() ||
	    !is_look_for_signals(state, QUESTION_DEPTH))
		return poses_as_main && !tripping ? state->python.main : pthread_self();
	// Python is about to handle all signals that wait. A SIGINT is for the call on the main
	// thread.
	__atomic_store_n(&state->stolen, true, __ATOMIC_RELEASE);
	tripping = taking_sigint = true;
	if (state->python.take_interrupt())
		__atomic_store_n(&state->keeps, true, __ATOMIC_RELEASE);
	taking_sigint = false;
	trip(state, GORGON_SIGNAL_RESERVED);
	tripping = false;
	return state->python.main;
}

static pthread_t interruption_self(struct gorgon_interruption *state)
{
	return __builtin_expect(__atomic_load_n(&state->wanted, __ATOMIC_RELAXED) != 0, false)
		       ? interruption_answer(state)
		       : pthread_self();
}

static void want_for_good(struct gorgon_interruption *state)
{
	__atomic_or_fetch(&state->wanted, WANTED_FOR_GOOD, __ATOMIC_RELEASE);
}

bool gorgon_interruption_pose_as_main(struct gorgon_interruption *state, bool begin_it)
{
	bool before = poses_as_main;

	poses_as_main = begin_it;
	if (begin_it)
		want_for_good(state);
	return before;
}

void gorgon_interruption_trip(struct gorgon_interruption *state)
{
	// CPython tells its main thread of a signal only if that, as it believes, makes it known.
	bool before = gorgon_interruption_pose_as_main(state, true);

	trip(state, GORGON_SIGNAL_RESERVED);
	gorgon_interruption_pose_as_main(state, before);
}

void gorgon_interruption_ignore(void)
{
	uninterrupted = true;
}

// --- requests ---------------------------------------------------------------------------------

// C code that runs on in an abandoned interpreter may never come to a place where its thread is
// parked.
static bool is_hopeless(const struct gorgon_ns *ns)
{
	return gorgon_parking_is_abandoned(ns) &&
	       gorgon_now() - wanted_at > ABANDONED_MS * UINT64_C(1000000);
}

// Send a signal to each thread with a request. Under the list's lock. Returns how many there are.
static size_t wake_all(void)
{
	struct gorgon_thread *thread = NULL;
	size_t count = 0;

	while ((thread = gorgon_thread_next(thread))) {
		struct gorgon_ns *ns = request_of(thread);

		if (!ns)
			continue;
		if (is_hopeless(ns)) {
			__atomic_store_n(&thread->interrupt, NULL, __ATOMIC_RELEASE);
			continue;
		}
		count++;
		gorgon_signals_wake((pid_t)thread->tid);
	}
	return count;
}

// Whether a request has come before the time is up in which this thread waits for the next, so that
// a series of interrupts does not begin a thread for each.
static bool wait_for_request(uint32_t seen)
{
	const struct timespec linger = {0, LINGER_MS * 1000000};
	bool ret;

	syscall(SYS_futex, &requests, FUTEX_WAIT_PRIVATE, seen, &linger, NULL, 0);
	gorgon_threads_lock();
	waking = ret = requests != seen;
	lingering = false;
	gorgon_threads_unlock();
	return ret;
}

static void *interruption_wake(void *arg)
{
	uint32_t seen;
	uint64_t age_ms;
	bool more;

	pthread_setname_np(pthread_self(), "gorgon-waker");
	do {
		gorgon_threads_lock();
		age_ms = (gorgon_now() - wanted_at) / 8000000;
		gorgon_threads_unlock();
		usleep(1000 * (useconds_t)(age_ms < PAUSE_MIN_MS   ? PAUSE_MIN_MS
					   : age_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS
								   : age_ms));
		gorgon_threads_lock();
		seen = requests;
		more = wake_all();
		lingering = !more;
		gorgon_threads_unlock();
	} while (more || wait_for_request(seen));
	return arg;
}

// Under the list's lock. Without a thread the signal that was sent is the only one.
static void begin_to_wake(void)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	wanted_at = gorgon_now();
	requests++;
	if (waking) {
		if (lingering)
			syscall(SYS_futex, &requests, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		lingering = false;
		return;
	}
	sigfillset(&all);
	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	waking = !pthread_create(&thread, &attr, interruption_wake, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

static struct gorgon_thread *find_thread(pthread_t pthread)
{
	struct gorgon_thread *thread = NULL;

	do {
		thread = gorgon_thread_next(thread);
	} while (thread && thread->pthread != pthread);
	return thread;
}

static bool interruption_request(struct gorgon_interruption *state, struct gorgon_thread *thread)
{
	struct gorgon_ns *nobody = NULL;

	if (!thread || (!__atomic_compare_exchange_n(&thread->interrupt, &nobody, state->ns, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
			nobody != state->ns))
		return false;
	want_for_good(state);
	return true;
}

bool gorgon_interruption_request(struct gorgon_interruption *state, pthread_t thread)
{
	struct gorgon_thread *found;
	bool ret;

	gorgon_threads_lock();
	ret = interruption_request(state, found = find_thread(thread));
	if (ret) {
		gorgon_signals_wake((pid_t)found->tid);
		begin_to_wake();
	}
	gorgon_threads_unlock();
	return ret;
}

void gorgon_interruption_request_main(struct gorgon_interruption *state)
{
	gorgon_threads_lock();
	interruption_request(state, find_thread(state->python.main));
	gorgon_threads_unlock();
}

void gorgon_interruption_repeat(void)
{
	gorgon_threads_lock();
	begin_to_wake();
	gorgon_threads_unlock();
}

bool gorgon_interruption_is_shielded(pthread_t thread)
{
	const struct gorgon_thread *found;
	bool ret;

	gorgon_threads_lock();
	found = find_thread(thread);
	ret = found && gorgon_shield_is_up(found);
	gorgon_threads_unlock();
	return ret;
}

bool gorgon_interruption_blocks(const struct gorgon_interruption *state)
{
	// A lock of CPython 3.13.5 and newer asks which thread this is when signals have been
	// handled, too, so that what is tripped then is not seen before the next time.
	return blocks || is_look_for_signals(state, HANDLER_DEPTH);
}

bool gorgon_interruption_is_requested(const struct gorgon_interruption *state)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return thread && request_of(thread) == state->ns;
}

void gorgon_interruption_expect(struct gorgon_interruption *state, bool begin)
{
	__atomic_add_fetch(&state->wanted, begin ? 1U : -1U, __ATOMIC_RELAXED);
}

bool gorgon_interruption_take(struct gorgon_interruption *state)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	struct gorgon_ns *wanted = state->ns;
	bool ret = thread && __atomic_compare_exchange_n(&thread->interrupt, &wanted, NULL, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

	if (ret && __atomic_exchange_n(&state->keeps, false, __ATOMIC_ACQ_REL))
		trip(state, SIGINT);
	return ret;
}

size_t gorgon_interruption_threads(struct gorgon_interruption *state, pthread_t *list, size_t count)
{
	struct gorgon_thread *thread = NULL;
	size_t ret = 0;

	gorgon_threads_lock();
	while ((thread = gorgon_thread_next(thread))) {
		if (gorgon_thread_ns(thread) != state->ns)
			continue;
		if (ret < count)
			list[ret] = thread->pthread;
		ret++;
	}
	gorgon_threads_unlock();
	return ret;
}

// The waker is not here, nor are the threads that had requests.
static void after_fork(bool child)
{
	if (child)
		waking = false;
}

// In a child of its own Python takes the thread that has forked for its main one.
static void in_child(void *state)
{
	struct gorgon_interruption *interruption = state;

	if (gorgon_fork_caller() == interruption->ns)
		interruption->python.main = pthread_self();
}

static const struct gorgon_bound bound[] = {
	{"pthread_self", interruption_self, 0, 0, GORGON_OWN,
	 "a thread that is being interrupted may handle that as Python's main thread does"},
};

const struct gorgon_part gorgon_interruption_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_interruption),
	.begin = interruption_begin,
	.end = interruption_end,
	.after_fork = after_fork,
	.in_child = in_child,
	.when = GORGON_WHEN_PYTHON,
	.title = "Threads of an interpreter",
	.loader_only = true,
};
