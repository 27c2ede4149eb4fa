// SPDX-License-Identifier: MIT
// Stopping Python, with or without a limit of time.
//
// Without a limit the calling thread finalises, as python3 does at its end. With a limit it may
// not: a thread that joins another, a function of atexit or a finaliser may never come back. So a
// thread of ours, the finisher, finalises, and the calling thread watches it. Calls and threads of
// the program have half of the time to end by themselves. Then they are interrupted, again and
// again. When the time is up, what still runs is named, and the interpreter is abandoned.
//
// The finisher does what Py_FinalizeEx() does first, joining threads and calling functions of
// atexit, as a call: other threads can interrupt threads of the program meanwhile, for which they
// need the GIL. Once Py_FinalizeEx() runs nobody else may ask for the GIL. The finisher is the main
// thread to Python, which calls a function for us on it between two bytecodes: that raises the
// interrupt, or parks the thread. In blocking calls functions of atexit are reached as any thread
// is (interrupt.c); finalisers are not, because Python has no handlers of signals any more.

#define _GNU_SOURCE
#include "abandon.h"
#include "held.h"
#include "interrupt.h"
#include "limits.h"
#include "state.h"
#include "base/clock.h"
#include "base/error.h"
#include "dl/namespace.h"
#include "ns/ns.h"
#include "process/interruption.h"
#include "process/kernel/signals.h"
#include "process/part.h"
#include "process/threads/parking.h"
#include "process/threads/shield.h"
#include "python/api.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS	 UINT64_C(1000000)
#define AGAIN_MS 20 // between interrupts
#define GIL_MS	 15 // as long an interrupt waits for the GIL

// threads are asked where they are so long before the limit ends, or an eighth of the limit if that
// is less
#define BEFORE_MS 40
#define NAMING_MS 60 // after its end threads may still answer

// --- calls until then ---------------------------------------------------------------------------

// Refuse new entries into a started interpreter: it is STOPPING.
static struct gorgon_error *refuse_calls(struct gorgon_interp *interp)
{
	enum gorgon_interp_state state;

	pthread_mutex_lock(&interp->calls.lock);
	state = interp->calls.state;
	if (state == GORGON_INTERP_STARTED)
		interp->calls.state = GORGON_INTERP_STOPPING;
	pthread_mutex_unlock(&interp->calls.lock);
	return state == GORGON_INTERP_STARTED ? NULL : gorgon_call_refusal(interp, state);
}

// Take back that calls are refused.
static void accept_calls(struct gorgon_interp *interp)
{
	pthread_mutex_lock(&interp->calls.lock);
	if (interp->calls.state == GORGON_INTERP_STOPPING)
		interp->calls.state = GORGON_INTERP_STARTED;
	pthread_mutex_unlock(&interp->calls.lock);
}

// The interpreter is FINALISING, and has no entries. False: it was not STOPPING any more.
static bool begin_finalising(struct gorgon_interp *interp)
{
	bool ret;

	pthread_mutex_lock(&interp->calls.lock);
	ret = interp->calls.state == GORGON_INTERP_STOPPING;
	if (ret)
		interp->calls.state = GORGON_INTERP_FINALISING;
	// Threads that interrupt have entries, too, while they wait for the GIL.
	while (ret && interp->calls.newest)
		pthread_cond_wait(&interp->calls.ended, &interp->calls.lock);
	pthread_mutex_unlock(&interp->calls.lock);
	return ret;
}

// Wait until no thread is in a call of the interpreter, at most until the time @until of
// gorgon_now(). Returns whether no thread is.
static bool wait_for_calls(struct gorgon_interp *interp, uint64_t until)
{
	const struct timespec deadline = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
	bool ret;

	pthread_mutex_lock(&interp->calls.lock);
	while (interp->calls.newest &&
	       !pthread_cond_timedwait(&interp->calls.ended, &interp->calls.lock, &deadline))
		continue;
	ret = !interp->calls.newest;
	pthread_mutex_unlock(&interp->calls.lock);
	return ret;
}

