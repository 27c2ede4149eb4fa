// SPDX-License-Identifier: MIT
// pthread_create() for private code: the namespace counts its threads, so that it is not unmapped
// under them.

#define _GNU_SOURCE
#include "pthread_create.h"
#include "altstack.h"
#include "locales.h"
#include "signals.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>

struct start {
	void *(*fn)(void *);
	void *arg;
	struct gorgon_ns *ns;
};

// False: the host allows no more.
static bool count_thread(struct gorgon_ns *ns)
{
	bool ret;

	gorgon_lock();
	ret = !ns->opts.thread_limit || ns->thread_count < ns->opts.thread_limit;
	ns->thread_count += ret;
	gorgon_unlock();
	return ret;
}

static void uncount_thread(struct gorgon_ns *ns)
{
	gorgon_lock();
	ns->thread_count--;
	gorgon_lock_broadcast();
	gorgon_unlock();
}

static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	struct gorgon_thread *thread = gorgon_thread_get();
	jmp_buf env;
	sigset_t wake;
	void *ret;

	free(arg);
	// A host whose threads block all signals has interpreters whose threads can be interrupted all the same.
	sigemptyset(&wake);
	sigaddset(&wake, GORGON_SIGNAL_WAKE);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	// Without memory for its record the thread stays counted for good, so that its namespace is never
	// unmapped while it runs.
	if (thread)
		__atomic_store_n(&thread->ns, start.ns, __ATOMIC_RELAXED);
	gorgon_altstack_provide(thread);
	gorgon_locale_enter(start.ns->locale);
	if (!thread)
		return start.fn(start.arg);
	if (setjmp(env))
		return NULL;
	thread->start_env = &env;
	ret = start.fn(start.arg);
	thread->start_env = NULL; // Destructors of the thread's keys run later, on a stack without this function.
	return ret;
}

void gorgon_thread_leave(const struct gorgon_thread *thread)
{
	longjmp(*(jmp_buf *)thread->start_env, 1);
}

int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns)
{
	struct start *start = malloc(sizeof(*start));
	int err;

	if (!start)
		return EAGAIN;
	*start = (struct start){fn, arg, ns};
	if (!count_thread(ns)) {
		free(start);
		return EAGAIN;
	}
	err = pthread_create(thread, attr, start_thread, start);
	if (err) {
		uncount_thread(ns);
		free(start);
	}
	return err;
}
