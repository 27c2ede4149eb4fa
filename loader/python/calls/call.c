// SPDX-License-Identifier: MIT
// Entering and leaving an interpreter: which threads of the host are in it, and what exit() does
// there.
//
// Each entry is a record on the stack of its thread, in a list of the interpreter. While
// the list is not empty nothing finalises or unloads the interpreter. Before stop.c finalises it,
// new entries are refused, so that no thread waits for the GIL of an interpreter that is gone.
//
// exit() in private code calls gorgon_call_exit(), which jumps back to the first entry of
// the thread. The jump skips the frames of CPython in between, and those of host functions that
// CPython had called; the interpreter has ended then. On a thread without an entry exit()
// ends the thread.
//
// Each interpreter has a lock for its calls. A thread that holds it may take the lock of the list
// of threads (ns/thread.c), and never takes a lock of CPython's.

#define _GNU_SOURCE
#include "exception.h"
#include "held.h"
#include "interrupt.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/usage.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/interruption.h"
#include "process/kernel/signals.h"
#include "process/libc/locales.h"
#include "process/process.h"
#include "process/threads/altstack.h"
#include "process/threads/parking.h"
#include "process/threads/shield.h"
#include "python/api.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void lock_calls(struct gorgon_interp *interp)
{
	pthread_mutex_lock(&interp->calls.lock);
}

static void unlock_calls(struct gorgon_interp *interp)
{
	pthread_mutex_unlock(&interp->calls.lock);
}

static void init_call_ended(struct gorgon_calls *calls)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&calls->ended, &attr);
	pthread_condattr_destroy(&attr);
}

void gorgon_calls_init(struct gorgon_calls *calls)
{
	pthread_mutex_init(&calls->lock, NULL);
	init_call_ended(calls);
}

void gorgon_calls_deinit(struct gorgon_calls *calls)
{
	pthread_cond_destroy(&calls->ended);
	pthread_mutex_destroy(&calls->lock);
}

void gorgon_calls_before_fork(struct gorgon_calls *calls)
{
	pthread_mutex_lock(&calls->lock);
}

void gorgon_calls_after_fork(struct gorgon_calls *calls, bool child)
{
	struct gorgon_call **p = &calls->newest;

	// Other threads of the parent do not exist here. The condition has counted those that
	// waited for it, so it is made anew.
	if (child) {
		init_call_ended(calls);
		calls->abandoning = calls->senders = calls->finishers = calls->comers = 0;
		while (*p)
			if (pthread_equal((*p)->thread, pthread_self()))
				p = &(*p)->next;
			else {
				*p = (*p)->next;
				gorgon_calls_lose(calls);
			}
	}
	pthread_mutex_unlock(&calls->lock);
}

void gorgon_calls_lose(struct gorgon_calls *calls)
{
	calls->lost = calls->unsure = true;
}

struct gorgon_error *gorgon_call_refusal(const struct gorgon_interp *interp, unsigned state)
{
	static const char *const texts[] = {
		[GORGON_INTERP_CREATED] = "is not started",
		[GORGON_INTERP_RUNNING] = "its program is running",
		[GORGON_INTERP_STARTING] = "is being started",
		[GORGON_INTERP_STARTED] = "is started",
		[GORGON_INTERP_STOPPING] = "is being stopped",
		[GORGON_INTERP_FINALISING] = "is being stopped",
		[GORGON_INTERP_ENDED] = "has ended, and cannot be started again",
	};

	if (state == GORGON_INTERP_ABANDONED) // the reason does not change any more
		return gorgon_error_create(GORGON_ERROR_ABANDONED,
					   "interpreter %u: was abandoned: %s", interp->number,
					   interp->calls.why);
	if (state == GORGON_INTERP_ENDED && *interp->calls.why) // nor does this one
		return gorgon_error_create(GORGON_ERROR_BUSY, "interpreter %u: was stopped: %s",
					   interp->number, interp->calls.why);
	return gorgon_error_create(GORGON_ERROR_BUSY, "interpreter %u: %s", interp->number,
				   texts[state]);
}

