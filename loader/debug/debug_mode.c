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
// Packing a namespace after each object that it loads would be a lot of work for nothing. Objects
// get symfiles of their own first, and are packed
//
//	when their namespace has loaded nothing for a while (QUIET_NS), and no thread waits for the
//	lock to load something into it;
//	at once, when it has come to a set of libraries at which another namespace has been quiet:
//	it will load no more, either;
//	when few become many, whatever they do: perhaps nobody loads anything after that, and they
//	are what debuggers pay most for. What they load later is packed when they are quiet.
//
// There is no thread that waits for such a moment: it is looked for whenever some namespace has loaded
// something or ended. The caller then makes a pack, and further packs until they have taken BUDGET_NS
// together; the next caller goes on. A single thread packs at a time. So in the end at most the last
// namespace with a set of its own is not packed.
//
// A pack is built without the loader's lock: a namespace leaves the queue, libjitreg notes what it
// has, the lock is given up, and held again when the pack is listed. If the namespace has loaded
// something meanwhile it waits in the queue again, and the pack is thrown away; if it has gone, too.
// In a child that is forked meanwhile it stays as it is until it loads something.
//
// The pause has to be long beside what packing takes, or else hundreds of libraries, packed on a slow
// machine, make the pause for the next one, in the middle of its imports.
//
// Namespaces that wait are in a queue, the one that has changed last at its end; those with a known set jump it.

#define _GNU_SOURCE
#include "debug_mode.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "ns/ns.h"

#include <errno.h>
#include <jitreg.h>
#include <stdlib.h>
#include <string.h>

#define FEW_NAMESPACES 8
#define FEW_OBJECTS    400
#define QUIET_NS       1000000000u
#define BUDGET_NS      100000000u
#define RESTED_COUNT   256

// The state of a namespace.
struct gorgon_debug_mode_ns {
	struct gorgon_ns *ns;
	struct gorgon_debug_mode_ns *next, *prev; // in the queue
	uint64_t changed_at;	// when it loaded last
	unsigned about_to_load; // threads that wait for the lock to load; atomic
	bool waiting;		// in the queue
	bool due;		// is to be packed whatever it does
	bool lean;		// has come when there were many, or was there then
};

static struct gorgon_debug_mode_ns *first_waiting, *last_waiting;
static bool many;
static bool all_prepared; // what was loaded when there were few: its lines are made
static bool were_few; // until now: what is there has symfiles with DWARF
static bool is_due_to_look; // something has loaded or ended since the last look
static bool somebody_packs;
static uint64_t rested[RESTED_COUNT]; // sets of images at which namespaces were quiet, by their numbers

struct gorgon_debug_mode_ns *gorgon_debug_mode_create(struct gorgon_ns *ns)
{
	struct gorgon_debug_mode_ns *mode = calloc(1, sizeof(*mode));

	if (mode)
		mode->ns = ns;
	return mode;
}

static void leave_queue(struct gorgon_debug_mode_ns *mode)
{
	if (!mode->waiting)
		return;
	if (mode->prev)
		mode->prev->next = mode->next;
	else
		first_waiting = mode->next;
	if (mode->next)
		mode->next->prev = mode->prev;
	else
		last_waiting = mode->prev;
	mode->prev = mode->next = NULL;
	mode->waiting = mode->due = false;
}

static void join_queue(struct gorgon_debug_mode_ns *mode)
{
	leave_queue(mode);
	mode->waiting = true;
	mode->prev = last_waiting;
	if (last_waiting)
		last_waiting->next = mode;
	else
		first_waiting = mode;
	last_waiting = mode;
}

static void jump_queue(struct gorgon_debug_mode_ns *mode)
{
	leave_queue(mode);
	mode->waiting = mode->due = true;
	mode->next = first_waiting;
	if (first_waiting)
		first_waiting->prev = mode;
	else
		last_waiting = mode;
	first_waiting = mode;
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
		ns->debug_mode->lean |= many;
		return ns->debug_mode->lean;
	default:
		return false;
	}
}

