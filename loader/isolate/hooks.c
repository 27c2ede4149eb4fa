// SPDX-License-Identifier: MIT
// Functions of ours that objects of the system's linker call instead of the C library's.
//
// The linker has bound an object's references before we see the object, so slots.c writes the words
// anew that the linker has written (JUMP_SLOT, GLOB_DAT and plain addresses of functions). The
// table here is far smaller than that of ../dl/replacements.c: the linker itself does thread-local
// storage, unwinding and dlsym() for its objects. Where the C library is shared with the process,
// objects call the functions of ../process, too.
//
// In a namespace with a C library of its own, our functions set the errno of the host's C library.
// Each hook copies it to the namespace's errno.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"
#include "base/lock.h"
#include "dl/atfork.h"
#include "dl/dl.h"
#include "image/arch.h"
#include "ns/thread.h"
#include "process/interpose.h"
#include "process/kernel/signals.h"
#include "process/libc/environment.h"
#include "process/libc/locales.h"
#include "process/libc/output.h"
#include "process/process.h"
#include "process/threads/pthread_create.h"
#include "process/threads/tsd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the functions ------------------------------------------------------------------------

static void carry_errno(const struct gorgon_ns *ns)
{
	if (ns->linked->linker->own_libc)
		*ns->linked->libc.errno_location() = errno;
}

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
	return gorgon_dl_error(ns) ?: ns->linked->libc.dlerror();
}

static void hook_exit(int status, struct gorgon_ns *ns)
{
	gorgon_linked_flush(ns);
	gorgon_process_exit(status, ns);
}

static int hook_kill(pid_t pid, int number, struct gorgon_ns *ns)
{
	int ret = gorgon_process_kill(pid, number, ns);

	carry_errno(ns);
	return ret;
}

static int hook_sigaction(int number, const struct sigaction *action, struct sigaction *old,
			  struct gorgon_ns *ns)
{
	int ret = gorgon_signal_action(number, action, old, ns->signals);

	carry_errno(ns);
	return ret;
}

static sighandler_t hook_signal(int number, sighandler_t handler, struct gorgon_ns *ns)
{
	sighandler_t ret = gorgon_signal_set(number, handler, ns->signals);

	carry_errno(ns);
	return ret;
}

static ssize_t hook_write(int fd, const void *data, size_t size, struct gorgon_ns *ns)
{
	ssize_t ret = gorgon_output_write(fd, data, size, ns);

	carry_errno(ns);
	return ret;
}

struct start {
	void *(*fn)(void *);
	void *arg;
	struct gorgon_ns *ns;
};

static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	gorgon_linked_enter(start.ns);
	return start.fn(start.arg);
}

static int hook_pthread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			       struct gorgon_ns *ns)
{
	struct start *start = malloc(sizeof(*start));
	int err;

	if (!start)
		return EAGAIN;
	*start = (struct start){fn, arg, ns};
	err = gorgon_thread_create(thread, attr, start_thread, start, ns);
	if (err)
		free(start);
	return err;
}

static char *hook_getenv(const char *name, struct gorgon_ns *ns)
{
	return gorgon_environment_hides(ns->environment, name) ? NULL
							       : ns->linked->libc.getenv(name);
}

// Each C library numbers keys from 0, and all keep the values in the same array of the thread, so a
// value of one library's key would go to the destructor of another's. early_keys.c translates a key
// that a constructor has made before its object was bound, from the end of that constructor's load
// on.
static int hook_key_delete(unsigned key, struct gorgon_ns *ns)
{
	return key < GORGON_TSD_FIRST ? gorgon_early_keys_delete(ns, key) : gorgon_tsd_delete(key);
}

static void *hook_key_get(unsigned key, struct gorgon_ns *ns)
{
	key = gorgon_early_keys_find(ns, key);
	return key < GORGON_TSD_FIRST ? ns->linked->libc.key_get(key) : gorgon_tsd_get(key);
}