// The lock is held.
static void abandon_in_child(struct gorgon_interp *interp)
{
	snprintf(interp->calls.why, sizeof(interp->calls.why), "%s",
		 "this process was forked, and other threads were in the interpreter that are not "
		 "here");
	interp->calls.state = GORGON_INTERP_ABANDONED;
	gorgon_parking_abandon(interp->ns);
}

void gorgon_call_abandon_lost(struct gorgon_interp *interp)
{
	lock_calls(interp);
	if (interp->calls.lost && interp->calls.state != GORGON_INTERP_CREATED &&
	    interp->calls.state != GORGON_INTERP_ENDED &&
	    interp->calls.state != GORGON_INTERP_ABANDONED)
		abandon_in_child(interp);
	unlock_calls(interp);
}

void gorgon_call_explain(struct gorgon_interp *interp, const char *why)
{
	lock_calls(interp);
	if (interp->calls.state == GORGON_INTERP_STARTED ||
	    interp->calls.state == GORGON_INTERP_RUNNING)
		snprintf(interp->calls.why, sizeof(interp->calls.why), "%s", why);
	unlock_calls(interp);
}

// The newest entry of this thread, into whichever interpreter.
static __thread struct gorgon_call *newest __attribute__((tls_model("initial-exec")));

// The first entry of this thread into an interpreter, or NULL.
static struct gorgon_call *find_own_call(const struct gorgon_interp *interp)
{
	struct gorgon_call *ret = NULL;

	for (struct gorgon_call *call = newest; call; call = call->outer)
		if (call->interp == interp)
			ret = call;
	return ret;
}

bool gorgon_call_is_inside(const struct gorgon_interp *interp)
{
	return find_own_call(interp);
}

unsigned gorgon_call_state(struct gorgon_interp *interp)
{
	enum gorgon_interp_state ret;

	lock_calls(interp);
	ret = interp->calls.state;
	unlock_calls(interp);
	return ret;
}

// A thread with an entry in the list is alive. In a forked child the others are not there, and have
// no clock.
uint64_t gorgon_call_cpu_ns(struct gorgon_interp *interp)
{
	uint64_t ret;
	clockid_t clock;

	lock_calls(interp);
	ret = __atomic_load_n(&interp->calls.cpu_ns, __ATOMIC_RELAXED);
	for (struct gorgon_call *call = interp->calls.newest; call; call = call->next)
		if (call->first && !gorgon_call_is_forked(interp) &&
		    !pthread_getcpuclockid(call->thread, &clock))
			ret += gorgon_clock_ns(clock) - call->cpu_ns;
	unlock_calls(interp);
	return ret;
}

uint64_t gorgon_interp_cpu_ns(struct gorgon_interp *interp)
{
	return gorgon_call_cpu_ns(interp) + gorgon_threads_cpu_ns(interp->ns);
}

bool gorgon_call_is_forked(const struct gorgon_interp *interp)
{
	return interp->calls.pid != getpid();
}

// How the code of an entry has come back.
enum way {
	RETURNED,
	EXITED,	   // it has called exit()
	ABANDONED, // the interpreter was abandoned
	GAVE_UP,   // the GIL was not free in time
};

// --- entries --------------------------------------------------------------------------

// What the next entry of this thread runs.
static __thread struct gorgon_job_name next_job __attribute__((tls_model("initial-exec")));

// The newest entry has changed; under the lock.
static void show_calls_job(struct gorgon_calls *calls)
{
	const struct gorgon_job_name none = {NULL, NULL},
				     *job = calls->newest ? &calls->newest->job : &none;

	const char *const parts[] = {job->module, job->module && job->function ? "." : NULL,
				     job->function};
	size_t size = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (const char *c = parts[i]; c && *c && size < sizeof(calls->job) - 1; c++)
			calls->job[size++] = *c;
	calls->job[size] = 0;
}