// Refuse new entries into a started interpreter: it is STOPPING. Then wait until there are no
// entries, @timeout_ms milliseconds at most (-1: for ever); if there still are, it is STARTED
// again, and the result is GORGON_ERROR_BUSY. @ended: an exit() has ended it meanwhile, and nothing
// is left to finalise.
static struct gorgon_error *shut_calls(struct gorgon_interp *interp, int timeout_ms, bool *ended)
{
	struct gorgon_calls *calls = &interp->calls;
	struct timespec until = gorgon_deadline(timeout_ms);
	enum gorgon_interp_state state;
	bool timed_out = false;

	pthread_mutex_lock(&interp->calls.lock);
	state = calls->state;
	if (state != GORGON_INTERP_STARTED) {
		pthread_mutex_unlock(&interp->calls.lock);
		return gorgon_call_refusal(interp, state);
	}
	calls->state = GORGON_INTERP_STOPPING;
	while (calls->newest && !timed_out)
		timed_out = timeout_ms < 0
				    ? pthread_cond_wait(&calls->ended, &calls->lock)
				    : pthread_cond_timedwait(&calls->ended, &calls->lock, &until);
	timed_out = calls->newest;
	if (timed_out && calls->state == GORGON_INTERP_STOPPING)
		calls->state = GORGON_INTERP_STARTED;
	*ended = calls->state == GORGON_INTERP_ENDED;
	pthread_mutex_unlock(&interp->calls.lock);
	if (timed_out)
		return gorgon_error_create(GORGON_ERROR_BUSY,
					   "interpreter %u: calls are running in it",
					   interp->number);
	return NULL;
}

// --- finalising ---------------------------------------------------------------------------------

// Before CPython 3.13, when another thread than the main thread finalises, the module `threading`
// waits for the thread that it takes for the main thread: so it is told that this thread is. Later
// versions do not wait, and may lack the method.
static void become_main_thread(const struct gorgon_api *api)
{
	PyObject *module = api->PyImport_ImportModule("threading"), *thread = NULL, *result = NULL;

	if (module)
		thread = api->PyObject_CallMethod(module, "main_thread", NULL);
	if (thread)
		result = api->PyObject_CallMethod(thread, "_set_ident", NULL);
	api->PyErr_Clear();
	api->Py_DecRef(result);
	api->Py_DecRef(thread);
	api->Py_DecRef(module);
}

struct finisher {
	struct gorgon_interp *interp;
	pthread_t thread;
	pid_t tid; // 0: it has not begun; atomic
	enum {
		JOINING, // waits for threads of the program
		EXITING, // in functions of atexit, or finalising
	} phase; // atomic
	struct gorgon_error *err;
	// its work is done; nobody waits for it. Under the lock of the interpreter's calls
	bool done, left;
	bool pending_closed; // Python takes no pending calls any more. Under that lock
};

static __thread struct finisher *this_finisher;

static struct gorgon_interruption *interruption_to_stop(const struct gorgon_interp *interp)
{
	return gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part);
}

// Whether the program's functions of atexit have ended, and its finalisers have not begun. What
// Py_FinalizeEx() calls meanwhile is not the program's, and an exception of a pending call that it
// makes itself is shown as an error of CPython's.
static bool is_between_codes(struct gorgon_interp *interp)
{
	return gorgon_call_state(interp) == GORGON_INTERP_FINALISING &&
	       !gorgon_interp_is_finalizing(interp);
}

// Python calls this function on the finisher's thread, between two bytecodes.
static int on_pending(void *ctx)
{
	struct gorgon_interp *interp = ctx;

	if (gorgon_parking_is_abandoned(interp->ns))
		gorgon_park(interp->ns);
	if (gorgon_shield_is_up(NULL) || is_between_codes(interp) ||
	    !gorgon_interruption_take(interruption_to_stop(interp)))
		return 0;
	interp->api->PyErr_SetNone(*interp->api->PyExc_KeyboardInterrupt);
	return -1;
}

