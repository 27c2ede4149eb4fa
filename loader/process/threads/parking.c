// SPDX-License-Identifier: MIT
// Threads of an abandoned namespace.
//
// An interpreter that does not end is abandoned: its memory stays, and none of its Python code runs
// any more. Nobody can take a thread away from code that runs, so threads are parked where they can
// do no harm: where CPython asks for a lock of its own. Every CPython hands its GIL over under a
// mutex and with conditions (pthread_mutex_lock(), pthread_cond_timedwait(), pthread_cond_wait()),
// and libpython's own calls of these come here. A thread that computes in bytecode comes here when
// another thread asks for the GIL (python/calls/abandon.c does), a thread that comes out of a
// blocking call when it takes the GIL again. There it holds no lock of the C library or of ours.
// Code that never comes back to Python is not stopped.
//
// A parked thread of the program waits in the kernel with all signals blocked. A thread of the host
// leaves the call that it has made (on_park in struct gorgon_ns_user).
//
// CPython has a second mutex, for switches of threads, and locks it while it holds that of the GIL.
// A thread that is parked there gives back what it holds: others wait for the mutex inside the C
// library, and would do so for ever. So the mutexes that CPython makes are known, and the C library
// has the owner of each.
//
// Programs take and give the GIL very often, and few interpreters are abandoned. So CPython locks
// with the C library's function, to which its thunk jumps (../../base/thunk.c), until its
// interpreter is abandoned: then the thunk jumps to ours.
//
// A wait for a switch of threads ends from time to time, so that a thread that waits when its
// namespace is abandoned notices it. Who waits for the GIL itself is woken up by the thread that
// abandons, whose own wait shows it the condition.
//
// Hurry. A thread of ours that takes a GIL gives up after a while: CPython cannot, so the wait for
// the GIL is left by a jump (python/calls/call.c). It is left with the mutex released, and
// CPython's state is whole: the thread has a state in Python and waits for nothing.
//
// Threads that start. CPython frees the states of all threads when it is finalised. A thread that
// has just been started writes to its state before it asks for the GIL, and after that it
// compares the address only. So who starts a thread, and has the GIL, waits until the new thread
// locks a mutex of CPython's, which is the GIL's: whoever finalises has the GIL later. Or until the
// new thread waits for anything else (semaphores.c): that may be the thread which starts it.
//
// `lock` is a leaf, and guards the lists of mutexes and the counts of threads that start.

#define _GNU_SOURCE
#include "parking.h"
#include "pthread_create.h"
#include "base/clock.h"
#include "base/lock.h"
#include "file/grow.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/part.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS	 20 // how often a thread that waits looks whether its namespace is abandoned
#define START_MS 5000 // for a thread to come to the GIL, on the busiest machine
#define RETRY_MS 5   // after so long a thread in a deadline asks for the GIL anew

// What a mutex of CPython is locked with: the C library's function, or ours. Its thunk jumps to it.
struct parking;
typedef int parking_lock_fn(pthread_mutex_t *mutex, struct parking *parking);

struct parking {
	parking_lock_fn *lock_mutex; // the first member, see struct gorgon_bound; atomic
	struct gorgon_ns *ns;
	pthread_mutex_t **mutexes; // that CPython has made
	size_t count;
	unsigned starting; // threads
};

// A thread that starts.
struct starting {
	void *(*fn)(void *);
	void *arg;
	sem_t locks;    // it locks a mutex of CPython's, or has ended
	unsigned users; // the thread, and who has started it; atomic
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct gorgon_gil_deadline *deadline __attribute__((tls_model("initial-exec")));
static __thread struct starting *starting
	__attribute__((tls_model("initial-exec"))); // on the new thread

bool gorgon_parking_is_abandoned(const struct gorgon_ns *ns)
{
	return __builtin_expect(__atomic_load_n(&ns->abandoned, __ATOMIC_ACQUIRE), false);
}

void gorgon_parking_set_deadline(struct gorgon_gil_deadline *given)
{
	deadline = given;
}

void gorgon_park(struct gorgon_ns *ns)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	struct gorgon_ns *wanted = ns;
	sigset_t all;

