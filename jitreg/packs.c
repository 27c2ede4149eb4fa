// SPDX-License-Identifier: MIT
/*
 * The model of a pack: found in use, taken out of what is kept, or built.
 *
 * Packs are built outside the lock, so two threads can build equal packs; the second drops its
 * pack and uses the first.
 */
#include "cache.h"
#include "descriptor.h"
#include "pack.h"
#include "models.h"

/* The pack that is asked for. */
struct wanted {
	const struct jitreg_member *members;
	size_t count;
	bool with_lines;
};

static bool is_wanted(const struct jitreg_model *t, const void *ctx)
{
	const struct wanted *wanted = ctx;

	if (t->member_count != wanted->count || t->with_lines != wanted->with_lines)
		return false;
	for (size_t i = 0; i < wanted->count; i++)
		if (t->members[i].delta != wanted->members[i].delta ||
		    t->members[i].start != wanted->members[i].start ||
		    t->members[i].end != wanted->members[i].end ||
		    !jitreg_model_same_file(t->members[i].model, wanted->members[i].model))
			return false;
	return true;
}

static struct jitreg_model *find_locked(const struct wanted *wanted)
{
	for (struct jitreg_model *t = jitreg_model_first(); t; t = t->next) {
		if (is_wanted(t, wanted)) {
			t->ref_count++;
			return t;
		}
	}
	return NULL;
}

/* Returns a pack in use; or *@ret_kept is a kept pack whose files are still there. */
static struct jitreg_model *packs_find(const struct wanted *wanted,
				       struct jitreg_model **ret_kept)
{
	struct jitreg_model *found;

	jitreg_lock();
	found = find_locked(wanted);
	*ret_kept = found ? NULL : jitreg_model_take_kept(is_wanted, wanted);
	jitreg_unlock();
	if (*ret_kept && (!jitreg_companion_hold(&(*ret_kept)->companion) ||
			  !jitreg_companion_hold(&(*ret_kept)->bare))) {
		jitreg_model_destroy(*ret_kept);
		*ret_kept = NULL;
	}
	return found;
}

/* The model holds its members' models. */
static int packs_build(const struct wanted *wanted, struct jitreg_model **ret)
{
	int r;

	for (size_t i = 0; i < wanted->count; i++)
		jitreg_model_hold(wanted->members[i].model);
	r = jitreg_pack_create(wanted->members, wanted->count, wanted->with_lines, ret);
	for (size_t i = 0; r && i < wanted->count; i++)
		jitreg_model_release(wanted->members[i].model);
	return r;
}

int jitreg_pack_acquire(const struct jitreg_member *members, size_t count, bool with_lines,
			struct jitreg_model **ret)
{
	const struct wanted wanted = {members, count, with_lines};
	struct jitreg_model *new;
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
		jitreg_model_add(new);
	jitreg_unlock();
	if (*ret)
		jitreg_model_destroy(new);
	else
		*ret = new;
	return 0;
}
