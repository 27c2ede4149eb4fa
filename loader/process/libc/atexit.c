// SPDX-License-Identifier: MIT
// Functions that private code has registered with __cxa_atexit(): by atexit(), and the
// destructors of C++'s static objects (Itanium C++ ABI 3.3.6). Functions of
// on_exit() are treated alike, but get the status. (at_quick_exit()'s are forgotten by
// __cxa_finalize().)
//
// exit() calls them in the reverse order of registration across all objects, and only then
// the destructors of one object after the other. A static object that is made late may use
// objects of libraries that were loaded after its own: the end of a namespace keeps that
// order. dlclose() is about one object: its destructor calls __cxa_finalize(), for it alone.
//
// Each function is in a list of ours, for the end of the namespace, and in the C library's list,
// for __cxa_finalize() and the end of the process. The list that is gone through first calls it.
// When the C library's list is gone through, the record is freed. A function of on_exit() is there
// until the end of the process.

#define _GNU_SOURCE
#include "atexit.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdlib.h>

// The C++ ABI and the C library define these; no public header declares them.
extern int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
extern void __cxa_finalize(void *dso);

struct gorgon_exit {
	struct gorgon_exit *next, *prev;
	struct gorgon_exit **list; // the list that it is in, or NULL
	void (*fn)(void *); // NULL: it has been called, or a thread is calling it
	void (*status_fn)(int, void *); // instead of `fn`, for on_exit()
	void *arg, *dso;
};

struct gorgon_atexit {
	struct gorgon_exit *pending, *done; // newest first
	void (*destructors)(void *ctx);	    // of all objects, or NULL
	void *ctx;
};

// A leaf: guards all lists.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void link_first(struct gorgon_exit *exit, struct gorgon_exit **list)
{
	exit->list = list;
	exit->prev = NULL;
	exit->next = *list;
	if (exit->next)
		exit->next->prev = exit;
	*list = exit;
}

// An entry that another thread has taken meanwhile is in no list.
static void unlink_exit(struct gorgon_exit *exit)
{
	if (!exit->list)
		return;
	if (exit->prev)
		exit->prev->next = exit->next;
	else
		*exit->list = exit->next;
	if (exit->next)
		exit->next->prev = exit->prev;
	exit->list = NULL;
}

static void atexit_call(const struct gorgon_exit *exit, int status)
{
	if (exit->fn)
		exit->fn(exit->arg);
	if (exit->status_fn)
		exit->status_fn(status, exit->arg);
}

// The C library calls this. The loader's lock is not taken: a callback of the host that runs under
// that lock may call exit().
static void at_end_with_status(int status, void *arg)
{
	struct gorgon_exit *exit = arg;

	pthread_mutex_lock(&lock);
	unlink_exit(exit);
	pthread_mutex_unlock(&lock);
	atexit_call(exit, status);
	free(exit);
}

static void at_end(void *arg)
{
	at_end_with_status(0, arg);
}

static int atexit_add(const struct gorgon_exit *like, struct gorgon_atexit *exits)
{
	struct gorgon_exit *exit = malloc(sizeof(*exit));

	if (!exit)
		return -1;
	*exit = *like;
	pthread_mutex_lock(&lock);
	link_first(exit, &exits->pending);
	pthread_mutex_unlock(&lock);
	if (!(exit->fn ? __cxa_atexit(at_end, exit, exit->dso) : on_exit(at_end_with_status, exit)))
		return 0;
	pthread_mutex_lock(&lock);
	unlink_exit(exit);
	pthread_mutex_unlock(&lock);
	free(exit);
	return -1;
}

static int register_exit(void (*fn)(void *), void *arg, void *dso, struct gorgon_atexit *exits)
{
	// Without an object of its own it is the namespace's: __cxa_finalize(NULL) would be
	// about the whole process.
	return atexit_add(&(struct gorgon_exit){.fn = fn, .arg = arg, .dso = dso ?: exits}, exits);
}

static int register_with_status(void (*fn)(int, void *), void *arg, struct gorgon_atexit *exits)
{
	return atexit_add(&(struct gorgon_exit){.status_fn = fn, .arg = arg}, exits);
}

void gorgon_atexit_each(const struct gorgon_atexit *exits,
			void (*fn)(void *ctx, const struct gorgon_atexit_entry *entry), void *ctx)
{
	const struct gorgon_exit *exit = exits->pending;

	while (exit && exit->next)
		exit = exit->next;
	for (; exit; exit = exit->prev) {
		const struct gorgon_atexit_entry entry = {exit->fn, exit->status_fn, exit->arg,
							  exit->dso == (void *)exits ? NULL
										     : exit->dso};

		fn(ctx, &entry);
	}
}

bool gorgon_atexit_add(struct gorgon_atexit *exits, const struct gorgon_atexit_entry *entry)
{
	return !(entry->fn ? register_exit(entry->fn, entry->arg, entry->dso, exits)
			   : register_with_status(entry->status_fn, entry->arg, exits));
}

// Copy the last registered function that has not been called; it counts as called from then on. The
// C library still has it in its own list.
static bool take_pending(struct gorgon_atexit *exits, struct gorgon_exit *ret)
{
	struct gorgon_exit *exit;

	pthread_mutex_lock(&lock);
	exit = exits->pending;
	if (exit) {
		*ret = *exit;
		unlink_exit(exit);
		if (exit->fn)
			link_first(exit, &exits->done);
		exit->fn = NULL;
		exit->status_fn = NULL;
	}
	pthread_mutex_unlock(&lock);
	return exit;
}

void gorgon_atexit_run(struct gorgon_atexit *exits)
{
	struct gorgon_exit taken;

	while (take_pending(exits, &taken)) {
		gorgon_callout_begin();
		atexit_call(&taken, 0);
		gorgon_callout_end();
	}
}

void gorgon_atexit_end_with(struct gorgon_atexit *exits, void (*destructors)(void *ctx), void *ctx)
{
	exits->destructors = destructors;
	exits->ctx = ctx;
}

static void run_pending(struct gorgon_atexit *exits, int status)
{
	struct gorgon_exit taken;

	while (take_pending(exits, &taken))
		atexit_call(&taken, status);
}

void gorgon_atexit_run_at_end(struct gorgon_atexit *exits, int status)
{
	run_pending(exits, status);
	if (exits->destructors)
		exits->destructors(exits->ctx);
	run_pending(exits, status);
}

void gorgon_atexit_discard(struct gorgon_atexit *exits)
{
	struct gorgon_exit taken;

	while (take_pending(exits, &taken))
		continue;
}

static void *first_done(const struct gorgon_atexit *exits)
{
	void *dso;

	pthread_mutex_lock(&lock);
	dso = exits->done ? exits->done->dso : NULL;
	pthread_mutex_unlock(&lock);
	return dso;
}

void gorgon_atexit_forget(struct gorgon_atexit *exits)
{
	void *dso;

	while ((dso = first_done(exits))) {
		gorgon_callout_begin();
		__cxa_finalize(dso);
		gorgon_callout_end();
	}
}

static const struct gorgon_bound bound[] = {
	{"__cxa_atexit", register_exit, 3, 0, GORGON_OWN,
	 "at the end of a namespace the last one first, across its objects, as exit() does"},
	{"on_exit", register_with_status, 2, 0, GORGON_OWN, "as __cxa_atexit"},
};

const struct gorgon_part gorgon_atexit_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_atexit),
	.lock = &lock,
	.loader_only = true,
};
