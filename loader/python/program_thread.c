// SPDX-License-Identifier: MIT
// A thread with descriptors and a current directory of its own, for a program.
//
// A thread that has descriptors of its own has them for good (../process/kernel/files.c). So a
// thread of the host does not get them: a program that the host starts on it runs on a thread of
// ours, for which the host's thread waits.
//
// The waiting thread is not cancelled before the program ends, because the program uses memory on
// its stack. In a forked child the waiting thread does not exist: the program itself ends the
// process.

#define _GNU_SOURCE
#include "program_thread.h"
#include "base/error.h"
#include "process/kernel/files.h"
#include "python/calls/interp.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

struct thread_call {
	void (*fn)(void *ctx);
	void *ctx;
	int err; // errno: it was not called
};

static void *run_on_thread(void *arg)
{
	struct thread_call *thread_call = arg;

	thread_call->err = -gorgon_files_unshare();
	if (!thread_call->err)
		thread_call->fn(thread_call->ctx);
	return NULL;
}

// The size of the calling thread's stack. The stack of the process's first thread grows up to a
// limit. For that thread the C library would read the process's list of mappings.
static size_t main_stack_size(void)
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
	return ret > GORGON_PYTHON_STACK_SIZE ? ret : GORGON_PYTHON_STACK_SIZE;
}

struct gorgon_error *gorgon_program_thread_run(void (*fn)(void *ctx), void *ctx)
{
	struct thread_call thread_call = {.fn = fn, .ctx = ctx};
	pthread_attr_t attr;
	pthread_t thread;
	int err, before;

	err = pthread_attr_init(&attr);
	if (!err) {
		pthread_attr_setstacksize(&attr, main_stack_size());
		err = pthread_create(&thread, &attr, run_on_thread, &thread_call);
		pthread_attr_destroy(&attr);
	}
	if (!err) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		pthread_join(thread, NULL);
		pthread_setcancelstate(before, NULL);
		err = thread_call.err;
	}
	return err ? gorgon_error_create_os(err,
					    "cannot start a thread with descriptors of its own")
		   : NULL;
}
