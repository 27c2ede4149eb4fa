// SPDX-License-Identifier: MIT
// One symfile for each object, or for all objects of a namespace?
//
// An object's own symfile refers to its DWARF, so that debuggers show lines and variables
// by themselves. But they pay for each, in memory and at every event: with tens of
// namespaces they get slow, with hundreds of no use. So, in GORGON_DEBUG_AUTO:
//
//	few    up to FEW_NAMESPACES with up to FEW_OBJECTS: each object its own
//	many   all objects of a namespace have one, with functions and lines; scripts attach the
//	       whole DWARF to the copies that matter. A namespace that there was then stays so
//
// Packing a namespace after each object that it loads would be a lot of work for nothing.
// Objects get symfiles of their own first, and when a namespace has been quiet for a while
// they are replaced. Nobody waits for that moment: it is looked for whenever some
// namespace loads something or ends. A namespace that has come to a set of libraries at which
// another one has been quiet is packed at once: it will load no more, either. So what is
// left alone is the last to come with a set of its own, and what all of them pay is one pause.
//
// Who waits for the lock is not quiet. To pack hundreds of libraries takes a while with the
// lock held, on a slow machine as long as the pause that is waited for: then each pack would
// make the next one due, of a namespace in the middle of its imports. So that time does not
// count, and a namespace with a thread that waits to load something is passed over.
//
// Where others want the processors, too, a pause in the middle of the imports is easily longer
// than any time that is fixed here. But so is packing. Therefore a namespace is quiet when its
// pause was twice as long as a pack has taken of late, and all packs together cannot take more
// than a part of the time. That is forgotten as further ones take less, and there is a limit to
// it: a debugger may have stopped us.
//
// When few become many, all of them are packed at once, quiet or not: perhaps nobody loads anything
// after that, and what they have is what debuggers pay most for. They pay once more when they are
// quiet, if they have loaded more.
//
// Namespaces that wait are in a queue, the one that has changed last at its end.

#define _GNU_SOURCE
#include "debug_mode.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "ns/ns.h"

#include <errno.h>
#include <jitreg.h>
#include <string.h>

#define FEW_NAMESPACES 8
#define FEW_OBJECTS    400
#define RESTED_COUNT   256

static struct gorgon_ns *first_waiting, *last_waiting;
static bool many;
static bool all_prepared; // what was loaded when there were few: its lines are made
static bool were_few; // until now: what is there has symfiles with DWARF
static uint64_t packing_ns; // how long the lock has been held for it
static uint64_t quiet_ns = GORGON_DEBUG_QUIET_NS;
static uint64_t rested[RESTED_COUNT]; // sets of images at which namespaces were quiet, by their numbers

// The time that counts for pauses.
static uint64_t free_time(void)
{
	return gorgon_now() - packing_ns;
}

static void leave_queue(struct gorgon_ns *ns)
{
	if (!ns->waiting)
		return;
	if (ns->prev_waiting)
		ns->prev_waiting->next_waiting = ns->next_waiting;
	else
		first_waiting = ns->next_waiting;
	if (ns->next_waiting)
		ns->next_waiting->prev_waiting = ns->prev_waiting;
	else
		last_waiting = ns->prev_waiting;
	ns->prev_waiting = ns->next_waiting = NULL;
	ns->waiting = false;
}

static void join_queue(struct gorgon_ns *ns)
{
	leave_queue(ns);
	ns->waiting = true;
	ns->prev_waiting = last_waiting;
	if (last_waiting)
		last_waiting->next_waiting = ns;
	else
		first_waiting = ns;
	last_waiting = ns;
}

// A number for the images of @ns, in whatever order they came. A set that gets the number of
// one that is gone is packed too early, no more.
static uint64_t set_of(const struct gorgon_ns *ns)
{
	uint64_t sum = 0, x;

	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		x = (uintptr_t)o->image * UINT64_C(0x9e3779b97f4a7c15);
		sum += x ^ x >> 32;
	}
	return sum;
}

static bool has_rested(const struct gorgon_ns *ns)
{
	uint64_t set = set_of(ns);

	return set && rested[set % RESTED_COUNT] == set;
}

static void remember(const struct gorgon_ns *ns)
{
	uint64_t set = set_of(ns);

	rested[set % RESTED_COUNT] = set;
}

static bool is_packed(struct gorgon_ns *ns)
{
	switch (ns->opts.debug) {
	case GORGON_DEBUG_LAZY:
		return true;
	case GORGON_DEBUG_AUTO:
		ns->lean |= many;
		return ns->lean;
	default:
		return false;
	}
}