void gorgon_call_get_job(struct gorgon_interp *interp, char ret[GORGON_DEBUG_TEXT_SIZE])
{
	lock_calls(interp);
	memcpy(ret, interp->calls.job, GORGON_DEBUG_TEXT_SIZE);
	unlock_calls(interp);
}

static struct gorgon_error *push_call(struct gorgon_interp *interp, struct gorgon_call *call,
				      const struct gorgon_transition *states)
{
	uint64_t thread = gorgon_thread_serial(); // may take the loader's lock
	const struct gorgon_thread *record = gorgon_thread_peek();

	lock_calls(interp);
	if (interp->calls.state != states->from) {
		enum gorgon_interp_state state = interp->calls.state;

		unlock_calls(interp);
		return gorgon_call_refusal(interp, state);
	}
	interp->calls.state = states->during;
	if (states->from == GORGON_INTERP_CREATED) {
		interp->calls.main_thread = thread;
		interp->calls.pid = getpid();
	}
	*call = (struct gorgon_call){
		.next = interp->calls.newest,
		.outer = newest,
		.interp = interp,
		.thread = pthread_self(),
		.cpu_ns = gorgon_clock_ns(CLOCK_THREAD_CPUTIME_ID),
		.tid = record ? (pid_t)record->tid : gettid(),
		.on_main_thread = thread && interp->calls.main_thread == thread,
		.first = !find_own_call(interp),
		.closed = states->during == GORGON_INTERP_STOPPING ||
			  states->during == GORGON_INTERP_FINALISING,
		.job = next_job,
	};
	// A worker's thread is Python's main thread. Entries of other threads, and the one that
	// stops the interpreter, are not the job that is meant.
	if (call->on_main_thread && !call->closed) {
		call->interrupted = interp->calls.interrupt_next;
		interp->calls.interrupt_next = false;
	}
	next_job = (struct gorgon_job_name){NULL, NULL};
	interp->calls.newest = newest = call;
	if (call->job.module || call->job.function)
		show_calls_job(&interp->calls);
	unlock_calls(interp);
	return NULL;
}

// The state becomes @to, unless another thread has changed it meanwhile.
static void pop_call(struct gorgon_call *call, enum gorgon_interp_state during,
		     enum gorgon_interp_state to)
{
	struct gorgon_interp *interp = call->interp;
	struct gorgon_call **p = &interp->calls.newest;

	lock_calls(interp);
	while (*p != call)
		p = &(*p)->next;
	*p = call->next;
	if (call->job.module || call->job.function)
		show_calls_job(&interp->calls);
	newest = call->outer;
	if (call->first)
		__atomic_add_fetch(&interp->calls.cpu_ns,
				   gorgon_clock_ns(CLOCK_THREAD_CPUTIME_ID) - call->cpu_ns,
				   __ATOMIC_RELAXED);
	if (call->first && interp->calls.state == GORGON_INTERP_ABANDONED)
		gorgon_interruption_take(
			gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part));
	else if (interp->calls.state != GORGON_INTERP_ABANDONED &&
		 (interp->calls.state == during || to == GORGON_INTERP_ENDED))
		interp->calls.state = to;
	pthread_cond_broadcast(&interp->calls.ended);
	unlock_calls(interp);
}

// Its own function, so that no local of the caller lives across the jump.
static __attribute__((noinline)) enum way run_function(struct gorgon_call *call, gorgon_call_fn *fn,
						       void *ctx, struct gorgon_error **err)
{
	enum way way = (enum way)setjmp(call->exit_env);

	if (way == RETURNED)
		*err = fn(call->interp, ctx);
	return way;
}

