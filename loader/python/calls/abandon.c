// SPDX-License-Identifier: MIT
// Abandoning an interpreter: none of its Python code runs any more, and its memory stays.
//
// Its threads are parked where its CPython asks for a lock (process/threads/parking.c). Calls of
// the host return GORGON_ERROR_ABANDONED from there. So that all threads come to such a place,
// signals end the blocking calls that the host's threads are in, and a thread of ours asks for the
// GIL: a thread that computes in bytecode hands the GIL over then, and is parked in doing so. If
// the GIL is free, the thread takes it and keeps it. If it is not handed over within milliseconds
// (C code has it), the thread gives up; the request stays, and meets the C code when it comes back
// to Python. In an interpreter that is being finalised nobody may ask for the GIL. There Python
// calls a function of stop.c between two bytecodes, which parks the thread that finalises.
//
// Nothing that the program has of the process is given back but its handlers of signals and its
// timers: its descriptors and its children stay.

#define _GNU_SOURCE
#include "abandon.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/sized.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/interruption.h"
#include "process/kernel/signals.h"
#include "process/kernel/timers.h"
#include "process/sample.h"
#include "process/threads/parking.h"
#include "python/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIL_MS	    9  // CPython asks for the GIL twice within this time
#define THREADS_MAX 6  // that a message names

static uint64_t total; // interpreters that were abandoned so far; atomic

// --- which threads -----------------------------------------------------------------------------

