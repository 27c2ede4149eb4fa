// SPDX-License-Identifier: MIT
/*
 * The packs that there are: found again, built, and kept for a while when nobody has them.
 *
 * While an interpreter imports its modules there is a pack for each of them, until all of its
 * objects have one together. The next interpreter imports the same ones, and to build a
 * pack takes milliseconds. So those that nobody has any more are kept, the newest KEPT_BYTES of
 * them, as long as debuggers have anything of ours. They do not hold their companion,
 * which other processes may remove: whoever takes one up again looks whether the file is still
 * there.
 *
 * Packs are built outside the lock, so two threads can build the same one; the second drops its
 * own.
 */
#include "companion.h"
#include "descriptor.h"
#include "pack.h"

#include <stdlib.h>

#define KEPT_BYTES ((size_t)16 << 20)
/* Of hundreds of libraries: one would drive out all others. */
#define LARGE (KEPT_BYTES / 4)

/* Under jitreg_lock(): the newest first, chained as those in use are, of which they are none. */
static struct jitreg_template *kept;

static bool is_pack_of(const struct jitreg_template *t, const struct jitreg_member *members, size_t count,
		       bool with_lines)
{
	if (t->member_count != count || t->with_lines != with_lines)
		return false;
	for (size_t i = 0; i < count; i++)
		if (t->members[i].delta != members[i].delta ||
		    t->members[i].start != members[i].start || t->members[i].end != members[i].end ||
		    !jitreg_template_same_file(t->members[i].template, members[i].template))
			return false;
	return true;
}

static struct jitreg_template *find_locked(const struct jitreg_member *members, size_t count, bool with_lines)
{
	for (struct jitreg_template *t = jitreg_template_first(); t; t = t->next) {
		if (is_pack_of(t, members, count, with_lines)) {
			t->ref_count++;
			return t;
		}
	}
	return NULL;
}

static struct jitreg_template *take_kept_locked(const struct jitreg_member *members, size_t count, bool with_lines)
{
	struct jitreg_template **link = &kept, *found;

	while (*link && !is_pack_of(*link, members, count, with_lines))
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	return found;
}

static void destroy_chain(struct jitreg_template *first)
{
	while (first) {
		struct jitreg_template *next = first->next;

		jitreg_template_destroy(first);
		first = next;
	}
}

/* Cut off what is too much: the oldest. */
static struct jitreg_template *take_surplus_locked(void)
{
	struct jitreg_template **link = &kept, *surplus;
	size_t size = 0;

	while (*link && (size += (*link)->size) <= KEPT_BYTES)
		link = &(*link)->next;
	surplus = *link;
	*link = NULL;
	return surplus;
}

void jitreg_packs_keep(struct jitreg_template *template)
{
	struct jitreg_template *surplus;

	if (template->size > LARGE) {
		jitreg_template_destroy(template);
		return;
	}
	jitreg_companion_let_go(&template->companion);
	jitreg_companion_let_go(&template->bare);
	jitreg_lock();
	template->next = kept;
	kept = template;
	surplus = take_surplus_locked();
	jitreg_unlock();
	destroy_chain(surplus);
	jitreg_packs_settle();
}

void jitreg_packs_settle(void)
{
	struct jitreg_template *all = NULL;

	jitreg_lock();
	if (!jitreg_debug_root.entry_count) {
		all = kept;
		kept = NULL;
	}
	jitreg_unlock();
	destroy_chain(all);
}

/* In use, or kept and still good. */
static struct jitreg_template *find(const struct jitreg_member *members, size_t count, bool with_lines,
				    struct jitreg_template **ret_kept)
{
	struct jitreg_template *found;

	jitreg_lock();
	found = find_locked(members, count, with_lines);
	*ret_kept = found ? NULL : take_kept_locked(members, count, with_lines);
	jitreg_unlock();
	if (*ret_kept && (!jitreg_companion_hold(&(*ret_kept)->companion) || !jitreg_companion_hold(&(*ret_kept)->bare))) {
		jitreg_template_destroy(*ret_kept);
		*ret_kept = NULL;
	}
	return found;
}

int jitreg_pack_acquire(const struct jitreg_member *members, size_t count, bool with_lines,
			struct jitreg_template **ret)
{
	struct jitreg_template *new;
	int r;

	*ret = find(members, count, with_lines, &new);
	if (*ret)
		return 0;
	r = new ? 0 : jitreg_pack_create(members, count, with_lines, &new);
	if (r)
		return r;
	jitreg_lock();
	*ret = find_locked(members, count, with_lines); // another thread's
	if (!*ret)
		jitreg_template_add(new);
	jitreg_unlock();
	if (*ret)
		jitreg_template_destroy(new);
	else
		*ret = new;
	return 0;
}