static struct gorgon_ns *find_ns(uint64_t id)
{
	struct gorgon_ns *ns = gorgon_ns_next(NULL);

	while (ns && ns->debug.id != id)
		ns = gorgon_ns_next(ns);
	return ns;
}

// The lock is given up meanwhile. After a failure debuggers see what they have seen; the next
// change tries again.
static void pack(struct gorgon_ns *ns)
{
	struct jitreg_packing *packing = NULL;
	uint64_t id = ns->debug.id;
	int r = ns->jit_group ? jitreg_packing_begin(ns->jit_group, &packing) : 0;

	if (packing) {
		gorgon_unlock();
		r = jitreg_packing_build(packing);
		gorgon_lock();
		ns = find_ns(id);
		if (!r && ns && ns->jit_group && jitreg_packing_end(packing, ns->jit_group) && !ns->debug_mode->waiting)
			join_queue(ns->debug_mode);
		jitreg_packing_destroy(packing);
	}
	if (r && ns)
		gorgon_ns_log(ns, "what debuggers see is not packed: %s",
			      strerrordesc_np(-r) ?: "unknown error");
}

// Out of the queue, where those that are due come first, then the others, the oldest first. Or NULL.
static struct gorgon_ns *take_next(void)
{
	struct gorgon_debug_mode_ns *mode = first_waiting, *next;
	uint64_t now = gorgon_now();

	for (; mode; mode = next) {
		bool quiet = now - mode->changed_at >= QUIET_NS;

		if (!quiet && !mode->due)
			return NULL;
		next = mode->next;
		if (!mode->due && __atomic_load_n(&mode->about_to_load, __ATOMIC_RELAXED))
			continue;
		leave_queue(mode);
		if (!is_packed(mode->ns))
			continue;
		if (quiet)
			remember(mode->ns);
		return mode->ns;
	}
	return NULL;
}

static void pack_due(void)
{
	uint64_t start = gorgon_now();
	struct gorgon_ns *ns;

	if (somebody_packs || !is_due_to_look)
		return;
	is_due_to_look = false;
	somebody_packs = true;
	while (gorgon_now() - start < BUDGET_NS && (ns = take_next()))
		pack(ns);
	somebody_packs = false;
}

// There are many namespaces now: full symfiles of the first few become packs, too.
static void all_are_due(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		join_queue(ns->debug_mode);
		ns->debug_mode->due = true;
	}
	were_few = false;
}

// Also in the middle of a load, when nothing can be packed.
static void update_many(void)
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

	__atomic_add_fetch(&ns->debug_mode->about_to_load, 1, __ATOMIC_RELAXED);
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
	__atomic_sub_fetch(&ns->debug_mode->about_to_load, 1, __ATOMIC_RELAXED);
	return prepared;
}

void gorgon_debug_mode_unlock(struct jitreg_prepared *prepared)
{
	pack_due();
	gorgon_unlock();
	jitreg_prepared_destroy(prepared);
}

bool gorgon_debug_mode_is_lean(struct gorgon_ns *ns)
{
	update_many(); // namespaces may have gone
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
	update_many();
	is_due_to_look = true;
	ns->debug_mode->changed_at = gorgon_now();
	if (were_few)
		all_are_due();
	else if (is_packed(ns) && has_rested(ns))
		jump_queue(ns->debug_mode);
	else
		join_queue(ns->debug_mode);
}

void gorgon_debug_mode_close(struct gorgon_ns *ns)
{
	is_due_to_look = true;
	leave_queue(ns->debug_mode);
	if (ns->jit_group)
		jitreg_group_close(ns->jit_group);
}

void gorgon_debug_mode_after_fork(void)
{
	somebody_packs = false;
}

void gorgon_debug_mode_forget(struct gorgon_ns *ns)
{
	leave_queue(ns->debug_mode); // its destructors may have loaded something
	jitreg_group_destroy(ns->jit_group);
	ns->jit_group = NULL;
	if (gorgon_ns_count() == 1) // it is the last
		memset(rested, 0, sizeof(rested));
}
