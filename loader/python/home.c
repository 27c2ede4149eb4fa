// SPDX-License-Identifier: MIT
// A thread with descriptors and a current directory of its own, for an interpreter.
//
// A thread cannot give such things back (../process/files.c), so a thread of the host does not
// take them: a program that the host starts on it runs on a thread of ours, and the host's waits.
// While it waits it can be called back, for what must see the host's descriptors.
//
// Cancelling a thread that waits would take its stack from under what runs: it is not cancelled
// before that ends.
//
// In a forked child the thread that waits is not there: what runs ends the process.

#define _GNU_SOURCE
#include "home.h"
#include "../elf/error.h"
#include "../process/files.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// CPython's recursion limits are made for what a main thread has.
#define STACK_SIZE (8u << 20)

struct errand {
	void (*fn)(void *ctx); // NULL: nothing to do
	void *ctx;
};

struct call_back {
	struct errand errand;
	bool done;
};

struct gorgon_home {
	pthread_t thread;
	pthread_mutex_t lock; // of all that follows; a leaf
	pthread_cond_t changed;
	struct errand errand;
	struct call_back *call_back; // that nobody has begun, on its caller's stack
	bool busy; // somebody waits for an errand
	bool started, ending;
	int err; // of the start; errno
};

static void *live(void *arg)
{
	struct gorgon_home *home = arg;
	int err = gorgon_files_unshare();

	pthread_mutex_lock(&home->lock);
	home->err = -err;
	home->started = true;
	pthread_cond_broadcast(&home->changed);
	while (!err) {
		while (!home->errand.fn && !home->ending)
			pthread_cond_wait(&home->changed, &home->lock);
		if (!home->errand.fn)
			break;
		pthread_mutex_unlock(&home->lock);
		home->errand.fn(home->errand.ctx);
		pthread_mutex_lock(&home->lock);
		home->errand.fn = NULL;
		pthread_cond_broadcast(&home->changed);
	}
	pthread_mutex_unlock(&home->lock);
	return NULL;
}

// Of the calling thread. That of the process's first thread grows, up to a limit; to ask the C
// library for it would read the process's list of mappings.
static size_t stack_size(void)
{
	struct rlimit limit;
	pthread_attr_t attr;
	size_t ret = 0;

	if (getpid() == gettid()) {
		if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY)
			ret = limit.rlim_cur;
	} else if (!pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstacksize(&attr, &ret);
		pthread_attr_destroy(&attr);
	}
	return ret > STACK_SIZE ? ret : STACK_SIZE;
}

static int start(struct gorgon_home *home)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_size());
	err = pthread_create(&home->thread, &attr, live, home);
	pthread_attr_destroy(&attr);
	if (err)
		return err;
	pthread_mutex_lock(&home->lock);
	while (!home->started)
		pthread_cond_wait(&home->changed, &home->lock);
	err = home->err;
	pthread_mutex_unlock(&home->lock);
	if (err)
		pthread_join(home->thread, NULL);
	return err;
}

static void home_free(struct gorgon_home *home)
{
	pthread_cond_destroy(&home->changed);
	pthread_mutex_destroy(&home->lock);
	free(home);
}

struct gorgon_error *gorgon_home_create(struct gorgon_home **ret)
{
	struct gorgon_home *home = calloc(1, sizeof(*home));
	int err;

	if (!home)
		return &gorgon_error_nomem;
	pthread_mutex_init(&home->lock, NULL);
	pthread_cond_init(&home->changed, NULL);
	if ((err = start(home))) {
		home_free(home);
		return gorgon_error_create_os(err, "cannot start a thread with descriptors of its own");
	}
	*ret = home;
	return NULL;
}

// The lock is held, and released while it runs.
static void run_call_back(struct gorgon_home *home)
{
	struct call_back *call_back = home->call_back;

	home->call_back = NULL;
	pthread_mutex_unlock(&home->lock);
	call_back->errand.fn(call_back->errand.ctx);
	pthread_mutex_lock(&home->lock);
	call_back->done = true;
	pthread_cond_broadcast(&home->changed);
}

bool gorgon_home_run(struct gorgon_home *home, void (*fn)(void *ctx), void *ctx)
{
	bool is_free;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&home->lock);
	is_free = !home->busy;
	if (is_free) {
		home->busy = true;
		home->errand = (struct errand){fn, ctx};
		pthread_cond_broadcast(&home->changed);
	}
	while (is_free && (home->errand.fn || home->call_back)) {
		if (home->call_back)
			run_call_back(home);
		else
			pthread_cond_wait(&home->changed, &home->lock);
	}
	home->busy &= !is_free;
	pthread_mutex_unlock(&home->lock);
	pthread_setcancelstate(before, NULL);
	return is_free;
}

void gorgon_home_call_back(struct gorgon_home *home, void (*fn)(void *ctx), void *ctx)
{
	struct call_back mine = {.errand = {fn, ctx}};

	pthread_mutex_lock(&home->lock);
	while (home->errand.fn && home->call_back)
		pthread_cond_wait(&home->changed, &home->lock);
	// A thread that the program has left behind may ask when nobody waits any more.
	if (!home->errand.fn) {
		pthread_mutex_unlock(&home->lock);
		fn(ctx);
		return;
	}
	home->call_back = &mine;
	pthread_cond_broadcast(&home->changed);
	while (!mine.done)
		pthread_cond_wait(&home->changed, &home->lock);
	pthread_mutex_unlock(&home->lock);
}

void gorgon_home_destroy(struct gorgon_home *home)
{
	if (!home)
		return;
	pthread_mutex_lock(&home->lock);
	home->ending = true;
	pthread_cond_broadcast(&home->changed);
	pthread_mutex_unlock(&home->lock);
	pthread_join(home->thread, NULL);
	home_free(home);
}
