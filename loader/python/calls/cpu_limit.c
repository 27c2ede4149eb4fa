// SPDX-License-Identifier: MIT
// The limit of an interpreter's processor time: what happens when it is used up.
//
// A thread of the library watches each interpreter that has a limit. It sleeps as long as all
// processors together would need to use up what is left, but at most LONGEST_MS. At the limit the
// host is asked for more; if it gives none, everything in the interpreter is interrupted, once.
// Beyond the hard limit the interpreter is stopped: what runs is interrupted again and again for a
// second, and is abandoned if it has not ended then.
//
// Each interpreter has a watching thread of its own, because interrupting waits for the GIL if
// calls run on other threads than the main thread: an interpreter that never releases its GIL must
// not keep the limits of others from being watched.

#define _GNU_SOURCE
#include "cpu_limit.h"
#include "base/clock.h"
#include "base/error.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define SHORTEST_MS 5
#define LONGEST_MS  100
#define AGAIN_MS    50 // between two interrupts beyond the hard limit
#define STOP_MS	    1000 // that are left to end then
#define NS_PER_MS   1000000u

struct gorgon_error *gorgon_cpu_limit_check(const struct gorgon_interp *interp)
{
	const struct gorgon_cpu_limit *limit = &interp->cpu_limit;

	if (limit->hard_ms && (!limit->soft_ms || limit->hard_ms < limit->soft_ms))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_interp_opts: cpu_hard_limit_ms is %lu, expected "
					   "0, or cpu_limit_ms (%lu) "
					   "or more",
					   limit->hard_ms, limit->soft_ms);
	return NULL;
}

static uint64_t hard_limit_ms(const struct gorgon_cpu_limit *limit)
{
	return limit->hard_ms > limit->soft_ms ? limit->hard_ms
					       : limit->soft_ms + limit->soft_ms / 4;
}

// If the interpreter cannot be interrupted, the next attempt may succeed.
static void interrupt(struct gorgon_interp *interp)
{
	gorgon_error_destroy(gorgon_interp_interrupt(interp));
}

// The limit is used up. The host may give more.
static bool is_extended(struct gorgon_interp *interp, uint64_t used_ms)
{
	struct gorgon_cpu_limit *limit = &interp->cpu_limit;
	uint64_t more = limit->near ? limit->near(interp->limit_ctx, used_ms) : 0;

	if (more)
		__atomic_store_n(&limit->soft_ms, more, __ATOMIC_RELAXED);
	return more > used_ms;
}

// Returns whether the watcher was told to go.
static bool wait_ms(struct gorgon_interp *interp, int ms)
{
	struct timespec until = gorgon_deadline(ms);

	return !sem_clockwait(&interp->cpu_limit.end, CLOCK_MONOTONIC, &until);
}

// Beyond the hard limit. What is not started yet, or has ended, is not stopped. Other isolations
// cannot stop what does not end.
static void stop(struct gorgon_interp *interp, uint64_t used_ms)
{
	char reason[128];

	if (!interp->isolation->counts_memory) {
		interrupt(interp);
		return;
	}
	snprintf(reason, sizeof(reason),
		 "it has used %.1f s of processor time, its hard limit is %.1f s",
		 (double)used_ms / 1000, (double)hard_limit_ms(&interp->cpu_limit) / 1000);
	switch (gorgon_call_state(interp)) {
	case GORGON_INTERP_RUNNING:
	case GORGON_INTERP_STARTED:
		interrupt(interp);
		gorgon_call_explain(interp, reason);
		pthread_mutex_lock(&interp->cpu_limit.stopping);
		gorgon_error_destroy(gorgon_interp_stop_within(interp, STOP_MS));
		pthread_mutex_unlock(&interp->cpu_limit.stopping);
		break;
	default:
		break;
	}
}

// Do what is due. Returns the processor time, in milliseconds, at which something is due next; 0:
// something is due after AGAIN_MS, whatever the processor time is then.
static uint64_t act(struct gorgon_interp *interp, uint64_t used_ms)
{
	struct gorgon_cpu_limit *limit = &interp->cpu_limit;

	if (used_ms < limit->soft_ms)
		return limit->soft_ms;
	if (!limit->reached) {
		if (is_extended(interp, used_ms))
			return limit->soft_ms;
		__atomic_store_n(&limit->reached, true, __ATOMIC_RELAXED);
		interrupt(interp);
	}
	if (used_ms < hard_limit_ms(limit))
		return hard_limit_ms(limit);
	stop(interp, used_ms);
	return 0;
}

static int nap_ms(uint64_t due_ms, uint64_t used_ms)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t left = due_ms > used_ms
				? (due_ms - used_ms) / (uint64_t)(processors > 0 ? processors : 1)
				: 0;

	return left < SHORTEST_MS ? SHORTEST_MS : left > LONGEST_MS ? LONGEST_MS : (int)left;
}

static void *watch(void *arg)
{
	struct gorgon_interp *interp = arg;
	uint64_t used_ms, due_ms;

	do {
		used_ms = gorgon_interp_cpu_ns(interp) / NS_PER_MS;
		due_ms = act(interp, used_ms);
	} while (!wait_ms(interp, due_ms ? nap_ms(due_ms, used_ms) : AGAIN_MS));
	return NULL;
}

struct gorgon_error *gorgon_cpu_limit_begin(struct gorgon_interp *interp)
{
	struct gorgon_cpu_limit *limit = &interp->cpu_limit;
	sigset_t all, saved;
	int err;

	if (!limit->soft_ms)
		return NULL;
	sem_init(&limit->end, 0, 0);
	pthread_mutex_init(&limit->stopping, NULL);
	// Signals of the host are for threads of the host.
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	err = pthread_create(&limit->thread, NULL, watch, interp);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (err)
		return gorgon_error_create_os(
			err, "interpreter %u: no thread that watches its processor time",
			interp->number);
	limit->watcher = getpid();
	return NULL;
}

bool gorgon_cpu_limit_is_reached(const struct gorgon_interp *interp)
{
	return __atomic_load_n(&interp->cpu_limit.reached, __ATOMIC_RELAXED);
}

void gorgon_cpu_limit_settle(struct gorgon_interp *interp)
{
	if (interp->cpu_limit.watcher != getpid())
		return;
	pthread_mutex_lock(&interp->cpu_limit.stopping);
	pthread_mutex_unlock(&interp->cpu_limit.stopping);
}

// In a forked child nobody watches, and nobody is waited for.
void gorgon_cpu_limit_end(struct gorgon_interp *interp)
{
	struct gorgon_cpu_limit *limit = &interp->cpu_limit;

	if (limit->watcher != getpid())
		return;
	sem_post(&limit->end);
	pthread_join(limit->thread, NULL);
	sem_destroy(&limit->end);
	pthread_mutex_destroy(&limit->stopping);
	limit->watcher = 0;
}
