// SPDX-License-Identifier: MIT
// One symfile for each object, or for all objects of a namespace?
//
// An object's own symfile refers to its DWARF, so that debuggers show lines and variables by
// themselves. But debuggers pay for each symfile, in memory and at every event: tens of namespaces
// make them slow, and with hundreds they are of no use. So GORGON_DEBUG_AUTO has two cases:
//
//	few    up to FEW_NAMESPACES namespaces with up to FEW_OBJECTS objects: each object has a
//	       symfile of its own
//	many   all objects of a namespace have one symfile together, a pack, with functions and
//	       lines; scripts attach the whole DWARF to the copies that matter. The namespaces of
//	       that time keep their packs when others go
//
// Packing a namespace after each object that it loads would be a lot of work for nothing. So
// objects get symfiles of their own first. A namespace is packed
//
//	when it has loaded nothing for a while (QUIET_NS), and no thread waits for the lock to
//	load something into it;
//	at once, when it has the same set of libraries at which another namespace has been quiet,
//	because it will load no more, either;
//	at once when few become many, whatever it is doing: perhaps nobody loads anything after that,
//	and the symfiles of the first few cost debuggers most. A namespace in the middle of
//	its imports gets a pack for each object, because nobody else would use a pack of what it has at
//	this moment. All of its objects are packed together when it is quiet.
//
// No thread waits for such a moment. Whenever some namespace has loaded something or ended, the
// caller looks whether one has come. The caller then makes a pack, and further packs until they
// have taken BUDGET_NS together; the next caller goes on. One thread at a time packs. So in the end
// at most the last namespace with a set that no other has is not packed.
//
// A pack is built without the loader's lock: a namespace leaves the queue, libjitreg notes which
// objects it has, the lock is released, and taken again to list the pack. If the namespace has
// loaded something meanwhile, it waits in the queue again, and the pack is thrown away; if the
// namespace is gone, so is the pack. In a child that is forked meanwhile the namespace stays as it
// is until it loads something.
//
// The pause must be long compared with the time that packing takes. Otherwise, on a slow machine,
// packing hundreds of libraries is itself the pause after which the next namespace is packed, in
// the middle of its imports.
//
// Namespaces that wait are in a queue. The namespace that has changed last is at its end; a
// namespace with a known set goes to its front.

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
#define QUIET_SETS     256

// What is known of a namespace.
struct gorgon_debug_mode_ns {
	struct gorgon_ns *ns;
	struct gorgon_debug_mode_ns *next, *prev; // in the queue
	uint64_t changed_at;	// when it loaded last
	unsigned about_to_load; // threads that wait for the lock to load; atomic
	bool waiting;		// in the queue
	bool due;		// is to be packed whatever it does
	// there were many at some time of its life: its objects have names, and no DWARF
	bool names_only;
};

static struct gorgon_debug_mode_ns *first_waiting, *last_waiting;
static bool many;
static bool all_prepared; // the lines of what was loaded when there were few have been made
static bool were_few; // there were few until now: objects have symfiles with DWARF
static bool is_due_to_look; // a namespace has loaded something or ended since the last look
static bool somebody_packs;
// sets of images at which namespaces were quiet, by their numbers
static uint64_t quiet_sets[QUIET_SETS];

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

// A number for the set of images of @ns, in whatever order they came. If two sets have one number,
// a namespace may be packed too early, which does no harm.
static uint64_t set_of(const struct gorgon_ns *ns)
{
	uint64_t sum = 0, x;

	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		x = (uintptr_t)o->image * UINT64_C(0x9e3779b97f4a7c15);
		sum += x ^ x >> 32;
	}
	return sum;
}

static bool was_quiet(const struct gorgon_ns *ns)
{
	uint64_t set = set_of(ns);

	return set && quiet_sets[set % QUIET_SETS] == set;
}

static void mode_remember(const struct gorgon_ns *ns)
{
	uint64_t set = set_of(ns);

	quiet_sets[set % QUIET_SETS] = set;
}