// Frames of the host must not be skipped. If the thread's newest entry is into another interpreter,
// it leaves this interpreter's entry when it comes back to that.
void gorgon_call_park(void *ctx)
{
	if (newest && newest->interp == ctx && !newest->left)
		longjmp(newest->exit_env, ABANDONED);
}

void gorgon_call_give_up(void)
{
	longjmp(newest->exit_env, GAVE_UP);
}

// The code that called exit() may have held the GIL, and other calls wait for it: this copy
// of CPython is not finalised. Threads of a program (gorgon_interp_main()) stay where they
// are, as they would end with a python3.
static void release_calls_gil(struct gorgon_interp *interp)
{
	struct gorgon_gil_deadline here = {
		.ns = interp->ns,
		.until = UINT64_MAX}; // this thread is neither parked nor gives up
	// This function is not a part of the stable ABI, but all versions have it.
	int (*has_gil)(void) = (int (*)(void))gorgon_interp_find_symbol(interp, "PyGILState_Check");

	gorgon_parking_set_deadline(&here);
	if (!gorgon_parking_is_abandoned(interp->ns) && interp->api &&
	    API(interp, Py_IsInitialized)() && has_gil && has_gil())
		API(interp, PyEval_SaveThread)();
	gorgon_parking_set_deadline(NULL);
}

// An exit() skips the entries into other interpreters, too, that this thread has made since: their
// copies of CPython cannot go on without their frames. They end before the jump, as they are on the
// stack.
static void skip_call_entries(struct gorgon_call *call)
{
	while (newest != call) {
		release_calls_gil(newest->interp);
		pop_call(newest, GORGON_INTERP_ENDED, GORGON_INTERP_ENDED);
	}
}

void gorgon_call_exit(void *ctx, int status)
{
	struct gorgon_interp *interp = ctx;
	struct gorgon_call *call = find_own_call(interp);

	// In a forked child the program's exit() ends the process.
	if (gorgon_call_is_forked(interp))
		gorgon_process_leave(interp->ns, status);
	if (!call)
		return;
	call->exit_status = status & 0xff;
	skip_call_entries(call);
	longjmp(call->exit_env, EXITED);
}

static sigset_t wake_set(void)
{
	sigset_t ret;

	sigemptyset(&ret);
	sigaddset(&ret, GORGON_SIGNAL_WAKE);
	return ret;
}

// Returns whether the thread blocked the signal that ends blocking calls.
static bool unblock_wake(void)
{
	const sigset_t wake = wake_set();
	sigset_t before;

	return !pthread_sigmask(SIG_UNBLOCK, &wake, &before) &&
	       sigismember(&before, GORGON_SIGNAL_WAKE);
}

// Nobody asks for a signal to the thread any more. One that was being sent comes here, not to a
// sigwait() of the host's.
static void block_wake(void)
{
	const sigset_t wake = wake_set();

	gorgon_threads_lock();
	gorgon_threads_unlock();
	sched_yield(); // any system call delivers it
	pthread_sigmask(SIG_BLOCK, &wake, NULL);
}

static void enter_call(struct gorgon_call *call, struct gorgon_signals **outer)
{
	if (!call->on_main_thread)
		return;
	*outer = gorgon_signals_enter(call->interp->ns->signals);
	lock_calls(call->interp);
	call->entered = true;
	__atomic_add_fetch(&call->interp->calls.main_entries, 1, __ATOMIC_RELEASE);
	unlock_calls(call->interp);
}

// Signals are sent without the lock: otherwise a thread that interrupts without pause would keep an
// entry from taking it. So the last entry of the main thread waits for signals that are being sent.
// In a forked child no other thread exists, and nobody is waited for. The caller holds the lock.
static void wait_for_senders(const struct gorgon_call *call)
{
	struct gorgon_interp *interp = call->interp;

	while (call->on_main_thread && call->first && interp->calls.senders &&
	       !gorgon_call_is_forked(interp))
		pthread_cond_wait(&interp->calls.ended, &interp->calls.lock);
}