// From CPython 3.13 on Py_AddPendingCall() lets the main thread's state know, which may not be the
// finisher's. So it is asked to let the states of all threads know; only on the finisher
// on_pending() finds a request. For that it takes a lock of the GIL's, at which threads of an
// abandoned interpreter are parked, and this thread would be, too.
static void add_pending(struct gorgon_interp *interp)
{
	int (*add)(void *, int (*)(void *), void *, int) =
		(int (*)(void *, int (*)(void *), void *, int))gorgon_interp_find_api(
			interp, "_PyEval_AddPendingCall");
	void *(*state)(void) =
		(void *(*)(void))gorgon_interp_find_api(interp, "PyInterpreterState_Main");

	if (interp->python.minor < 13 || !add || !state)
		interp->api->Py_AddPendingCall(on_pending, interp);
	else if (!gorgon_parking_is_abandoned(interp->ns))
		add(state(), on_pending, interp, 0);
}

// Have Python call on_pending() on the finisher, when it comes to bytecode. CPython itself asks
// which thread adds a pending call, so this thread pretends to be the main thread.
static void ask_finisher(struct finisher *finisher)
{
	struct gorgon_interp *interp = finisher->interp;

	pthread_mutex_lock(&interp->calls.lock);
	if (!finisher->pending_closed &&
	    __atomic_load_n(&finisher->phase, __ATOMIC_ACQUIRE) == EXITING) {
		gorgon_interruption_pose_as_main(interruption_to_stop(interp), true);
		add_pending(interp);
		gorgon_interruption_pose_as_main(interruption_to_stop(interp), false);
	}
	pthread_mutex_unlock(&interp->calls.lock);
}

// Python frees the capsule when no Python code will run any more: its structures are about to go.
static void close_pending(PyObject *capsule)
{
	(void)capsule;
	if (!this_finisher)
		return;
	pthread_mutex_lock(&this_finisher->interp->calls.lock);
	this_finisher->pending_closed = true;
	pthread_mutex_unlock(&this_finisher->interp->calls.lock);
}

// Have Python call close_pending() in time: objects in the interpreter's dict are the last that it
// frees.
static bool prepare_close_pending(struct gorgon_interp *interp)
{
	PyObject *dict =
		API(interp, PyInterpreterState_GetDict)(API(interp, PyInterpreterState_Get)());
	PyObject *capsule = API(interp, PyCapsule_New)(interp, NULL, close_pending);
	bool done =
		dict && capsule && !API(interp, PyDict_SetItemString)(dict, "gorgon.stop", capsule);

	interp->api->Py_DecRef(capsule);
	interp->api->PyErr_Clear();
	return done;
}

// Called with a new thread state for this thread, which Python frees with all others.
static struct gorgon_error *finalize_to_stop(struct gorgon_interp *interp, void *ctx)
{
	bool other = !gorgon_call_is_main(interp);
	struct gorgon_error *err;

	(void)ctx;
	gorgon_limits_end(interp);
	if (other && interp->python.minor >= GORGON_STATE_MINOR) {
		if ((err = gorgon_state_attach(interp)))
			return err;
	} else {
		interp->api->PyGILState_Ensure();
	}
	if (other && !this_finisher)
		become_main_thread(interp->api);
	gorgon_held_end(interp, true);
	interp->api->Py_FinalizeEx();
	return NULL;
}

static struct gorgon_error *stop_now(struct gorgon_interp *interp)
{
	static const struct gorgon_transition states = {GORGON_INTERP_FINALISING,
							GORGON_INTERP_FINALISING,
							GORGON_INTERP_ENDED, GORGON_INTERP_ENDED};

	// An exit() may have ended it meanwhile.
	return begin_finalising(interp)
		       ? gorgon_call_protect(interp, &states, finalize_to_stop, NULL, NULL)
		       : NULL;
}

// Give back the program's share of the process (descriptors, timers ...), as the end of a python3
// does.
static void give_back_at_stop(struct gorgon_interp *interp)
{
	gorgon_interp_show_thread(interp, 0);
	gorgon_parts_stop(interp->ns->parts);
	gorgon_interp_stamp(&interp->calls.end_ns);
}

