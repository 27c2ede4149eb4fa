// SPDX-License-Identifier: MIT
// Constructors and destructors (gABI chapter 5, "Initialization and Termination
// Functions"): DT_INIT, then DT_INIT_ARRAY upwards; DT_FINI_ARRAY downwards, then
// DT_FINI. Constructors get argc, argv and envp, as the C library passes them: the process's
// arguments and the namespace's environment, unless the host has given others for this load.
//
// They run without the loader's lock, because they may load libraries, look names up, and start
// threads that do so. An object is INITIALISING meanwhile: another thread that wants it waits,
// while the thread that runs the constructor may go on (a constructor may open its own library).
// A child of fork() waits for no constructor of another thread: that thread is not there.

#define _GNU_SOURCE
#include "init.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/object.h"
#include "ns/thread.h"
#include "process/libc/environment.h"
#include "process/libc/process_variables.h"
#include "process/threads/thread_dtors.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*init_fn)(int argc, char **argv, char **envp);
typedef void (*fini_fn)(void);

static int host_argc;
static char **host_argv;

// The C library passes the program's arguments to constructors.
__attribute__((constructor)) static void save_args(int argc, char **argv)
{
	host_argc = argc;
	host_argv = argv;
}

struct arguments {
	int argc;
	char **argv, **envp;
};

static struct arguments arguments_of(const struct gorgon_object *object)
{
	// A host that is linked statically may load before our constructor has run.
	static char *only_name[2];
	struct arguments ret = {host_argc, host_argv, gorgon_process_variables_list()};
	char ***own = gorgon_environment_list(object->ns->environment);

	if (!host_argv) {
		only_name[0] = program_invocation_name;
		ret.argc = 1;
		ret.argv = only_name;
	}
	if (own)
		ret.envp = *own;
	if (object->argv) {
		ret.argv = (char **)object->argv;
		for (ret.argc = 0; ret.argv[ret.argc];)
			ret.argc++;
	}
	if (object->envp)
		ret.envp = (char **)object->envp;
	return ret;
}

static void call_init(const struct gorgon_object *object, const struct arguments *arguments)
{
	const struct gorgon_image *image = object->image;
	int argc = arguments->argc;
	char **argv = arguments->argv, **envp = arguments->envp;
	const uint64_t *array = (const uint64_t *)(uintptr_t)(object->bias + image->init_array);

	if (image->init)
		((init_fn)(uintptr_t)(object->bias + image->init))(argc, argv, envp);
	for (uint64_t i = 0; i < image->init_array_count; i++)
		if (array[i] && array[i] != UINT64_MAX)
			((init_fn)(uintptr_t)array[i])(argc, argv, envp);
}

// A thread that waits for constructors of another thread.
struct waiter {
	struct waiter *next;
	pthread_t thread;
	const struct gorgon_object *object;
};

static struct waiter *waiters; // under the lock

void gorgon_init_after_fork(void)
{
	waiters = NULL;
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns))
		for (struct gorgon_object *o = ns->first; o; o = o->next)
			if (o->state == GORGON_OBJECT_INITIALISING &&
			    !pthread_equal(o->init_thread, pthread_self()))
				o->state = GORGON_OBJECT_READY;
}

// Whether this thread would wait for itself if it waited for @object: the thread that initialises
// @object waits for an object, whose thread waits for another one, and so on, up to an object that
// this thread initialises. Then it does not wait. (The system's linker lets only one thread run
// constructors, and lets that thread open a library of which the constructor runs.)
static bool leads_back(const struct gorgon_object *object)
{
	pthread_t self = pthread_self();

	for (unsigned steps = 0; steps < 1000; steps++) {
		const struct waiter *waiter = waiters;

		if (pthread_equal(object->init_thread, self))
			return true;
		while (waiter && !pthread_equal(waiter->thread, object->init_thread))
			waiter = waiter->next;
		if (!waiter)
			return false;
		object = waiter->object;
	}
	return true;
}

static bool must_init(struct gorgon_object *object)
{
	struct waiter waiter = {.thread = pthread_self(), .object = object};
	struct waiter **p = &waiters;

	if (object->state != GORGON_OBJECT_INITIALISING || leads_back(object))
		return object->state == GORGON_OBJECT_PUBLISHED;
	waiter.next = waiters;
	waiters = &waiter;
	while (object->state == GORGON_OBJECT_INITIALISING && !leads_back(object))
		gorgon_lock_wait(-1);
	while (*p != &waiter)
		p = &(*p)->next;
	*p = waiter.next;
	return object->state == GORGON_OBJECT_PUBLISHED;
}

void gorgon_init_run(struct gorgon_object **objects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gorgon_object *object = objects[i];
		struct arguments arguments;

		if (!must_init(object))
			continue;
		arguments = arguments_of(object);
		object->state = GORGON_OBJECT_INITIALISING;
		object->init_thread = pthread_self();
		object->init_order = ++object->ns->init_counter;
		gorgon_callout_begin();
		call_init(object, &arguments);
		gorgon_callout_end();
		object->state = GORGON_OBJECT_READY;
		gorgon_lock_broadcast();
	}
}

void gorgon_fini_run_early(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	const uint64_t *array = (const uint64_t *)(uintptr_t)(object->bias + image->fini_array);

	object->ended = true;
	gorgon_callout_begin();
	for (uint64_t i = image->fini_array_count; i-- > 0;)
		if (array[i] && array[i] != UINT64_MAX)
			((fini_fn)(uintptr_t)array[i])();
	if (image->fini)
		((fini_fn)(uintptr_t)(object->bias + image->fini))();
	gorgon_callout_end();
}

void gorgon_fini_run(struct gorgon_object *object)
{
	if (object->state != GORGON_OBJECT_READY)
		return;
	object->state = GORGON_OBJECT_FINALISED;
	// This thread's thread_local variables go first, as at the end of a program.
	gorgon_thread_drop_dtors(object);
	if (!object->ended)
		gorgon_fini_run_early(object);
}
