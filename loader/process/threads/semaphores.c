// SPDX-License-Identifier: MIT
// Waits of CPython for its own locks, which are semaphores of the C library.
//
// A thread may wait for such a lock when its interpreter is abandoned: nobody gives the lock any
// more. CPython repeats the wait after a signal, so libpython gets a sem_wait() that looks after
// each signal whether the thread is to be parked (parking.c).
//
// Python frees its own locks at its end, also while a thread that it does not wait for is about
// to take one: the thread would wait for memory that is another's, or for no semaphore at all
// (the pointer to the import lock is NULL then). Such a thread would end when it asks for the
// GIL. It ends at its start instead, as it waits for a lock that nobody has.
//
// `lock` is a leaf, and guards the lists of waits.

#define _GNU_SOURCE
#include "parking.h"
#include "pthread_create.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/part.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

// A wait, on the stack of its thread.
struct wait {
	struct wait *next;
	sem_t *sem;
	bool gone; // the semaphore is being destroyed
};

struct semaphores {
	struct gorgon_ns *ns;
	struct wait *waits;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left =
	PTHREAD_COND_INITIALIZER; // a wait for a semaphore that is gone has been left

static bool semaphores_begin(void *state, struct gorgon_ns *ns)
{
	((struct semaphores *)state)->ns = ns;
	return true;
}

// In a forked child only the calling thread is there, and it waits for none.
static void semaphores_in_child(void *state)
{
	((struct semaphores *)state)->waits = NULL;
}

static void after_fork(bool child)
{
	if (child)
		pthread_cond_init(&left, NULL);
}

// A thread of the host waits in an entry, which Python's end waits for: only abandoning it ends
// such a wait.
static void end_waiting_thread(const struct semaphores *semaphores)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	if (thread && thread->ns == semaphores->ns && thread->start_env)
		gorgon_thread_leave(thread);
}

static void begin_wait(struct semaphores *semaphores, struct wait *wait)
{
	pthread_mutex_lock(&lock);
	wait->next = semaphores->waits;
	__atomic_store_n(&semaphores->waits, wait, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static void end_wait(struct semaphores *semaphores, struct wait *wait)
{
	struct wait **p = &semaphores->waits;

	pthread_mutex_lock(&lock);
	while (*p != wait)
		p = &(*p)->next;
	__atomic_store_n(p, wait->next, __ATOMIC_RELEASE);
	if (wait->gone)
		pthread_cond_broadcast(&left);
	pthread_mutex_unlock(&lock);
	if (wait->gone)
		end_waiting_thread(semaphores);
}

// @clock: of @until, which may be NULL.
static int wait_for(sem_t *sem, clockid_t clock, const struct timespec *until,
		    struct semaphores *semaphores)
{
	struct wait wait = {.sem = sem};
	int ret, err;

	if (!sem)
		end_waiting_thread(semaphores);
	if (gorgon_parking_is_due(semaphores->ns))
		gorgon_park(semaphores->ns);
	// From 3.13 on a new thread waits for who starts it, which would wait for the thread.
	gorgon_parking_leave_start();
	begin_wait(semaphores, &wait);
	ret = until ? sem_clockwait(sem, clock, until) : sem_wait(sem);
	err = errno;
	end_wait(semaphores, &wait);
	if (ret && err == EINTR && gorgon_parking_is_due(semaphores->ns))
		gorgon_park(semaphores->ns);
	errno = err;
	return ret;
}

static int wait_for_sem(sem_t *sem, struct semaphores *semaphores)
{
	return sem && !sem_trywait(sem) ? 0 : wait_for(sem, CLOCK_REALTIME, NULL, semaphores);
}

static int wait_for_sem_until(sem_t *sem, const struct timespec *until,
			      struct semaphores *semaphores)
{
	return wait_for(sem, CLOCK_REALTIME, until, semaphores);
}

static int wait_for_sem_by_clock(sem_t *sem, clockid_t clock, const struct timespec *until,
				 struct semaphores *semaphores)
{
	return wait_for(sem, clock, until, semaphores);
}

// Wake who waits for it, and wait until they do so no more.
static int destroy_sem(sem_t *sem, struct semaphores *semaphores)
{
	bool any = __atomic_load_n(&semaphores->waits, __ATOMIC_ACQUIRE);

	if (any)
		pthread_mutex_lock(&lock);
	for (bool waits = any; waits;) {
		waits = false;
		for (struct wait *wait = semaphores->waits; wait; wait = wait->next) {
			if (wait->sem != sem)
				continue;
			waits = wait->gone = true;
			sem_post(sem);
		}
		if (waits)
			pthread_cond_wait(&left, &lock);
	}
	if (any)
		pthread_mutex_unlock(&lock);
	return sem_destroy(sem);
}

static const struct gorgon_bound bound[] = {
	{"sem_wait", wait_for_sem, 1, 0, GORGON_OWN,
	 "a wait for a lock of CPython's ends when its interpreter is abandoned, and when Python "
	 "has ended"},
	{"sem_timedwait", wait_for_sem_until, 2, 0, GORGON_OWN, "as sem_wait"},
	{"sem_clockwait", wait_for_sem_by_clock, 3, 0, GORGON_OWN, "as sem_wait"},
	{"sem_destroy", destroy_sem, 1, 0, GORGON_OWN, "as sem_wait"},
};

const struct gorgon_part gorgon_semaphores_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct semaphores),
	.begin = semaphores_begin,
	.lock = &lock,
	.after_fork = after_fork,
	.in_child = semaphores_in_child,
	.when = GORGON_WHEN_PYTHON,
	.title = "Waits for locks of CPython's",
	.loader_only = true,
};