static void append_to_reason(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

static bool name_abandoned_thread(pid_t tid, uint64_t until, bool only_python, char *ret,
				  size_t size)
{
	uint64_t now = gorgon_now();
	struct gorgon_sample sample;
	char text[512];

	gorgon_sample_thread(tid, now < until ? (int)((until - now) / 1000000) : 0, &sample);
	if (only_python && !*sample.python)
		return false;
	snprintf(text, sizeof(text), "%sthread %d%s%s%s%s%s%s%s", *ret ? "; " : "", (int)tid,
		 *sample.thread ? " (" : "", sample.thread, *sample.thread ? ")" : "",
		 *sample.native ? " in " : "", sample.native, *sample.python ? ", " : "",
		 sample.python);
	append_to_reason(ret, size, text);
	return true;
}

size_t gorgon_abandon_list_own(const struct gorgon_interp *interp, pid_t *list, size_t count)
{
	size_t ret = 0;

	gorgon_threads_lock();
	for (const struct gorgon_thread *thread = gorgon_thread_next(NULL); thread && ret < count;
	     thread = gorgon_thread_next(thread))
		if (gorgon_thread_ns(thread) == interp->ns)
			list[ret++] = (pid_t)thread->tid;
	gorgon_threads_unlock();
	return ret;
}

// The time until which a thread may answer: half of what is left, so that a thread that does not
// answer leaves time to others.
static uint64_t abandoning_share(uint64_t until)
{
	uint64_t now = gorgon_now();

	return now < until ? now + (until - now) / 2 : until;
}

void gorgon_abandon_name_threads(struct gorgon_interp *interp, pid_t extra, uint64_t until,
				 char *ret, size_t size)
{
	pid_t list[THREADS_MAX];
	size_t count = gorgon_call_list(interp, list, THREADS_MAX), named = 0, others;

	*ret = 0;
	for (size_t i = 0; i < count; i++)
		named += list[i] != extra &&
			 name_abandoned_thread(list[i], abandoning_share(until), false, ret, size);
	if (extra)
		named += name_abandoned_thread(extra, abandoning_share(until), false, ret, size);
	others = named;
	// Threads of libraries mostly wait for work. So a thread is named if it has Python code; if
	// none has, all are named.
	count = gorgon_abandon_list_own(interp, list, THREADS_MAX);
	for (size_t i = 0; i < count && named < THREADS_MAX; i++)
		named += name_abandoned_thread(list[i], abandoning_share(until), true, ret, size);
	for (size_t i = 0; i < count && others == named; i++)
		name_abandoned_thread(list[i], abandoning_share(until), false, ret, size);
}

// The threads whose turns a limit waits for.
static void list_awaited(struct gorgon_interp *interp, pid_t extra, struct gorgon_awaited *ret)
{
	ret->count = 0;
	if (extra)
		ret->tids[ret->count++] = extra;
	ret->count += gorgon_call_list(interp, ret->tids + ret->count,
				       GORGON_PATIENCE_THREADS - ret->count);
	ret->count += gorgon_abandon_list_own(interp, ret->tids + ret->count,
					      GORGON_PATIENCE_THREADS - ret->count);
	ret->cpu_ns = gorgon_interp_cpu_ns(interp);
}

void gorgon_abandon_patiently(struct gorgon_patience *patience, struct gorgon_interp *interp,
			      pid_t extra, uint64_t limit_ns)
{
	struct gorgon_awaited awaited;

	list_awaited(interp, extra, &awaited);
	gorgon_patience_begin(patience, limit_ns, &awaited);
}

uint64_t gorgon_abandon_later(struct gorgon_patience *patience, struct gorgon_interp *interp,
			      pid_t extra)
{
	struct gorgon_awaited awaited;

	list_awaited(interp, extra, &awaited);
	return gorgon_patience_look(patience, &awaited);
}

// --- abandoning ----------------------------------------------------------------------------------

static void show_abandoned(struct gorgon_interp *interp)
{
	gorgon_threads_lock();
	gorgon_debug_begin();
	interp->ns->debug.state = GORGON_DEBUG_NS_ABANDONED;
	gorgon_debug_touch(&interp->ns->debug);
	gorgon_debug_end();
	gorgon_threads_unlock();
}

// The state becomes ABANDONED. False: there is nothing to abandon.
static bool mark_abandoned(struct gorgon_interp *interp, const char *why,
			   enum gorgon_interp_state *before)
{
	struct gorgon_calls *calls = &interp->calls;
	bool ret;

	pthread_mutex_lock(&calls->lock);
	*before = calls->state;
	ret = *before != GORGON_INTERP_CREATED && *before != GORGON_INTERP_ENDED &&
	      *before != GORGON_INTERP_ABANDONED;
	if (ret) {
		snprintf(calls->why, sizeof(calls->why), "%s", why);
		calls->state = GORGON_INTERP_ABANDONED;
		calls->abandoning++;
		gorgon_parking_abandon(interp->ns);
	}
	pthread_mutex_unlock(&calls->lock);
	if (!ret)
		return false;
	__atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
	gorgon_signals_silence(interp->ns->signals);
	gorgon_timers_abandon(interp->ns);
	show_abandoned(interp);
	return true;
}

// Whether Python is up, and another thread may ask for its GIL.
static bool may_take_gil(const struct gorgon_interp *interp, enum gorgon_interp_state before)
{
	return (before == GORGON_INTERP_STARTED || before == GORGON_INTERP_RUNNING ||
		before == GORGON_INTERP_STOPPING) &&
	       gorgon_interp_says_yes(interp, "Py_IsInitialized") &&
	       !gorgon_interp_is_finalizing(interp);
}

static struct gorgon_error *keep_gil(struct gorgon_interp *interp, void *ctx)
{
	__typeof__(&PyGILState_Ensure) ensure =
		(__typeof__(&PyGILState_Ensure))gorgon_interp_find_api(interp, "PyGILState_Ensure");

	gorgon_parking_set_deadline(ctx);
	gorgon_usage_exempt(true);
	if (ensure)
		ensure();
	return NULL;
}

// Returns whether this thread has the GIL now.
static bool take_gil(struct gorgon_interp *interp)
{
	static const struct gorgon_transition states = {
		GORGON_INTERP_ABANDONED, GORGON_INTERP_ABANDONED, GORGON_INTERP_ABANDONED,
		GORGON_INTERP_ABANDONED};
	struct gorgon_gil_deadline deadline = {
		interp->ns, gorgon_now() + GIL_MS * UINT64_C(1000000), gorgon_call_give_up, false};
	bool exempt = gorgon_usage_exempt(true);
	struct gorgon_error *err = gorgon_call_protect(interp, &states, keep_gil, &deadline, NULL);

	gorgon_usage_exempt(exempt);
	gorgon_error_destroy(err);
	return !err;
}

// Send signals to the threads of entries, until they are parked, or for ten seconds.
static void wake_entries(struct gorgon_interp *interp)
{
	struct gorgon_interruption *state =
		gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part);

	// A thread leaves under the lock, and takes its request back then: otherwise blocking calls
	// of the host's would end on it.
	pthread_mutex_lock(&interp->calls.lock);
	for (const struct gorgon_call *call = interp->calls.newest; call; call = call->next)
		if (call->first)
			gorgon_interruption_request(state, call->thread);
	pthread_mutex_unlock(&interp->calls.lock);
}

