// SPDX-License-Identifier: MIT
/*
 * The cache of templates: it finds a template again, counts its users, and keeps packs for a while after their last user.
 *
 * A list of templates keyed by path, device, inode, size and time of modification. The path is part
 * of the key because the symfile can contain it. Templates are built outside the lock (building
 * reads files and may dlopen()), so two threads can build the same one; the second drops its own.
 *
 * While an interpreter imports its modules there is a pack for each of them, until all of its
 * objects have one together. The next interpreter imports the same ones, and to build a pack takes
 * milliseconds. So those that nobody has any more are kept, the newest KEPT_BYTES of them, as long as
 * debuggers have anything of ours. They do not hold their companion, which other processes may
 * remove: whoever takes one up again looks whether the file is still there (packs.c).
 */
#define _GNU_SOURCE 1
#include "templates.h"

#include "cache.h"
#include "descriptor.h"
#include "members.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define KEPT_BYTES ((size_t)16 << 20)
/* Of hundreds of libraries: one would drive out all others. */
#define LARGE (KEPT_BYTES / 4)

/* Under jitreg_lock(): the newest first, chained as those in use are, of which they are none. */
static struct jitreg_template *kept;

void jitreg_template_destroy(struct jitreg_template *template)
{
	for (size_t i = 0; i < template->member_count; i++)
		jitreg_template_release(template->members[i].template);
	jitreg_template_free(template);
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

static void keep(struct jitreg_template *template)
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
	jitreg_templates_settle();
}

void jitreg_templates_settle(void)
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

/* How often a file is read again when somebody has closed its descriptor in between. */
#define TRIES 4

static struct jitreg_template *templates; // under jitreg_lock()

static struct jitreg_template *find_locked(const char *path, const struct stat *st, enum jitreg_symfile_kind kind)
{
	for (struct jitreg_template *t = templates; t; t = t->next) {
		if (t->kind == kind && t->dev == st->st_dev && t->ino == st->st_ino && t->file_size == st->st_size &&
		    t->mtime.tv_sec == st->st_mtim.tv_sec &&
		    t->mtime.tv_nsec == st->st_mtim.tv_nsec && !strcmp(t->path, path)) {
			t->ref_count++;
			return t;
		}
	}
	return NULL;
}

static struct jitreg_template *find_cached(const char *path, int fd, enum jitreg_symfile_kind kind)
{
	struct jitreg_template *found;
	struct stat st;

	if (fd >= 0 ? fstat(fd, &st) : stat(path, &st))
		return NULL; // opening will say why
	jitreg_lock();
	found = find_locked(path, &st, kind);
	jitreg_unlock();
	return found;
}

struct jitreg_template *jitreg_template_first(void)
{
	return templates;
}

void jitreg_template_add(struct jitreg_template *template)
{
	template->ref_count = 1;
	template->next = templates;
	templates = template;
}

/* -EAGAIN: another file was read in between. */
static int build(const char *path, int fd, enum jitreg_symfile_kind kind, struct jitreg_template **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_template *built = NULL;
	int r = jitreg_object_open(path, fd, &object);

	if (r)
		return r;
	r = jitreg_template_create(object, kind, &built);
	if (jitreg_object_is_intact(object)) {
		*ret = built;
		return r;
	}
	if (built)
		jitreg_template_destroy(built);
	return -EAGAIN;
}

int jitreg_template_acquire(const char *path, int fd, enum jitreg_symfile_kind kind, struct jitreg_template **ret)
{
	struct jitreg_template *built = NULL, *cached;
	int r = -EAGAIN;

	*ret = find_cached(path, fd, kind);
	if (*ret)
		return 0;
	for (unsigned i = 0; r == -EAGAIN && i < TRIES; i++)
		r = build(path, fd, kind, &built);
	if (r)
		return r;

	jitreg_lock();
	for (cached = templates; cached && !(cached->kind == kind && jitreg_template_same_file(cached, built));)
		cached = cached->next;
	if (cached)
		cached->ref_count++;
	else
		jitreg_template_add(built);
	jitreg_unlock();

	if (cached)
		jitreg_template_destroy(built);
	*ret = cached ? cached : built;
	return 0;
}

void jitreg_template_hold(struct jitreg_template *template)
{
	jitreg_lock();
	template->ref_count++;
	jitreg_unlock();
}

void jitreg_template_release(struct jitreg_template *template)
{
	struct jitreg_template **link;
	size_t left;

	if (!template)
		return;
	jitreg_lock();
	left = --template->ref_count;
	if (!left) {
		for (link = &templates; *link != template; link = &(*link)->next)
			;
		*link = template->next;
	}
	jitreg_unlock();
	if (left)
		return;
	if (template->kind == JITREG_SYMFILE_PACK)
		keep(template);
	else
		jitreg_template_destroy(template);
}

bool jitreg_template_same_file(const struct jitreg_template *a, const struct jitreg_template *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->file_size == b->file_size &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec &&
	       !strcmp(a->path, b->path);
}

size_t jitreg_template_count(void)
{
	size_t count = 0;

	jitreg_lock();
	for (struct jitreg_template *t = templates; t; t = t->next)
		count++;
	jitreg_unlock();
	return count;
}

struct jitreg_template *jitreg_template_take_kept(bool (*is_wanted)(const struct jitreg_template *, const void *ctx),
						  const void *ctx)
{
	struct jitreg_template **link = &kept, *found;

	while (*link && !is_wanted(*link, ctx))
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	return found;
}