// No interrupt comes to the entry after this: no thread begins to send another. Returns whether the
// entry was interrupted.
static bool close_call(struct gorgon_call *call)
{
	struct gorgon_interp *interp = call->interp;
	bool ret;

	lock_calls(interp);
	call->closed = true;
	wait_for_senders(call);
	ret = call->interrupted;
	unlock_calls(interp);
	return ret;
}

static void leave_call(struct gorgon_call *call, struct gorgon_signals *outer)
{
	close_call(call);
	if (call->on_main_thread)
		__atomic_sub_fetch(&call->interp->calls.main_entries, 1, __ATOMIC_RELEASE);
	if (call->on_main_thread)
		gorgon_signals_leave(call->interp->ns->signals, outer, call->first);
}

struct gorgon_error *gorgon_call_protect(struct gorgon_interp *interp,
					 const struct gorgon_transition *states,
					 gorgon_call_fn *fn, void *ctx, int *exit_status)
{
	struct gorgon_signals *outer_signals = NULL;
	struct gorgon_shields outer_shields;
	struct gorgon_error *err;
	struct gorgon_call call;
	void *outer_locale;
	bool exempt, blocked;
	enum way way;

	if ((err = push_call(interp, &call, states)))
		return err;
	if (states->from == GORGON_INTERP_CREATED)
		gorgon_interrupt_set_main(interp);
	blocked = unblock_wake();
	enter_call(&call, &outer_signals);
	gorgon_altstack_provide(gorgon_thread_peek());
	outer_locale = gorgon_locale_enter(interp->ns->locale);
	exempt = gorgon_usage_exempt(false);
	gorgon_usage_exempt(exempt);
	outer_shields = gorgon_shields_enter();
	way = run_function(&call, fn, ctx, &err);
	gorgon_shields_leave(outer_shields);
	call.left = true;
	gorgon_parking_set_deadline(NULL);
	if (way == EXITED)
		release_calls_gil(interp);
	if (way != RETURNED)
		gorgon_usage_exempt(exempt);
	gorgon_locale_leave(outer_locale);
	leave_call(&call, outer_signals);
	if (blocked)
		block_wake();
	__atomic_add_fetch(&interp->calls.count, 1, __ATOMIC_RELAXED);
	// After pop_call() another thread may destroy the interpreter.
	if (way == ABANDONED)
		err = gorgon_call_refusal(interp, GORGON_INTERP_ABANDONED);
	else if (way == GAVE_UP && __atomic_load_n(&interp->calls.unsure, __ATOMIC_RELAXED)) {
		gorgon_call_abandon_lost(interp);
		err = gorgon_call_refusal(interp, GORGON_INTERP_ABANDONED);
	} else if (way == GAVE_UP)
		err = gorgon_error_create(GORGON_ERROR_BUSY,
					  "interpreter %u: its GIL was not free in time",
					  interp->number);
	else if (way == EXITED && !exit_status)
		err = gorgon_error_create(GORGON_ERROR_PYTHON,
					  "interpreter %u: its code has called exit(%d)",
					  interp->number, call.exit_status);
	pop_call(&call, states->during,
		 way == EXITED ? GORGON_INTERP_ENDED
		 : err         ? states->failed
			       : states->after);
	if (way == EXITED && exit_status)
		*exit_status = call.exit_status;
	return err;
}

// --- with the GIL ---------------------------------------------------------------------

struct python_call {
	gorgon_call_fn *fn;
	void *ctx;
};

static bool is_call_interrupted(struct gorgon_interp *interp, const struct gorgon_call *call)
{
	bool ret;

	lock_calls(interp);
	ret = call->interrupted;
	unlock_calls(interp);
	return ret;
}

