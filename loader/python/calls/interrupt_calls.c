// SPDX-License-Identifier: MIT
// Interrupts of the threads that are in an interpreter.
//
// An entry on Python's main thread gets what this interpreter takes for SIGINT: a
// signal ends system calls (EINTR), and Python, which looks for signals in blocking calls, too,
// makes a KeyboardInterrupt of it. The host may block that signal: it does not while a thread is in
// an entry. Entries on other threads, and threads that Python has started, are reached as
// interrupt.c says. An interrupt is meant for an entry and not for its thread: an interrupt that
// would arrive after the end of the entry is taken back, see gorgon_call_close(). While the text of
// an entry's exception is made, interrupts wait, so that they do not take its place. The program's
// code takes part in that (__str__), and may not end: when the thread has computed for TEXT_CPU_NS,
// or after TEXT_NS, interrupts are let through. On a busy machine a text takes long.

#define _GNU_SOURCE
#include "interp.h"
#include "interrupt.h"
#include "base/clock.h"
#include "base/error.h"
#include "process/interruption.h"

#define TEXT_CPU_NS UINT64_C(1000000000)
#define TEXT_NS UINT64_C(5000000000)

// An entry on another thread than Python's main one that is interrupted and does not know
// it yet. Under the lock.
static struct gorgon_call *find_unthrown_call(struct gorgon_interp *interp)
{
	struct gorgon_call *call = interp->calls.newest;

	while (call && (call->on_main_thread || call->closed || !call->interrupted || call->thrown))
		call = call->next;
	return call;
}

// An entry ends with the GIL held, and this thread holds it: each entry that is found still exists.
// An entry that waits for the GIL has no state in Python yet; it looks whether it was interrupted
// when it has the GIL.
static struct gorgon_error *throw_into_threads(struct gorgon_interp *interp, void *ctx)
{
	(void)ctx;
	for (;;) {
		struct gorgon_call *call;
		pthread_t thread = 0;

		pthread_mutex_lock(&interp->calls.lock);
		call = find_unthrown_call(interp);
		if (call) {
			call->thrown = true;
			thread = call->thread;
		}
		pthread_mutex_unlock(&interp->calls.lock);
		if (!call)
			return NULL;
		gorgon_interrupt_thread(interp, thread);
	}
}

static struct gorgon_error *throw_into_all(struct gorgon_interp *interp, void *ctx)
{
	return throw_into_threads(interp, ctx) ?: gorgon_interrupt_own_threads(interp);
}

// How long an entry of the thread may still make the text of its exception; 0: it makes none. This
// thread interrupts itself in any case. Under the lock.
static uint64_t find_text(const struct gorgon_interp *interp, pthread_t thread)
{
	const struct gorgon_call *call = interp->calls.newest;
	uint64_t age, cpu;
	clockid_t clock;

	while (call && !(call->text_ns && pthread_equal(call->thread, thread)))
		call = call->next;
	if (!call || pthread_equal(thread, pthread_self()) || pthread_getcpuclockid(thread, &clock))
		return 0;
	age = gorgon_now() - call->text_ns;
	cpu = gorgon_clock_ns(clock) - call->text_cpu_ns;
	if (age >= TEXT_NS || cpu >= TEXT_CPU_NS)
		return 0;
	return TEXT_NS - age < TEXT_CPU_NS - cpu ? TEXT_NS - age : TEXT_CPU_NS - cpu;
}

// Wait for the texts for which interrupts were put off, at most until @until. Under the lock.
static void wait_for_texts(struct gorgon_interp *interp, uint64_t until)
{
	struct gorgon_call *call = interp->calls.newest;

	while (call) {
		uint64_t left = call->put_off ? find_text(interp, call->thread) : 0,
			 now = gorgon_now(), end = now + left < until ? now + left : until;
		const struct timespec deadline = {(time_t)(end / 1000000000),
						  (long)(end % 1000000000)};

		if (end <= now) {
			call = call->next;
			continue;
		}
		pthread_cond_timedwait(&interp->calls.ended, &interp->calls.lock, &deadline);
		call = interp->calls.newest; // the list may have changed
	}
}