static int hook_key_set(unsigned key, const void *value, struct gorgon_ns *ns)
{
	key = gorgon_early_keys_find(ns, key);
	return key < GORGON_TSD_FIRST ? ns->linked->libc.key_set(key, value)
				      : gorgon_tsd_set(key, value);
}

// The fork() of a namespace's own C library does not call the functions that pthread_atfork() of
// the host's C library was given.
static pid_t hook_fork(struct gorgon_ns *ns)
{
	pid_t pid;

	gorgon_before_fork();
	pid = ns->linked->libc.fork();
	gorgon_after_fork(!pid);
	return pid;
}

// --- the table ------------------------------------------------------------------------------

enum where {
	EVERYWHERE,
	WITH_OUTPUT,	// the host takes the program's output
	OWN_LIBC,	// the namespace has a C library of its own
	SHARED_LIBC,
};

// Where an entry has no target, ../process/interpose.c has the function.
static const struct {
	const char *name;
	void *target;
	unsigned args;
	enum where where;
} hooks[] = {
	// These go to the strategy, which lists the objects that come and go.
	{"dlopen", hook_dlopen, 2, EVERYWHERE},
	{"dlclose", hook_dlclose, 1, EVERYWHERE},
	{"dlerror", hook_dlerror, 0, EVERYWHERE},
	// exit() ends the interpreter and never the host, and so does the SIGINT that CPython sends
	// itself.
	{"exit", hook_exit, 1, EVERYWHERE},
	{"kill", hook_kill, 2, EVERYWHERE},
	// Each copy has its own handlers.
	{"sigaction", hook_sigaction, 3, EVERYWHERE},
	{"signal", hook_signal, 2, EVERYWHERE},
	// An interpreter is not unloaded under threads that its code has started.
	{"pthread_create", hook_pthread_create, 4, EVERYWHERE},
	{"write", hook_write, 3, WITH_OUTPUT},
	{"fork", hook_fork, 0, OWN_LIBC},
	{"getenv", hook_getenv, 1, OWN_LIBC},
	{"pthread_key_create", NULL, 0, OWN_LIBC},
	{"pthread_key_delete", hook_key_delete, 1, OWN_LIBC},
	{"pthread_getspecific", hook_key_get, 1, OWN_LIBC},
	{"pthread_setspecific", hook_key_set, 2, OWN_LIBC},
	// Without these, interpreters would decode in each other's locale.
	{"setlocale", NULL, 0, SHARED_LIBC},
	{"newlocale", NULL, 0, SHARED_LIBC},
	{"__newlocale", NULL, 0, SHARED_LIBC},
	// The environment is the interpreter's; sizes of thread pools.
	{"getenv", NULL, 0, SHARED_LIBC},
	{"secure_getenv", NULL, 0, SHARED_LIBC},
	// Only LMDB's calls are replaced (../process/lmdb.c).
	{"getpid", NULL, 0, SHARED_LIBC},
};

#define COUNT (sizeof(hooks) / sizeof(*hooks))

struct gorgon_error *gorgon_hooks_create(struct gorgon_ns *ns)
{
	struct gorgon_thunk list[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		list[i] = (struct gorgon_thunk){hooks[i].target, hooks[i].args, ns};
	return gorgon_thunks_create(list, COUNT, &ns->linked->thunks);
}

static bool applies(const struct gorgon_object *object, enum where where)
{
	bool own_libc = object->ns->linked->linker->own_libc;

	switch (where) {
	case WITH_OUTPUT:
		return object->ns->opts.write_output != NULL;
	case OWN_LIBC:
		return own_libc;
	case SHARED_LIBC:
		return !own_libc;
	default:
		return true;
	}
}

void *gorgon_hooks_find(const struct gorgon_object *object, const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(hooks[i].name, name) && applies(object, hooks[i].where))
			return hooks[i].target
				       ? gorgon_thunks_get(object->ns->linked->thunks, i)
				       : gorgon_interpose_find(object->ns, object, NULL, name);
	return object->ns->linked->linker->own_libc
		       ? NULL
		       : gorgon_interpose_find_of_process(object->ns, name);
}
