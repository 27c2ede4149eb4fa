// SPDX-License-Identifier: MIT
// A thread with descriptors and a current directory of its own, for a program.
//
// A thread cannot give such things back (../process/files.c), so a thread of the host does not
// take them: a program that the host starts on it runs on a thread of ours, and the host's waits.
//
// Cancelling a thread that waits would take its stack from under what runs: it is not cancelled
// before that ends. In a forked child the thread that waits is not there: what runs ends the
// process.

#define _GNU_SOURCE
#include "home.h"
#include "base/error.h"
#include "process/files.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

// CPython's recursion limits are made for what a main thread has.
#define STACK_SIZE (8u << 20)

struct errand {
	void (*fn)(void *ctx);
	void *ctx;
	int err; // errno: it was not called
};

static void *run(void *arg)
{
	struct errand *errand = arg;

	errand->err = -gorgon_files_unshare();
	if (!errand->err)
		errand->fn(errand->ctx);
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

struct gorgon_error *gorgon_home_run(void (*fn)(void *ctx), void *ctx)
{
	struct errand errand = {.fn = fn, .ctx = ctx};
	pthread_attr_t attr;
	pthread_t thread;
	int err, before;

	err = pthread_attr_init(&attr);
	if (!err) {
		pthread_attr_setstacksize(&attr, stack_size());
		err = pthread_create(&thread, &attr, run, &errand);
		pthread_attr_destroy(&attr);
	}
	if (!err) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		pthread_join(thread, NULL);
		pthread_setcancelstate(before, NULL);
		err = errand.err;
	}
	return err ? gorgon_error_create_os(err, "cannot start a thread with descriptors of its own")
		   : NULL;
}
