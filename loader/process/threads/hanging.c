// SPDX-License-Identifier: MIT
// Threads that wait for the end of the process.
//
// At the end of python3 a daemon thread that asks for the GIL gets it no more. Up to CPython 3.13
// the thread ends there. From 3.14 on CPython has it wait for signals (pause()) until the process
// ends. Here the process goes on, and such a thread would keep its interpreter for good. So
// libpython gets a pause() that also ends when the program has ended: then the thread jumps back to
// the function that started it, and ends.
//
// That is safe as soon as CPython has finalised. Before that its garbage collector may look at the
// thread's stack. The functions that the thread is in are left without a word, and locks that they
// hold stay locked, as they would if the thread waited.

#define _GNU_SOURCE
#include "pthread_create.h"
#include "ns/thread.h"
#include "process/part.h"

#include <semaphore.h>
#include <unistd.h>

struct hanging {
	sem_t ended; // each thread that takes it gives it to the next
};

static bool hanging_begin(void *state, struct gorgon_ns *ns)
{
	(void)ns;
	return !sem_init(&((struct hanging *)state)->ended, 0, 0);
}

static void hanging_stop(void *state)
{
	sem_post(&((struct hanging *)state)->ended);
}

static void hanging_end(void *state)
{
	sem_destroy(&((struct hanging *)state)->ended);
}

// Python's signal.pause() comes here, too.
static int pause_of_python(struct hanging *hanging)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	if (!thread || !thread->start_env)
		return pause(); // a thread of the host
	if (sem_wait(&hanging->ended))
		return -1; // EINTR
	sem_post(&hanging->ended);
	gorgon_thread_leave(thread);
}

static const struct gorgon_bound bound[] = {
	{"pause", pause_of_python, 0, 0, GORGON_OWN,
	 "a daemon thread that CPython 3.14 has wait for the end of the process ends when its "
	 "program has ended"},
};

const struct gorgon_part gorgon_hanging_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct hanging),
	.begin = hanging_begin,
	.stop = hanging_stop,
	.end = hanging_end,
	.when = GORGON_WHEN_PYTHON,
	.title = "Threads that wait for the end of the process",
	.loader_only = true,
};