// The GIL is held, which orders this with throw_into_threads(). The first entry of a thread takes
// back interrupts that it has not noticed; an entry within another entry leaves them to that.
static void take_back(struct gorgon_interp *interp, const struct gorgon_call *call)
{
	const struct gorgon_api *api = interp->api;

	if (!call->first)
		return;
	gorgon_interrupt_take_back(interp);
	if (!call->on_main_thread)
		return;
	// The signals are queued after wait_for_senders(): any system call delivers them.
	sched_yield();
	if (api->PyErr_CheckSignals())
		api->PyErr_Clear();
}

void gorgon_call_close(struct gorgon_interp *interp)
{
	struct gorgon_call *call = newest;

	if (close_call(call))
		take_back(interp, call);
}

// The entry whose code runs on this thread. NULL: Python has started the thread, or the interpreter
// is the host's own.
static struct gorgon_call *find_running_call(const struct gorgon_interp *interp)
{
	return newest && newest->interp == interp ? newest : NULL;
}

void gorgon_call_begin_inner(const struct gorgon_interp *interp)
{
	struct gorgon_call *call = find_running_call(interp);

	if (call)
		call->goes_on++;
}

void gorgon_call_end_inner(const struct gorgon_interp *interp)
{
	struct gorgon_call *call = find_running_call(interp);

	if (call)
		call->goes_on--;
}

// Interrupts that came before do not take the place of the text, unless the entry goes on.
static void begin_text(struct gorgon_interp *interp, struct gorgon_call *call)
{
	bool interrupted;

	lock_calls(interp);
	call->text_ns = gorgon_now();
	call->text_cpu_ns = gorgon_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	wait_for_senders(call);
	interrupted = call->interrupted && !call->goes_on;
	if (interrupted)
		call->interrupted = false;
	unlock_calls(interp);
	if (interrupted)
		take_back(interp, call);
}

static void end_text(struct gorgon_interp *interp, struct gorgon_call *call)
{
	lock_calls(interp);
	call->text_ns = 0;
	call->closed |= !call->goes_on;
	if (call->put_off)
		pthread_cond_broadcast(&interp->calls.ended);
	unlock_calls(interp);
	if (!call->goes_on)
		gorgon_call_close(interp);
}

struct gorgon_error *gorgon_call_fail(struct gorgon_interp *interp)
{
	PyObject *type, *value, *traceback;
	// Making the text of a MemoryError needs memory.
	bool exempt = gorgon_usage_exempt(true);
	struct gorgon_call *call = find_running_call(interp);
	struct gorgon_error *err;

	interp->api->PyErr_Fetch(&type, &value, &traceback);
	if (call)
		begin_text(interp, call);
	err = gorgon_exception_text(interp, type, value, traceback);
	if (call)
		end_text(interp, call);
	gorgon_usage_exempt(exempt);
	return err;
}

struct gorgon_error *gorgon_call_result(struct gorgon_interp *interp, PyObject *object,
					PyObject **ret)
{
	*ret = object;
	return object ? NULL : gorgon_call_fail(interp);
}

static struct gorgon_error *with_gil(struct gorgon_interp *interp, void *ctx)
{
	const struct gorgon_api *api = interp->api;
	const struct python_call *inner = ctx;
	struct gorgon_call *call = newest;
	// PyGILState_Ensure() ends the process if there is no memory for the thread's state.
	bool exempt = gorgon_usage_exempt(true);
	uint64_t before_ns = gorgon_now();
	PyGILState_STATE gil = api->PyGILState_Ensure();
	struct gorgon_error *err;

	gorgon_parking_set_deadline(NULL);
	__atomic_store_n(&interp->calls.unsure, false, __ATOMIC_RELAXED);
	gorgon_usage_exempt(exempt);
	__atomic_add_fetch(&interp->calls.gil_wait_ns, gorgon_now() - before_ns, __ATOMIC_RELAXED);
	// An interrupt that a destructor has swallowed is still meant for the call.
	gorgon_held_drain(interp);
	if (is_call_interrupted(interp, call)) {
		api->PyErr_SetNone(*api->PyExc_KeyboardInterrupt);
		err = gorgon_call_fail(interp);
	} else {
		err = inner->fn(interp, inner->ctx);
	}
	gorgon_call_close(interp);
	api->PyGILState_Release(gil);
	return err;
}