// After a failure they stay as they are; the next change tries again.
static void pack(struct gorgon_ns *ns)
{
	int r = ns->jit_group ? jitreg_group_pack(ns->jit_group) : 0;

	if (r)
		gorgon_ns_log(ns, "what debuggers see is not packed: %s",
			      strerrordesc_np(-r) ?: "unknown error");
}

static uint64_t pause_after(uint64_t took)
{
	uint64_t pause = 2 * took > quiet_ns / 2 ? 2 * took : quiet_ns / 2;

	if (pause < GORGON_DEBUG_QUIET_NS)
		return GORGON_DEBUG_QUIET_NS;
	return pause < GORGON_DEBUG_QUIET_MAX_NS ? pause : GORGON_DEBUG_QUIET_MAX_NS;
}

// The time that it took.
static uint64_t pack_now(struct gorgon_ns *ns)
{
	uint64_t start = gorgon_now(), took;

	leave_queue(ns);
	pack(ns);
	took = gorgon_now() - start;
	packing_ns += took;
	return took;
}

static void pack_quiet(void)
{
	struct gorgon_ns *ns = first_waiting, *next;
	uint64_t now = free_time();

	for (; ns && now - ns->changed_at >= quiet_ns; ns = next) {
		next = ns->next_waiting;
		if (__atomic_load_n(&ns->about_to_load, __ATOMIC_RELAXED))
			continue;
		leave_queue(ns);
		if (!is_packed(ns))
			continue;
		remember(ns);
		quiet_ns = pause_after(pack_now(ns));
	}
}

// It still waits for its pause.
static void pack_early(struct gorgon_ns *ns)
{
	uint64_t start = gorgon_now();

	pack(ns);
	packing_ns += gorgon_now() - start;
}

static void pack_anew(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		join_queue(ns);
		if (is_packed(ns) && has_rested(ns))
			pack_now(ns);
		else if (is_packed(ns))
			pack_early(ns);
	}
	were_few = false;
}

// Also in the middle of a load, when nothing can be packed.
static void count(void)
{
	const struct gorgon_debug_root *root = &gorgon_debug_root;
	bool before = many;

	many = root->ns_count > FEW_NAMESPACES || root->object_count > FEW_OBJECTS;
	were_few |= many && !before;
	all_prepared &= many;
}

struct jitreg_prepared *gorgon_debug_mode_lock(struct gorgon_ns *ns, const char *path)
{
	struct jitreg_prepared *prepared = NULL;
	bool lean, all;

	__atomic_add_fetch(&ns->about_to_load, 1, __ATOMIC_RELAXED);
	gorgon_lock();
	lean = gorgon_debug_mode_is_lean(ns);
	all = many && !all_prepared;
	all_prepared |= many;
	gorgon_unlock();
	if (all)
		jitreg_prepare_registered();
	// A path that is searched for is found under the lock. What fails here fails there.
	if (path && *path == '/' && ns->opts.debug != GORGON_DEBUG_OFF &&
	    jitreg_prepare(path, lean ? JITREG_NAMES_ONLY : 0, &prepared))
		prepared = NULL;
	gorgon_lock();
	__atomic_sub_fetch(&ns->about_to_load, 1, __ATOMIC_RELAXED);
	return prepared;
}

void gorgon_debug_mode_unlock(struct jitreg_prepared *prepared)
{
	gorgon_unlock();
	jitreg_prepared_destroy(prepared);
}

bool gorgon_debug_mode_is_lean(struct gorgon_ns *ns)
{
	count(); // namespaces may have gone
	return is_packed(ns);
}

struct gorgon_error *gorgon_debug_mode_list(struct gorgon_ns *ns)
{
	int r = ns->jit_group ? jitreg_group_list(ns->jit_group) : 0;

	if (r == -ENOMEM)
		return &gorgon_error_nomem;
	if (r)
		gorgon_ns_log(ns, "debuggers were not told of what was loaded: %s",
			      strerrordesc_np(-r) ?: "unknown error");
	return NULL;
}

void gorgon_debug_mode_changed(struct gorgon_ns *ns)
{
	count();
	if (were_few)
		pack_anew();
	ns->changed_at = free_time();
	if (is_packed(ns) && has_rested(ns))
		pack_now(ns);
	else
		join_queue(ns);
	pack_quiet();
}

void gorgon_debug_mode_close(struct gorgon_ns *ns)
{
	leave_queue(ns);
	if (ns->jit_group)
		jitreg_group_close(ns->jit_group);
	pack_quiet();
}

void gorgon_debug_mode_forget(struct gorgon_ns *ns)
{
	leave_queue(ns); // its destructors may have loaded something
	jitreg_group_destroy(ns->jit_group);
	ns->jit_group = NULL;
	if (gorgon_ns_count() == 1) // it is the last
		memset(rested, 0, sizeof(rested));
}
