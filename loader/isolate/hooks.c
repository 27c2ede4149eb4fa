// SPDX-License-Identifier: MIT
// Functions of ours that objects of the system's linker call instead of the C library's.
//
// The linker has bound an object's references before we see the object, so slots.c writes the words
// anew that the linker has written (JUMP_SLOT, GLOB_DAT and plain addresses of functions). The
// table here is far smaller than that of ../dl/replacements.c: the linker itself does thread-local
// storage, unwinding and dlsym() for its objects. Objects call the functions of ../process, too.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"
#include "base/thunk.h"
#include "dl/dl.h"
#include "process/interpose.h"

#include <string.h>

// --- the functions ------------------------------------------------------------------------

static void set_dl_error(struct gorgon_error *err)
{
	gorgon_dl_set_error(strdup(gorgon_error_message(err)));
	gorgon_error_destroy(err);
}

static void *hook_dlopen(const char *path, int flags, struct gorgon_ns *ns)
{
	struct gorgon_error *err;
	void *handle = NULL;

	gorgon_dl_clear_error();
	if ((err = gorgon_linked_dlopen(ns, path, flags, &handle)))
		set_dl_error(err);
	return handle;
}

static int hook_dlclose(void *handle, struct gorgon_ns *ns)
{
	struct gorgon_error *err;

	gorgon_dl_clear_error();
	if (!(err = gorgon_linked_dlclose(ns, handle)))
		return 0;
	set_dl_error(err);
	return -1;
}

// Only the C library knows the errors of dlsym() and its relatives.
static char *hook_dlerror(struct gorgon_ns *ns)
{
	return gorgon_dl_error(ns) ?: dlerror();
}

// --- the table ------------------------------------------------------------------------------

// These go to the strategy, which lists the objects that come and go.
static const struct {
	const char *name;
	void *target;
	unsigned args;
} hooks[] = {
	{"dlopen", hook_dlopen, 2},
	{"dlclose", hook_dlclose, 1},
	{"dlerror", hook_dlerror, 0},
};

// Names of ../dl/replacements.c that can be bound here, too.
static const char *const as_with_the_loader[] = {
	// exit() ends the interpreter and never the host, and so does the SIGINT that CPython sends
	// itself.
	"exit",
	"kill",
	// Each copy has its own handlers.
	"sigaction",
	"signal",
	// An interpreter is not unloaded under threads that its code has started, nor does Python
	// end under one that it starts: who starts it waits until it takes a lock of CPython's.
	"pthread_create",
	"pthread_mutex_lock",
	"sem_wait",
	"sem_timedwait",
	"sem_clockwait",
	"sem_destroy",
	// The host takes the program's output.
	"write",
	// Without these, interpreters would decode in each other's locale.
	"setlocale",
	"newlocale",
	"__newlocale",
	// The environment is the interpreter's; sizes of thread pools.
	"getenv",
	"secure_getenv",
	// Only LMDB's calls are replaced (../process/lmdb.c).
	"getpid",
};

#define COUNT      (sizeof(hooks) / sizeof(*hooks))
#define SAME_COUNT (sizeof(as_with_the_loader) / sizeof(*as_with_the_loader))

struct gorgon_error *gorgon_hooks_create(struct gorgon_ns *ns)
{
	struct gorgon_thunk list[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		list[i] = (struct gorgon_thunk){hooks[i].target, hooks[i].args, ns};
	return gorgon_thunks_create(list, COUNT, &ns->linked->thunks);
}

void *gorgon_hooks_find(const struct gorgon_object *object, const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(hooks[i].name, name))
			return gorgon_thunks_get(object->ns->linked->thunks, i);
	for (size_t i = 0; i < SAME_COUNT; i++)
		if (!strcmp(as_with_the_loader[i], name))
			return gorgon_interpose_find(object->ns, object, NULL, name);
	return gorgon_interpose_find_of_process(object->ns, name);
}