static bool is_packed(struct gorgon_ns *ns)
{
	switch (ns->opts.debug) {
	case GORGON_DEBUG_LAZY:
		return true;
	case GORGON_DEBUG_AUTO:
		ns->debug_mode->names_only |= many;
		return ns->debug_mode->names_only;
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

// A namespace with singly packed objects waits on: they are packed together when it is quiet.
static void mode_packed(struct gorgon_debug_mode_ns *mode, bool done, bool singly)
{
	if (singly && !done)
		jump_queue(mode);
	else if ((singly || !done) && !mode->waiting)
		join_queue(mode);
}

// The lock is released meanwhile. After a failure debuggers see what they have seen before, and the
// next change of the namespace makes another attempt.
static void mode_pack(struct gorgon_ns *ns, bool singly)
{
	struct jitreg_packing *packing = NULL;
	uint64_t id = ns->debug.id;
	int r = ns->jit_group ? jitreg_packing_begin(ns->jit_group, singly, &packing) : 0;

	if (packing) {
		gorgon_unlock();
		r = jitreg_packing_build(packing);
		gorgon_lock();
		ns = find_ns(id);
	}
	if (!r && ns)
		mode_packed(ns->debug_mode,
			    !packing ||
				    (ns->jit_group && !jitreg_packing_end(packing, ns->jit_group)),
			    singly);
	jitreg_packing_destroy(packing);
	if (r && ns)
		gorgon_ns_log(ns, "what debuggers see is not packed: %s",
			      strerrordesc_np(-r) ?: "unknown error");
}

// Take a namespace that can be packed out of the queue, first one that is due, then the one that
// has been quiet longest; or NULL. @ret_singly: it is in the middle of its imports.
static struct gorgon_ns *take_next(bool *ret_singly)
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
		// a namespace without objects comes back when it has loaded something
		if (!is_packed(mode->ns) || !mode->ns->first)
			continue;
		if (quiet)
			mode_remember(mode->ns);
		*ret_singly = !was_quiet(mode->ns);
		return mode->ns;
	}
	return NULL;
}

static void pack_due(void)
{
	uint64_t start = gorgon_now();
	struct gorgon_ns *ns;
	bool singly;

	if (somebody_packs || !is_due_to_look)
		return;
	is_due_to_look = false;
	somebody_packs = true;
	while (gorgon_now() - start < BUDGET_NS && (ns = take_next(&singly)))
		mode_pack(ns, singly);
	somebody_packs = false;
}

// There are many namespaces now, so the first few are packed, too.
static void all_are_due(void)
{
	for (struct gorgon_ns *ns = gorgon_ns_next(NULL); ns; ns = gorgon_ns_next(ns)) {
		join_queue(ns->debug_mode);
		ns->debug_mode->due = true;
	}
	were_few = false;
}

// This may be called in the middle of a load, when nothing can be packed.
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
	bool names_only, all;

	__atomic_add_fetch(&ns->debug_mode->about_to_load, 1, __ATOMIC_RELAXED);
	gorgon_lock();
	names_only = gorgon_debug_mode_wants_names_only(ns);
	all = many && !all_prepared;
	all_prepared |= many;
	gorgon_unlock();
	if (all)
		jitreg_prepare_registered();
	// A name that has to be searched for is looked up under the lock. Whatever fails here fails
	// there, too, and is said.
	if (path && *path == '/' && ns->opts.debug != GORGON_DEBUG_OFF &&
	    jitreg_prepare(path, names_only ? JITREG_NAMES_ONLY : 0, &prepared))
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

bool gorgon_debug_mode_wants_names_only(struct gorgon_ns *ns)
{
	update_many(); // namespaces may have ended
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
	else if (is_packed(ns) && (ns->debug_mode->due || was_quiet(ns)))
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
		memset(quiet_sets, 0, sizeof(quiet_sets));
}