static struct gorgon_error *stop_on_this_thread(struct gorgon_interp *interp, int timeout_ms)
{
	struct gorgon_error *err;
	bool ended = false;

	if ((err = shut_calls(interp, timeout_ms, &ended)))
		return err;
	gorgon_held_close(interp);
	if (!ended)
		err = stop_now(interp);
	gorgon_ns_end_program(interp->ns, 0);
	give_back_at_stop(interp);
	return err;
}

// --- the finisher -------------------------------------------------------------------------------

// Call a function of Python without arguments. An exception is shown as one that nobody can catch.
static void call_at_stop(const struct gorgon_interp *interp, const char *module_name,
			 const char *function)
{
	const struct gorgon_api *api = interp->api;
	PyObject *module = api->PyImport_ImportModule(module_name);
	PyObject *result = module ? api->PyObject_CallMethod(module, function, NULL) : NULL;
	void (*show)(PyObject *) =
		(void (*)(PyObject *))gorgon_interp_find_api(interp, "PyErr_WriteUnraisable");

	if (!result && show)
		show(module);
	api->Py_DecRef(result);
	api->Py_DecRef(module);
}

// What Py_FinalizeEx() does first, and finds done.
static struct gorgon_error *close_program(struct gorgon_interp *interp, void *ctx)
{
	struct finisher *finisher = ctx;

	// Python has taken this thread for the main thread, whose stack is another.
	gorgon_state_tell_stack(interp, NULL);
	gorgon_held_end(interp, true);
	call_at_stop(interp, "threading", "_shutdown");
	if (prepare_close_pending(interp))
		__atomic_store_n(&finisher->phase, EXITING, __ATOMIC_RELEASE);
	call_at_stop(interp, "atexit", "_run_exitfuncs");
	return NULL;
}

static void *finisher_run(void *arg)
{
	struct finisher *finisher = arg;
	struct gorgon_interp *interp = finisher->interp;
	struct gorgon_error *err;
	bool left;

	this_finisher = finisher;
	gorgon_interruption_pose_as_main(interruption_to_stop(interp), true);
	__atomic_store_n(&finisher->tid, gettid(), __ATOMIC_RELEASE);
	// The host's threads in calls have left them, or are being refused.
	gorgon_held_close(interp);
	err = gorgon_call_python_until(interp, 0, close_program, finisher);
	gorgon_interruption_ignore();
	if (!err)
		err = stop_now(interp);
	if (gorgon_error_code(err) != GORGON_ERROR_ABANDONED)
		gorgon_ns_end_program(interp->ns, 0);
	pthread_mutex_lock(&interp->calls.lock);
	finisher->err = err;
	finisher->done = true;
	interp->calls.finishers--; // the interpreter may be destroyed after this
	left = finisher->left;
	pthread_cond_broadcast(&interp->calls.ended);
	pthread_mutex_unlock(&interp->calls.lock);
	if (left) {
		gorgon_error_destroy(err);
		free(finisher);
	}
	return NULL;
}

static struct gorgon_error *finisher_start(struct gorgon_interp *interp, struct finisher **ret)
{
	struct finisher *finisher = calloc(1, sizeof(*finisher));
	pthread_attr_t attr;
	int err;

	if (!finisher)
		return &gorgon_error_nomem;
	finisher->interp = interp;
	pthread_mutex_lock(&interp->calls.lock);
	interp->calls.finishers++;
	pthread_mutex_unlock(&interp->calls.lock);
	err = pthread_attr_init(&attr);
	if (!err) {
		pthread_attr_setstacksize(&attr, GORGON_PYTHON_STACK_SIZE);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&finisher->thread, &attr, finisher_run, finisher);
		pthread_attr_destroy(&attr);
	}
	if (err) {
		pthread_mutex_lock(&interp->calls.lock);
		interp->calls.finishers--;
		pthread_mutex_unlock(&interp->calls.lock);
		free(finisher);
		return gorgon_error_create_os(
			err, "interpreter %u: cannot start a thread to stop it", interp->number);
	}
	*ret = finisher;
	return NULL;
}