	// Nobody needs to interrupt it any more.
	if (thread)
		__atomic_compare_exchange_n(&thread->interrupt, &wanted, NULL, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	if (ns->user.on_park)
		ns->user.on_park(ns->user.ctx);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (;;)
		pause();
}

static bool has_deadline(const struct gorgon_ns *ns)
{
	return deadline && deadline->ns == ns;
}

bool gorgon_parking_is_due(const struct gorgon_ns *ns)
{
	return gorgon_parking_is_abandoned(ns) && !has_deadline(ns);
}

// Where a thread may be parked, or may give up.
static void stop_here(struct gorgon_ns *ns)
{
	if (!has_deadline(ns)) {
		if (gorgon_parking_is_abandoned(ns))
			gorgon_park(ns);
	} else if (gorgon_now() >= deadline->until) {
		deadline->give_up();
	}
}

// --- CPython's mutexes -------------------------------------------------------------------------

static size_t find_mutex(const struct parking *parking, const pthread_mutex_t *mutex)
{
	size_t i = 0;

	while (i < parking->count && parking->mutexes[i] != mutex)
		i++;
	return i;
}

// False: no memory.
static bool list_mutex(struct parking *parking, pthread_mutex_t *mutex)
{
	pthread_mutex_t **added;

	if (find_mutex(parking, mutex) < parking->count) // it was made anew in a forked child
		return true;
	added = jitreg_add(&parking->mutexes, &parking->count, sizeof(*added));
	if (added)
		*added = mutex;
	return added;
}

static int init_mutex(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr,
		      struct parking *parking)
{
	bool listed;

	pthread_mutex_lock(&lock);
	listed = list_mutex(parking, mutex);
	pthread_mutex_unlock(&lock);
	return listed ? pthread_mutex_init(mutex, attr) : ENOMEM;
}

static int destroy_mutex(pthread_mutex_t *mutex, struct parking *parking)
{
	size_t i;

	pthread_mutex_lock(&lock);
	i = find_mutex(parking, mutex);
	if (i < parking->count)
		parking->mutexes[i] = parking->mutexes[--parking->count];
	pthread_mutex_unlock(&lock);
	return pthread_mutex_destroy(mutex);
}

// Threads that hold or want the other mutexes of the list write to them meanwhile.
static __attribute__((no_sanitize("thread"))) bool owns_mutex(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == gettid();
}

static void release_mutexes(struct parking *parking)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < parking->count; i++)
		if (owns_mutex(parking->mutexes[i]))
			pthread_mutex_unlock(parking->mutexes[i]);
	pthread_mutex_unlock(&lock);
}

static void drop_start(struct starting *start)
{
	if (!__atomic_sub_fetch(&start->users, 1, __ATOMIC_ACQ_REL))
		free(start);
}

void gorgon_parking_leave_start(void)
{
	struct starting *start = starting;

	if (!start)
		return;
	starting = NULL;
	sem_post(&start->locks);
	drop_start(start);
}

static int lock_while_threads_start(pthread_mutex_t *mutex, struct parking *parking)
{
	(void)parking;
	gorgon_parking_leave_start();
	return pthread_mutex_lock(mutex);
}

// The other threads hold CPython's mutexes for moments only, and those that are parked hold none:
// so waits for them are short.
static int lock_when_abandoned(pthread_mutex_t *mutex, struct parking *parking)
{
	gorgon_parking_leave_start();
	if (!has_deadline(parking->ns)) {
		release_mutexes(parking);
		gorgon_park(parking->ns);
	}
	return pthread_mutex_lock(mutex);
}

// --- threads that start --------------------------------------------------------------------------

static void *start_of_python(void *arg)
{
	struct starting given = *(struct starting *)arg;
	void *ret;

	starting = arg;
	ret = given.fn(given.arg);
	gorgon_parking_leave_start();
	return ret;
}