static void finish_abandoning(struct gorgon_interp *interp, enum gorgon_interp_state before)
{
	wake_entries(interp);
	// A thread that was just taking the GIL when another asked for it has missed that. It is
	// parked when it is asked again.
	if (may_take_gil(interp, before) && !take_gil(interp))
		take_gil(interp);
	pthread_mutex_lock(&interp->calls.lock);
	interp->calls.abandoning--;
	pthread_cond_broadcast(&interp->calls.ended);
	pthread_mutex_unlock(&interp->calls.lock);
}

void gorgon_abandon(struct gorgon_interp *interp, const char *why)
{
	enum gorgon_interp_state before;

	if (mark_abandoned(interp, why, &before))
		finish_abandoning(interp, before);
}

// --- after a fault
// ---------------------------------------------------------------------------------

struct abandonment {
	struct gorgon_interp *interp;
	enum gorgon_interp_state before;
};

static void *run_abandonment(void *arg)
{
	struct abandonment abandonment = *(struct abandonment *)arg;

	free(arg);
	finish_abandoning(abandonment.interp, abandonment.before);
	return NULL;
}

// This runs on a thread that has left the code of the interpreter for good, and may have its GIL:
// so another thread does the rest. If that thread cannot be made, threads are parked as soon as
// they come out of a blocking call.
void gorgon_abandon_on_fault(void *ctx, const char *text)
{
	struct abandonment *abandonment = malloc(sizeof(*abandonment));
	struct gorgon_interp *interp = ctx;
	enum gorgon_interp_state before;
	pthread_attr_t attr;
	pthread_t thread;
	char why[512];
	int err;

	// The reason is the first line of the report, without the library's name.
	if (!strncmp(text, "gorgon: ", 8))
		text += 8;
	snprintf(why, sizeof(why), "%.*s", (int)strcspn(text, "\n"), text);
	if (!mark_abandoned(interp, why, &before)) {
		free(abandonment);
		return;
	}
	err = abandonment ? pthread_attr_init(&attr) : ENOMEM;
	if (!err) {
		*abandonment = (struct abandonment){interp, before};
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, run_abandonment, abandonment);
		pthread_attr_destroy(&attr);
	}
	if (!err)
		return;
	free(abandonment);
	pthread_mutex_lock(&interp->calls.lock);
	interp->calls.abandoning--;
	pthread_mutex_unlock(&interp->calls.lock);
}

// --- statistics
// ------------------------------------------------------------------------------------

// Pages of its objects, of what it has mapped, and of its threads' stacks. Few of its threads still
// run, so the pages are counted again only after something was mapped or a thread has ended.
static struct gorgon_error *count_kept_pages(struct gorgon_interp *interp, uint64_t *ret)
{
	struct gorgon_resident_pages *kept = &interp->kept_pages;
	uint64_t mapped_bytes = __atomic_load_n(&interp->ns->usage.mapped_bytes, __ATOMIC_RELAXED);
	struct gorgon_resident resident;
	struct gorgon_error *err;

	if (!kept->bytes || kept->mapped_bytes != mapped_bytes ||
	    kept->thread_count != interp->ns->thread_count) {
		if ((err = gorgon_stats_memory(interp->ns, &resident)))
			return err;
		*kept = (struct gorgon_resident_pages){
			resident.private_bytes + resident.mapped_bytes + resident.stack_bytes,
			mapped_bytes, interp->ns->thread_count};
	}
	*ret = kept->bytes;
	return NULL;
}

struct gorgon_error *gorgon_abandoned_get_stats(struct gorgon_abandoned_stats *ret)
{
	struct gorgon_abandoned_stats stats = {.total_count =
						       __atomic_load_n(&total, __ATOMIC_RELAXED)};
	struct gorgon_error *err = NULL;

	gorgon_lock();
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns && !err; ns = gorgon_ns_next(ns)) {
		struct gorgon_interp *interp = ns->user.ctx;
		uint64_t pages;

		if (!gorgon_parking_is_abandoned(ns) || !interp ||
		    (err = count_kept_pages(interp, &pages)))
			continue;
		stats.count++;
		stats.thread_count += ns->thread_count;
		stats.bytes += pages + gorgon_usage_held(&ns->usage) -
			       __atomic_load_n(&ns->usage.mapped_bytes, __ATOMIC_RELAXED);
	}
	gorgon_unlock();
	return err ?: gorgon_sized_write("gorgon_abandoned_stats", &stats, ret, sizeof(stats));
}
