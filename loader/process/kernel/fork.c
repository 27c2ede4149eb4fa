// SPDX-License-Identifier: MIT
// Handlers of fork() that private code has registered (pthread_atfork(3)).
//
// A handler of one copy that takes its GIL, uvloop's for one, waits for ever in the child of
// another: the thread that has the GIL is not there. Such handlers put in order what the child
// goes on to use, and that is the copy that has forked alone. So handlers are kept here, and a
// fork() of private code runs the handlers of its own namespace. After a fork() of the host, or of
// a shared library, any code may run: it runs all handlers.
//
// The list changes under the loader's lock, which is never held while a handler runs: it is taken
// after the handlers before a fork() and released before those after it (../../dl/atfork.c), so
// that a child finds the list whole. Each handler has a number; a fork() that has begun knows none
// that came later.

#define _GNU_SOURCE
#include "fork.h"
#include "signal_views.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/object.h"
#include "file/grow.h"

#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHASES = 3 };

static struct handler {
	uint64_t number;
	const struct gorgon_ns *ns;
	uintptr_t owner; // an address in the object that registered it
	void (*fns[PHASES])(void);
} *handlers; // by number
static size_t handler_count;
static uint64_t last_number;

static const struct gorgon_ns *forked_by; // whose code has made this process; NULL: somebody else's
static _Thread_local const struct gorgon_ns *forking; // whose code forks; NULL: somebody else
static _Thread_local uint64_t last_before;	      // handlers up to this one know of the fork

static int fork_add(const struct gorgon_ns *ns, uintptr_t owner, void (*prepare)(void),
		    void (*parent)(void), void (*child)(void))
{
	struct handler *added;

	gorgon_lock();
	added = jitreg_add(&handlers, &handler_count, sizeof(*added));
	if (added)
		*added = (struct handler){++last_number, ns, owner, {prepare, parent, child}};
	gorgon_unlock();
	return added ? 0 : ENOMEM;
}

int gorgon_register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			   void *dso, struct gorgon_ns *ns)
{
	return fork_add(ns, (uintptr_t)dso, prepare, parent, child);
}

// Libraries that were linked with an old C library call this. It does not get the caller's object.
int gorgon_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			  struct gorgon_ns *ns)
{
	return fork_add(ns, (uintptr_t)(prepare ?: parent ?: child), prepare, parent, child);
}

// Under the loader's lock.
void gorgon_fork_drop(const struct gorgon_object *object)
{
	size_t kept = 0;

	for (size_t i = 0; i < handler_count; i++)
		if (handlers[i].owner < object->start || handlers[i].owner >= object->end)
			handlers[kept++] = handlers[i];
	handler_count = kept;
	if (kept)
		return;
	free(handlers);
	handlers = NULL;
}

// The handler to run after number @number: the next larger number or, before a fork, the next
// smaller.
static void (*fork_next(enum gorgon_fork_phase phase, uint64_t *number))(void)
{
	const struct handler *found = NULL;
	void (*fn)(void) = NULL;

	gorgon_lock();
	for (size_t i = 0; i < handler_count; i++) {
		const struct handler *h = &handlers[i];

		if (!h->fns[phase] || (forking && h->ns != forking) || h->number > last_before)
			continue;
		if (phase == GORGON_FORK_PREPARE && h->number < *number)
			found = h;
		if (phase != GORGON_FORK_PREPARE && h->number > *number && !found)
			found = h;
	}
	if (found) {
		*number = found->number;
		fn = found->fns[phase];
	}
	gorgon_unlock();
	return fn;
}

static void fork_run(enum gorgon_fork_phase phase, uint64_t number)
{
	void (*fn)(void);

	while ((fn = fork_next(phase, &number)))
		fn();
}

void gorgon_fork_prepare(void)
{
	gorgon_lock();
	last_before = last_number;
	gorgon_unlock();
	fork_run(GORGON_FORK_PREPARE, UINT64_MAX);
}

void gorgon_fork_done(bool child)
{
	if (child)
		forked_by = forking;
	fork_run(child ? GORGON_FORK_CHILD : GORGON_FORK_PARENT, 0);
}

void gorgon_fork_rehearse(struct gorgon_ns *ns, enum gorgon_fork_phase phase)
{
	const struct gorgon_ns *outer = forking;

	forking = ns;
	if (phase == GORGON_FORK_PREPARE)
		gorgon_fork_prepare();
	else
		fork_run(phase, 0);
	forking = outer;
}

void gorgon_fork_each(const struct gorgon_ns *ns,
		      void (*fn)(void *ctx, void (*const fns[3])(void), uintptr_t owner), void *ctx)
{
	for (size_t i = 0; i < handler_count; i++)
		if (handlers[i].ns == ns)
			fn(ctx, handlers[i].fns, handlers[i].owner);
}

bool gorgon_fork_add(const struct gorgon_ns *ns, uintptr_t owner, void (*const fns[3])(void))
{
	return !fork_add(ns, owner, fns[0], fns[1], fns[2]);
}

bool gorgon_fork_has_made_us(const struct gorgon_ns *ns)
{
	return forked_by == ns;
}

const struct gorgon_ns *gorgon_fork_caller(void)
{
	return forking;
}

// A function of the host that code of the namespace has called may fork, too: then the child is as
// the program's.
bool gorgon_fork_keeps(const struct gorgon_ns *ns)
{
	return !forking && gorgon_views_of_thread() != ns->signals;
}

pid_t gorgon_fork(struct gorgon_ns *ns)
{
	const struct gorgon_ns *outer = forking; // a handler may fork
	pid_t ret;

	forking = ns;
	ret = fork();
	forking = outer;
	return ret;
}

int gorgon_forkpty(int *master, char *name, const struct termios *termios,
		   const struct winsize *size, struct gorgon_ns *ns)
{
	const struct gorgon_ns *outer = forking;
	int ret;

	forking = ns;
	ret = forkpty(master, name, termios, size);
	forking = outer;
	return ret;
}