#define CHILD_MS 50 // CPython asks for the GIL several times within this time

struct timed {
	struct python_call call;
	struct gorgon_gil_deadline deadline;
};

static struct gorgon_error *with_gil_until(struct gorgon_interp *interp, void *ctx)
{
	struct timed *timed = ctx;

	gorgon_parking_set_deadline(&timed->deadline);
	return with_gil(interp, &timed->call);
}

struct gorgon_error *gorgon_call_python(struct gorgon_interp *interp, gorgon_call_fn *fn,
					void *ctx)
{
	static const struct gorgon_transition states = {
		GORGON_INTERP_STARTED, GORGON_INTERP_STARTED, GORGON_INTERP_STARTED,
		GORGON_INTERP_STARTED};
	struct timed call = {{fn, ctx}, {interp->ns, 0, gorgon_call_give_up, false}};

	if (!__atomic_load_n(&interp->calls.unsure, __ATOMIC_RELAXED))
		return gorgon_call_protect(interp, &states, with_gil, &call.call, NULL);
	// If nobody gives the GIL up within moments, a thread has it that is not here.
	call.deadline.until = gorgon_now() + CHILD_MS * UINT64_C(1000000);
	return gorgon_call_protect(interp, &states, with_gil_until, &call, NULL);
}

struct gorgon_error *gorgon_call_job(struct gorgon_interp *interp, struct gorgon_job_name name,
				     gorgon_call_fn *fn, void *ctx)
{
	struct gorgon_error *err;

	next_job = name;
	err = gorgon_call_python(interp, fn, ctx);
	next_job = (struct gorgon_job_name){NULL, NULL}; // of an entry that was refused
	return err;
}

struct gorgon_error *gorgon_call_python_until(struct gorgon_interp *interp, uint64_t until,
					      gorgon_call_fn *fn, void *ctx)
{
	static const struct gorgon_transition states = {
		GORGON_INTERP_STOPPING, GORGON_INTERP_STOPPING, GORGON_INTERP_STOPPING,
		GORGON_INTERP_STOPPING};
	struct timed timed = {{fn, ctx}, {interp->ns, until, gorgon_call_give_up, false}};

	return gorgon_call_protect(interp, &states, until ? with_gil_until : with_gil,
				   until ? (void *)&timed : &timed.call, NULL);
}

// --- who is in it ----------------------------------------------------------------------

bool gorgon_call_come(struct gorgon_interp *interp)
{
	bool ret = !pthread_mutex_trylock(&interp->calls.lock);

	if (!ret)
		return false;
	ret = interp->calls.state == GORGON_INTERP_STARTED && !interp->calls.comers;
	interp->calls.comers += ret;
	unlock_calls(interp);
	return ret;
}

void gorgon_call_came(struct gorgon_interp *interp)
{
	lock_calls(interp);
	interp->calls.comers--;
	pthread_cond_broadcast(&interp->calls.ended);
	unlock_calls(interp);
}

void gorgon_call_settle(struct gorgon_interp *interp)
{
	lock_calls(interp);
	while (interp->calls.comers)
		pthread_cond_wait(&interp->calls.ended, &interp->calls.lock);
	unlock_calls(interp);
}

size_t gorgon_call_list(struct gorgon_interp *interp, pid_t *list, size_t count)
{
	size_t ret = 0;

	lock_calls(interp);
	for (const struct gorgon_call *call = interp->calls.newest; call && ret < count;
	     call = call->next)
		if (call->first)
			list[ret++] = call->tid;
	unlock_calls(interp);
	return ret;
}