// Returns whether its work is done.
static bool finisher_wait(struct finisher *finisher, uint64_t until)
{
	const struct timespec deadline = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
	struct gorgon_calls *calls = &finisher->interp->calls;
	bool ret;

	pthread_mutex_lock(&calls->lock);
	while (!finisher->done && !pthread_cond_timedwait(&calls->ended, &calls->lock, &deadline))
		continue;
	ret = finisher->done;
	pthread_mutex_unlock(&calls->lock);
	return ret;
}

// The result, if its work is done. Otherwise it is left to itself.
static bool finisher_leave(struct finisher *finisher, struct gorgon_error **err)
{
	struct gorgon_calls *calls = &finisher->interp->calls;
	bool done;

	pthread_mutex_lock(&calls->lock);
	finisher->left = true;
	done = finisher->done;
	pthread_mutex_unlock(&calls->lock);
	if (!done)
		return false;
	*err = finisher->err;
	free(finisher);
	return true;
}

// --- with a limit -------------------------------------------------------------------------------

static uint64_t earlier_end(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct gorgon_error *refuse_from_inside(const struct gorgon_interp *interp)
{
	if (!gorgon_call_is_inside(interp))
		return NULL;
	return gorgon_error_create(GORGON_ERROR_BUSY,
				   "interpreter %u: cannot be stopped from inside a call",
				   interp->number);
}

// Times of gorgon_now(). They move when threads had to wait for a processor.
struct stop_limit {
	struct gorgon_patience patience;
	uint64_t half; // calls and threads of the program have so long to end by themselves
	uint64_t last; // threads are asked where they are
	uint64_t end;
};

static void begin_limit(struct stop_limit *limit, struct gorgon_interp *interp, int timeout_ms)
{
	uint64_t now = gorgon_now(), all = (uint64_t)timeout_ms * MS;

	gorgon_abandon_patiently(&limit->patience, interp, 0, all);
	limit->half = now + all / 2;
	limit->end = now + all;
	limit->last = limit->end - earlier_end(BEFORE_MS * MS, all / 8);
}

// Whether there is time left. What time it is.
static bool is_time_left(struct stop_limit *limit, struct gorgon_interp *interp, pid_t finisher,
			 uint64_t *now)
{
	uint64_t more = gorgon_abandon_later(&limit->patience, interp, finisher);

	limit->half += more;
	limit->last += more;
	limit->end += more;
	*now = gorgon_now();
	return *now < limit->last;
}

// Until there are no calls any more, or time is up.
static bool end_calls_to_stop(struct gorgon_interp *interp, struct stop_limit *limit)
{
	bool ended = wait_for_calls(interp, limit->half);
	uint64_t now;

	while (!ended && is_time_left(limit, interp, 0, &now)) {
		if (now >= limit->half)
			gorgon_call_interrupt_until(interp,
						    earlier_end(now + GIL_MS * MS, limit->last));
		ended = wait_for_calls(interp, earlier_end(now + AGAIN_MS * MS, limit->last));
	}
	return ended;
}

static void interrupt_to_stop(struct gorgon_interp *interp, struct finisher *finisher,
			      uint64_t until)
{
	gorgon_call_interrupt_until(interp, until);
	if (__atomic_load_n(&finisher->phase, __ATOMIC_ACQUIRE) != EXITING)
		return;
	gorgon_interruption_request(interruption_to_stop(interp), finisher->thread);
	ask_finisher(finisher);
}

static pid_t finisher_tid(const struct finisher *finisher)
{
	return __atomic_load_n(&finisher->tid, __ATOMIC_ACQUIRE);
}

static bool watch_stop(struct gorgon_interp *interp, struct finisher *finisher,
		       struct stop_limit *limit)
{
	bool done = finisher_wait(finisher, limit->half);
	uint64_t now;

	while (!done && is_time_left(limit, interp, finisher_tid(finisher), &now)) {
		if (now >= limit->half)
			interrupt_to_stop(interp, finisher,
					  earlier_end(now + GIL_MS * MS, limit->last));
		done = finisher_wait(finisher, earlier_end(now + AGAIN_MS * MS, limit->last));
	}
	return done;
}

// Name what still runs, and abandon the interpreter.
static void give_up_stop(struct gorgon_interp *interp, int timeout_ms, uint64_t until,
			 pid_t finisher)
{
	char why[2048], names[900];

	gorgon_abandon_name_threads(interp, finisher, until + NAMING_MS * MS, names, sizeof(names));
	snprintf(why, sizeof(why), "%s%sit did not end within %d ms: %s", interp->calls.why,
		 *interp->calls.why ? ", and " : "", timeout_ms,
		 *names ? names : "no thread of it is known");
	gorgon_abandon(interp, why);
}

static struct gorgon_error *stop_within(struct gorgon_interp *interp, int timeout_ms)
{
	struct finisher *finisher = NULL;
	struct gorgon_error *err = refuse_calls(interp);
	struct stop_limit limit;

	if (err)
		return err;
	begin_limit(&limit, interp, timeout_ms);
	if (!end_calls_to_stop(interp, &limit)) {
		give_up_stop(interp, timeout_ms, limit.end, 0);
		return refuse_calls(interp);
	}
	if ((err = finisher_start(interp, &finisher))) {
		accept_calls(interp);
		return err;
	}
	if (!watch_stop(interp, finisher, &limit)) {
		give_up_stop(interp, timeout_ms, limit.end, finisher_tid(finisher));
		ask_finisher(finisher);
	}
	// It may have come to its end at the last moment. Then Python has ended, also while output
	// of the host still waits.
	if (!finisher_leave(finisher, &err) && gorgon_call_state(interp) != GORGON_INTERP_ENDED)
		return refuse_calls(interp);
	if (gorgon_error_code(err) != GORGON_ERROR_ABANDONED)
		give_back_at_stop(interp);
	return err;
}

// A program ends by itself, or by an interrupt: nobody else may finalise its Python.
static struct gorgon_error *stop_program_within(struct gorgon_interp *interp, int timeout_ms)
{
	struct stop_limit limit;

	begin_limit(&limit, interp, timeout_ms);
	if (!end_calls_to_stop(interp, &limit))
		give_up_stop(interp, timeout_ms, limit.end, 0);
	return gorgon_call_state(interp) == GORGON_INTERP_ABANDONED ? refuse_calls(interp)
								     : NULL;
}

// As for shut_calls(): -1, 0, or how long to wait for calls.
static struct gorgon_error *stop_without_limit(struct gorgon_interp *interp, int timeout_ms)
{
	struct gorgon_error *err = refuse_from_inside(interp);

	if (err)
		return err;
	gorgon_call_abandon_lost(interp);
	return stop_on_this_thread(interp, timeout_ms);
}

struct gorgon_error *gorgon_interp_stop(struct gorgon_interp *interp)
{
	return stop_without_limit(interp, -1);
}

struct gorgon_error *gorgon_interp_try_stop(struct gorgon_interp *interp)
{
	return stop_without_limit(interp, 0);
}

struct gorgon_error *gorgon_interp_stop_within(struct gorgon_interp *interp, unsigned limit_ms)
{
	int timeout_ms = limit_ms < INT_MAX ? (int)limit_ms : INT_MAX;
	struct gorgon_error *err;

	// Other isolations cannot take the GIL from a program for good.
	if (!interp->isolation->counts_memory)
		return stop_without_limit(interp, timeout_ms);
	if ((err = refuse_from_inside(interp)))
		return err;
	gorgon_call_abandon_lost(interp);
	return gorgon_call_state(interp) == GORGON_INTERP_RUNNING
		       ? stop_program_within(interp, timeout_ms)
		       : stop_within(interp, timeout_ms);
}
