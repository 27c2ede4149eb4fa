// SPDX-License-Identifier: MIT
/*
 * The template of a pack: found in use, taken out of what is kept, or built.
 *
 * Packs are built outside the lock, so two threads can build equal packs; the second drops its
 * pack and uses the first.
 */
#include "cache.h"
#include "descriptor.h"
#include "pack.h"
#include "templates.h"

/* The pack that is asked for. */
struct wanted {
	const struct jitreg_member *members;
	size_t count;
	bool with_lines;
};

static bool is_wanted(const struct jitreg_template *t, const void *ctx)
{
	const struct wanted *wanted = ctx;

	if (t->member_count != wanted->count || t->with_lines != wanted->with_lines)
		return false;
	for (size_t i = 0; i < wanted->count; i++)
		if (t->members[i].delta != wanted->members[i].delta ||
		    t->members[i].start != wanted->members[i].start ||
		    t->members[i].end != wanted->members[i].end ||
		    !jitreg_template_same_file(t->members[i].template, wanted->members[i].template))
			return false;
	return true;
}

static struct jitreg_template *find_locked(const struct wanted *wanted)
{
	for (struct jitreg_template *t = jitreg_template_first(); t; t = t->next) {
		if (is_wanted(t, wanted)) {
			t->ref_count++;
			return t;
		}
	}
	return NULL;
}

/* Returns a pack in use; or *@ret_kept is a kept pack whose files are still there. */
static struct jitreg_template *packs_find(const struct wanted *wanted,
					  struct jitreg_template **ret_kept)
{
	struct jitreg_template *found;

	jitreg_lock();
	found = find_locked(wanted);
	*ret_kept = found ? NULL : jitreg_template_take_kept(is_wanted, wanted);
	jitreg_unlock();
	if (*ret_kept && (!jitreg_companion_hold(&(*ret_kept)->companion) ||
			  !jitreg_companion_hold(&(*ret_kept)->bare))) {
		jitreg_template_destroy(*ret_kept);
		*ret_kept = NULL;
	}
	return found;
}

/* The template holds its members' templates. */
static int packs_build(const struct wanted *wanted, struct jitreg_template **ret)
{
	int r;

	for (size_t i = 0; i < wanted->count; i++)
		jitreg_template_hold(wanted->members[i].template);
	r = jitreg_pack_create(wanted->members, wanted->count, wanted->with_lines, ret);
	for (size_t i = 0; r && i < wanted->count; i++)
		jitreg_template_release(wanted->members[i].template);
	return r;
}

int jitreg_pack_acquire(const struct jitreg_member *members, size_t count, bool with_lines,
			struct jitreg_template **ret)
{
	const struct wanted wanted = {members, count, with_lines};
	struct jitreg_template *new;
	int r;

	*ret = packs_find(&wanted, &new);
	if (*ret)
		return 0;
	r = new ? 0 : packs_build(&wanted, &new);
	if (r)
		return r;
	jitreg_lock();
	*ret = find_locked(&wanted); // another thread's
	if (!*ret)
		jitreg_template_add(new);
	jitreg_unlock();
	if (*ret)
		jitreg_template_destroy(new);
	else
		*ret = new;
	return 0;
}