// Returns whether signals reach an entry that is interrupted now. @late: the entries for which
// interrupts were put off, but for texts that have time left. Under the lock.
static bool mark_call_entries(struct gorgon_interp *interp, bool late)
{
	bool ret = false;

	for (struct gorgon_call *call = interp->calls.newest; call; call = call->next) {
		if (late && !call->put_off)
			continue;
		call->put_off = find_text(interp, call->thread) > 0;
		if (call->put_off)
			continue;
		call->interrupted |= !call->closed;
		call->thrown = false; // its code may have caught the last exception
		// An entry that signals do not reach yet looks whether it was interrupted before it
		// runs Python.
		ret |= call->on_main_thread && call->entered && !call->closed;
	}
	return ret;
}

// Interrupt the main thread, if an entry of it is marked. The entry need not wait until the thread
// that repeats signals is told.
static struct gorgon_error *send_interrupt(struct gorgon_interp *interp, bool late)
{
	struct gorgon_error *err;

	if (!mark_call_entries(interp, late))
		return NULL;
	interp->calls.senders++;
	pthread_mutex_unlock(&interp->calls.lock);
	err = gorgon_interrupt_main(interp);
	pthread_mutex_lock(&interp->calls.lock);
	interp->calls.senders--;
	pthread_cond_broadcast(&interp->calls.ended);
	pthread_mutex_unlock(&interp->calls.lock);
	if (!err)
		gorgon_interruption_repeat();
	pthread_mutex_lock(&interp->calls.lock);
	return err;
}

static bool has_main_entry(const struct gorgon_interp *interp)
{
	const struct gorgon_call *call = interp->calls.newest;

	while (call && !call->on_main_thread)
		call = call->next;
	return call;
}

// Interrupt the entries. @until: how long this may wait for texts. @others: an entry on another
// thread waits for its interrupt.
static struct gorgon_error *interrupt_call_entries(struct gorgon_interp *interp, bool or_next,
						   uint64_t until, bool *others)
{
	struct gorgon_error *err;

	*others = false;
	pthread_mutex_lock(&interp->calls.lock);
	if (interp->calls.state == GORGON_INTERP_STARTING) { // Python has no handlers yet
		pthread_mutex_unlock(&interp->calls.lock);
		return gorgon_call_refusal(interp, GORGON_INTERP_STARTING);
	}
	interp->calls.interrupt_next |= or_next && !has_main_entry(interp);
	err = send_interrupt(interp, false);
	wait_for_texts(interp, until);
	if (!err)
		err = send_interrupt(interp, true);
	*others = find_unthrown_call(interp) != NULL;
	pthread_mutex_unlock(&interp->calls.lock);
	return err;
}

static bool is_started(struct gorgon_interp *interp)
{
	bool ret;

	pthread_mutex_lock(&interp->calls.lock);
	ret = interp->calls.state == GORGON_INTERP_STARTED;
	pthread_mutex_unlock(&interp->calls.lock);
	return ret;
}

struct gorgon_error *gorgon_interp_interrupt(struct gorgon_interp *interp)
{
	bool others;
	struct gorgon_error *err = interrupt_call_entries(interp, false, UINT64_MAX, &others);

	if (err || (!others && !(is_started(interp) && gorgon_interrupt_has_own_threads(interp))))
		return err;
	return gorgon_call_python(interp, throw_into_all, NULL);
}

struct gorgon_error *gorgon_call_interrupt_job(struct gorgon_interp *interp)
{
	bool others;
	struct gorgon_error *err = interrupt_call_entries(interp, true, UINT64_MAX, &others);

	return err || !others ? err : gorgon_call_python(interp, throw_into_threads, NULL);
}

void gorgon_call_interrupt_until(struct gorgon_interp *interp, uint64_t until)
{
	bool others;

	// A program without a handler for SIGINT may end by itself.
	gorgon_error_destroy(interrupt_call_entries(interp, false, until, &others));
	if (others || gorgon_interrupt_has_own_threads(interp))
		gorgon_error_destroy(gorgon_call_python_until(interp, until, throw_into_all, NULL));
}