// An abandoned namespace keeps its own function.
static void replace_lock(struct parking *parking, parking_lock_fn *before, parking_lock_fn *after)
{
	__atomic_compare_exchange_n(&parking->lock_mutex, &before, after, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

static parking_lock_fn *plain_lock(void)
{
	return (parking_lock_fn *)(void *)pthread_mutex_lock;
}

static void count_starting(struct parking *parking, bool begins)
{
	pthread_mutex_lock(&lock);
	parking->starting += begins ? 1u : -1u;
	if (parking->starting == begins)
		replace_lock(parking, begins ? plain_lock() : lock_while_threads_start,
			     begins ? lock_while_threads_start : plain_lock());
	pthread_mutex_unlock(&lock);
}

static int create_thread_of_python(void *thread, const void *attr, void *(*fn)(void *), void *arg,
				   struct parking *parking)
{
	struct starting *new = malloc(sizeof(*new));
	struct timespec until = gorgon_deadline(START_MS);
	int err;

	if (!new)
		return EAGAIN;
	*new = (struct starting){.fn = fn, .arg = arg, .users = 2};
	sem_init(&new->locks, 0, 0);
	count_starting(parking, true);
	err = gorgon_thread_create(thread, attr, start_of_python, new, parking->ns);
	while (!err && sem_clockwait(&new->locks, CLOCK_MONOTONIC, &until) && errno == EINTR)
		continue;
	count_starting(parking, false);
	if (err)
		free(new);
	else
		drop_start(new);
	return err;
}

static struct parking *parking_of(const struct gorgon_ns *ns)
{
	return gorgon_parts_state(ns->parts, &gorgon_parking_part);
}

void gorgon_parking_abandon(struct gorgon_ns *ns)
{
	__atomic_store_n(&ns->abandoned, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&parking_of(ns)->lock_mutex, lock_when_abandoned, __ATOMIC_SEQ_CST);
}

// --- waits -------------------------------------------------------------------------------------

// Leave a wait that this thread has the mutex for.
static void leave_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	if (!gorgon_parking_is_abandoned(ns) && !has_deadline(ns))
		return;
	if (has_deadline(ns) && (gorgon_now() < deadline->until || !deadline->gil_requested))
		return;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
	stop_here(ns);
}

static int wait_for_cond(pthread_cond_t *cond, pthread_mutex_t *mutex, struct parking *parking)
{
	struct gorgon_ns *ns = parking->ns;
	struct timespec until = gorgon_deadline(LOOK_MS);
	int err;

	leave_wait(cond, mutex, ns);
	err = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until);
	leave_wait(cond, mutex, ns);
	// Waits for conditions may end without a reason (POSIX), and CPython expects it.
	return err == ETIMEDOUT ? 0 : err;
}

static int wait_for_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
			       const struct timespec *until, struct parking *parking)
{
	struct gorgon_ns *ns = parking->ns;
	int err;

	leave_wait(cond, mutex, ns);
	if (has_deadline(ns)) {
		// The program may have told CPython to ask a running thread for the GIL only after
		// a long time.
		struct timespec soon = gorgon_deadline(RETRY_MS);

		err = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &soon);
		leave_wait(cond, mutex, ns);
		deadline->gil_requested |= err == ETIMEDOUT; // which makes CPython ask
		return err;
	}
	err = pthread_cond_timedwait(cond, mutex, until);
	leave_wait(cond, mutex, ns);
	return err;
}

static bool parking_begin(void *state, struct gorgon_ns *ns)
{
	struct parking *parking = state;

	parking->lock_mutex = plain_lock();
	parking->ns = ns;
	return true;
}

static void parking_end(void *state)
{
	free(((struct parking *)state)->mutexes);
}

static const struct gorgon_bound bound[] = {
	{"pthread_mutex_lock", NULL, 1, 0, GORGON_OWN,
	 "threads of an interpreter that was abandoned are parked where they take its GIL"},
	{"pthread_create", create_thread_of_python, 4, 0, GORGON_OWN,
	 "a namespace is not unmapped under threads that its code has started; nor does Python end "
	 "under one that it starts"},
	{"pthread_mutex_init", init_mutex, 2, 0, GORGON_OWN, "as pthread_mutex_lock"},
	{"pthread_mutex_destroy", destroy_mutex, 1, 0, GORGON_OWN, "as pthread_mutex_lock"},
	{"pthread_cond_wait", wait_for_cond, 2, 0, GORGON_OWN, "as pthread_mutex_lock"},
	{"pthread_cond_timedwait", wait_for_cond_until, 3, 0, GORGON_OWN, "as pthread_mutex_lock"},
};

const struct gorgon_part gorgon_parking_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct parking),
	.begin = parking_begin,
	.end = parking_end,
	.lock = &lock,
	.when = GORGON_WHEN_PYTHON,
	.title = "Threads that are parked",
	.loader_only = true,
};
