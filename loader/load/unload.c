// SPDX-License-Identifier: MIT
// Unloading.
//
// An object stays while somebody has it open, if it was told to stay (DF_1_NODELETE, RTLD_NODELETE,
// a GNU_UNIQUE definition in use), while some thread has thread_local variables of it to destroy,
// or while an object that stays needs it (DT_NEEDED) or is bound to a symbol of it. All others are
// doomed: they are no longer found by their names, and their destructors run in reverse order of
// initialisation. The first of them is unmapped when the destructors of all have run, and when
// nobody walks through the objects (dl_iterate_phdr()): the last walker unmaps what has been closed
// meanwhile. So dlclose() does not wait for a walk, whose callback may close.

#define _GNU_SOURCE
#include "destroy.h"
#include "init.h"
#include "unload.h"
#include "debug/publish.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/threads/thread_dtors.h"

#include <stdlib.h>

static void mark_reachable(struct gorgon_object *object)
{
	if (object->mark)
		return;
	object->mark = true;
	for (size_t i = 0; i < object->dep_count; i++)
		mark_reachable(object->deps[i]);
	for (size_t i = 0; i < object->ref_count; i++)
		mark_reachable(object->refs[i]);
}

// An object whose constructors are running stays, with what it needs.
static bool is_root(const struct gorgon_object *object)
{
	return !object->doomed &&
	       (object->open_count || object->nodelete || object->image->nodelete ||
		object->state != GORGON_OBJECT_READY || gorgon_thread_has_dtors(object));
}

// Mark the objects that do not stay as doomed, and count them.
static size_t unload_doom(struct gorgon_ns *ns)
{
	size_t count = 0;

	for (struct gorgon_object *o = ns->first; o; o = o->next)
		if (is_root(o))
			mark_reachable(o);
	for (struct gorgon_object *o = ns->first; o; o = o->next) {
		o->doomed |= !o->mark;
		count += !o->mark;
		o->mark = false;
	}
	return count;
}

static bool is_to_finalise(const struct gorgon_object *object)
{
	return object->doomed && object->state == GORGON_OBJECT_READY;
}

static bool is_to_end(const struct gorgon_object *object)
{
	return !object->ended && object->state == GORGON_OBJECT_READY;
}

// Finalise the objects that are to be, the last initialised first. The lock is released around
// destructors, which may load and unload: the list is searched anew each time.
static void finalise_each(struct gorgon_ns *ns, bool (*is_to)(const struct gorgon_object *object),
			  void (*finalise)(struct gorgon_object *object))
{
	for (;;) {
		struct gorgon_object *last = NULL;

		for (struct gorgon_object *o = ns->first; o; o = o->next)
			if (is_to(o) && (!last || o->init_order > last->init_order))
				last = o;
		if (!last)
			return;
		finalise(last);
	}
}

static void finalise_doomed(struct gorgon_ns *ns)
{
	finalise_each(ns, is_to_finalise, gorgon_fini_run);
}

// What destructors close meanwhile goes with the namespace.
void gorgon_unload_end_program(struct gorgon_ns *ns)
{
	ns->unloading++;
	finalise_each(ns, is_to_end, gorgon_fini_run_early);
	ns->unloading--;
}

void gorgon_unload_destroy_doomed(struct gorgon_ns *ns)
{
	struct gorgon_object *prev;

	for (struct gorgon_object *o = ns->last; o; o = prev) {
		prev = o->prev;
		if (o->doomed)
			gorgon_object_destroy(o);
	}
}

static void destroy_unless_used(struct gorgon_ns *ns)
{
	if (!ns->unloading && !ns->walks)
		gorgon_unload_destroy_doomed(ns);
}

void gorgon_walk_begin(struct gorgon_ns *ns, struct gorgon_walk *walk)
{
	walk->thread = pthread_self();
	walk->next = ns->walks;
	ns->walks = walk;
}

void gorgon_walk_end(struct gorgon_ns *ns, struct gorgon_walk *walk)
{
	struct gorgon_walk **p = &ns->walks;

	while (*p != walk)
		p = &(*p)->next;
	*p = walk->next;
	free(walk);
	destroy_unless_used(ns);
}

static void drop_walks(struct gorgon_ns *ns, bool of_this_thread, bool of_others)
{
	for (struct gorgon_walk **p = &ns->walks, *walk; (walk = *p);) {
		if (pthread_equal(walk->thread, pthread_self()) ? of_this_thread : of_others) {
			*p = walk->next;
			free(walk);
		} else {
			p = &walk->next;
		}
	}
}

void gorgon_walk_after_fork(struct gorgon_ns *ns)
{
	drop_walks(ns, false, true);
}

void gorgon_walk_drop_all(struct gorgon_ns *ns)
{
	drop_walks(ns, true, true);
}

void gorgon_ns_close(struct gorgon_ns *ns, struct gorgon_object *object)
{
	if (object->open_count)
		object->open_count--;
	// A destructor calls this, or another thread is running one. Objects that are doomed
	// already have their turn in the unload that is under way, and objects that this close
	// dooms come after it. If they were finalised here, so would be an object that the running
	// destructor still needs.
	if (ns->unloading) {
		ns->unload_again = true;
		return;
	}
	ns->unloading++;
	do {
		ns->unload_again = false;
		if (unload_doom(ns))
			finalise_doomed(ns);
	} while (ns->unload_again);
	ns->unloading--;
	destroy_unless_used(ns);
}

// Mark all objects as doomed. Returns whether there was one that was not doomed before.
static bool doom_all(struct gorgon_ns *ns)
{
	bool any = false;

	for (struct gorgon_object *o = ns->first; o; o = o->next) {
		any |= !o->doomed;
		o->doomed = true;
	}
	return any;
}

void gorgon_unload_drop_all(struct gorgon_ns *ns)
{
	ns->unloading++;
	doom_all(ns);
	for (struct gorgon_object *o = ns->first; o; o = o->next)
		if (o->state == GORGON_OBJECT_READY)
			o->state = GORGON_OBJECT_FINALISED;
}

void gorgon_unload_finalise_all(struct gorgon_ns *ns)
{
	ns->unloading++;
	while (doom_all(ns)) // destructors may have loaded objects
		finalise_doomed(ns);
}
