// SPDX-License-Identifier: MIT
// Constructors and destructors (gABI chapter 5, "Initialization and Termination
// Functions"): DT_INIT, then DT_INIT_ARRAY upwards; DT_FINI_ARRAY downwards, then
// DT_FINI. They get the process's argc, argv and envp, as the C library's do.
//
// They run without the loader's lock, because they may load, look up and start
// threads that do. An object is INITIALISING meanwhile: another thread that wants it
// waits, the thread itself passes (a constructor that opens its own library).

#define _GNU_SOURCE
#include "lock.h"
#include "ns.h"
#include "object.h"
#include "thread.h"

#include <stdlib.h>
#include <unistd.h>

typedef void (*init_fn)(int argc, char **argv, char **envp);
typedef void (*fini_fn)(void);

static int host_argc;
static char **host_argv;

// The C library passes the program's arguments to constructors.
__attribute__((constructor(201))) static void save_args(int argc, char **argv)
{
	host_argc = argc;
	host_argv = argv;
}

static void call_init(const struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	const uint64_t *array = (const uint64_t *)(uintptr_t)(object->bias + image->init_array);

	if (image->init)
		((init_fn)(uintptr_t)(object->bias + image->init))(host_argc, host_argv, environ);
	for (uint64_t i = 0; i < image->init_array_count; i++)
		if (array[i] && array[i] != UINT64_MAX)
			((init_fn)(uintptr_t)array[i])(host_argc, host_argv, environ);
}

static bool must_init(struct gorgon_object *object)
{
	while (object->state == GORGON_OBJECT_INITIALISING &&
	       !pthread_equal(object->init_thread, pthread_self()))
		gorgon_lock_wait(-1);
	return object->state == GORGON_OBJECT_LINKED;
}

void gorgon_init_run(struct gorgon_object **objects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gorgon_object *object = objects[i];

		if (!must_init(object))
			continue;
		object->state = GORGON_OBJECT_INITIALISING;
		object->init_thread = pthread_self();
		object->init_order = ++object->ns->init_counter;
		gorgon_unlock();
		call_init(object);
		gorgon_lock();
		object->state = GORGON_OBJECT_READY;
		gorgon_lock_broadcast();
	}
}

void gorgon_fini_run(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	const uint64_t *array = (const uint64_t *)(uintptr_t)(object->bias + image->fini_array);

	if (object->state != GORGON_OBJECT_READY)
		return;
	object->state = GORGON_OBJECT_FINALISED;
	// As at the end of a program: this thread's thread_local variables first.
	gorgon_thread_drop_dtors(object);
	gorgon_unlock();
	for (uint64_t i = image->fini_array_count; i-- > 0;)
		if (array[i] && array[i] != UINT64_MAX)
			((fini_fn)(uintptr_t)array[i])();
	if (image->fini)
		((fini_fn)(uintptr_t)(object->bias + image->fini))();
	gorgon_lock();
}
