// SPDX-License-Identifier: MIT
// pthread_create() for private code: the namespace counts its threads, so that it is not unmapped
// under them.

#define _GNU_SOURCE
#include "altstack.h"
#include "pthread_create.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/kernel/signals.h"
#include "process/libc/locales.h"
#include "process/memory/zone_heap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_NS 1000000
#define MOMENTS   200 // that a thread may compute before it waits for something

struct start {
	void *(*fn)(void *);
	void *arg;
	struct gorgon_ns *ns;
	pid_t *tid; // where whoever waits for it finds its number, or NULL
};

// A thread that was ended in a wait, which can be joined.
struct gorgon_left_thread {
	struct gorgon_left_thread *next;
	pthread_t pthread;
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

// With memory that has run out the stack stays.
static void note_left(struct gorgon_ns *ns)
{
	int state = PTHREAD_CREATE_DETACHED;
	struct gorgon_left_thread *left;
	pthread_attr_t attr;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	pthread_attr_getdetachstate(&attr, &state);
	pthread_attr_destroy(&attr);
	left = state == PTHREAD_CREATE_JOINABLE ? malloc(sizeof(*left)) : NULL;
	if (!left)
		return;
	gorgon_lock();
	*left = (struct gorgon_left_thread){ns->left_threads, pthread_self()};
	ns->left_threads = left;
	gorgon_unlock();
}

// A thread that has gone on after others were ended may have joined or detached them, and then
// their names are others'.
void gorgon_thread_detach_left(struct gorgon_ns *ns)
{
	struct gorgon_left_thread *left;

	while ((left = ns->left_threads)) {
		ns->left_threads = left->next;
		if (!ns->others_ended)
			pthread_detach(left->pthread);
		free(left);
	}
}

static void *find_bottom(void)
{
	pthread_attr_t attr;
	void *ret = NULL;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr))
		return NULL;
	pthread_attr_getstack(&attr, &ret, &size);
	pthread_attr_destroy(&attr);
	return ret;
}

static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	struct gorgon_thread *thread = gorgon_thread_get();
	jmp_buf env;
	sigset_t wake;
	void *ret;

	free(arg);
	if (start.tid)
		__atomic_store_n(start.tid, gettid(), __ATOMIC_RELEASE);
	// A host whose threads block all signals has interpreters whose threads can be interrupted
	// all the same.
	sigemptyset(&wake);
	sigaddset(&wake, GORGON_SIGNAL_WAKE);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	// Without memory for its record the thread stays counted for good, so that its namespace is
	// never unmapped while it runs.
	if (thread) {
		thread->start = (const void *)start.fn;
		__atomic_store_n(&thread->ns, start.ns, __ATOMIC_RELEASE);
	}
	gorgon_altstack_provide(thread);
	gorgon_locale_enter(start.ns->locale);
	if (!thread)
		return start.fn(start.arg);
	ret = NULL;
	thread->stack_bottom = find_bottom();
	if (!setjmp(env)) {
		thread->start_env = &env;
		ret = start.fn(start.arg);
	}
	if (thread->dropped)
		note_left(start.ns);
	// Destructors of the thread's keys run later, on a stack without this function.
	thread->start_env = NULL;
	return ret;
}

void gorgon_thread_leave(const struct gorgon_thread *thread)
{
	longjmp(*(jmp_buf *)thread->start_env, 1);
}

// Whether a thread of this process waits for something, or has ended.
static bool is_waiting(pid_t tid)
{
	char path[64], text[256] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	state = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return !state || state[2] == 'S';
}

// Runs of one program are compared (../../python/template.c). What they allocate must not depend on
// which of two threads is faster: a new one runs until it waits for something.
static void wait_for_first_wait(const pid_t *tid)
{
	const struct timespec a_moment = {0, MOMENT_NS};
	unsigned seen = 0;

	for (unsigned left = MOMENTS; left && seen < 2;) {
		pid_t number = __atomic_load_n(tid, __ATOMIC_ACQUIRE);

		nanosleep(&a_moment, NULL);
		if (!number)
			continue; // it has not begun, and will write there
		seen = is_waiting(number) ? seen + 1 : 0;
		left--;
	}
}

int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns)
{
	struct start *start = malloc(sizeof(*start));
	bool is_compared = gorgon_zone_heap_is_open(ns->usage.zone_heap);
	pid_t tid = 0;
	int err;

	if (!start)
		return EAGAIN;
	*start = (struct start){fn, arg, ns, is_compared ? &tid : NULL};
	if (!count_thread(ns)) {
		free(start);
		return EAGAIN;
	}
	err = pthread_create(thread, attr, start_thread, start);
	if (err) {
		uncount_thread(ns);
		free(start);
	} else if (is_compared) {
		wait_for_first_wait(&tid);
	}
	return err;
}
