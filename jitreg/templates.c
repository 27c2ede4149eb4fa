// SPDX-License-Identifier: MIT
/*
 * The cache of templates: it finds a template again, counts its users, and keeps it for a while
 * after its last user.
 *
 * Templates are found by path, device, inode, size and time of modification. The path is part of
 * the key because the symfile can contain it. Templates are built outside the lock, since building
 * reads files; so two threads can build a template for one file, and the second drops its own.
 *
 * A host that replaces its only interpreter needs the same templates again at once, and so do the
 * packs of interpreters that import the same modules; to build them takes milliseconds. So
 * templates without a user are kept, up to a number of bytes and of seconds (jitreg_keep()); the
 * templates that were used longest ago go first. A template that is too old goes when another is
 * kept or looked for. A kept pack holds its members' templates, which count as kept when they have
 * no other user. It does not hold its companion, which other processes may remove: whoever takes
 * the pack up again looks whether the file is still there (packs.c). A kept library holds the copy
 * of its debug file (debug_copy.c).
 *
 * A template in use describes the file that was mapped. A template without a user is used again
 * only if the file also has the same time of its last status change, which every write sets, and if
 * its debug file is unchanged. A file that was changed shortly before it was read could be changed
 * again within the same tick of the clock: its template is not kept.
 */
#define _GNU_SOURCE 1
#include "templates.h"

#include "cache.h"
#include "file/debuginfo.h"
#include "descriptor.h"
#include "file/dwarf_sections.h"
#include "machine/machine.h"
#include "members.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A template of more than this part of the limit is not kept: it would drive out hundreds of
 * others. */
#define LARGE_PART 4

/* Templates without a user, the newest first; none of them is in `templates`. Under jitreg_lock().
 */
static struct jitreg_template *kept;
static uint64_t kept_limit = JITREG_KEEP_BYTES, kept_seconds = JITREG_KEEP_SECONDS;
static struct jitreg_template *templates; // in use; under jitreg_lock()

static int64_t templates_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

void jitreg_template_destroy(struct jitreg_template *template)
{
	for (size_t i = 0; i < template->member_count; i++)
		jitreg_template_release(template->members[i].template);
	jitreg_template_free(template);
}

/* A pack begins to be kept (@change 1), or ceases to be (-1). */
static void count_keeper_locked(struct jitreg_template *template, int change)
{
	for (size_t i = 0; i < template->member_count; i++)
		template->members[i].template->keeper_count += (size_t)change;
}

static uint64_t kept_size_locked(uint64_t *count)
{
	uint64_t size = 0;

	*count = 0;
	for (struct jitreg_template *t = kept; t; t = t->next, ++*count)
		size += t->size;
	for (struct jitreg_template *t = templates; t; t = t->next) {
		if (t->ref_count != t->keeper_count)
			continue;
		size += t->size;
		++*count;
	}
	return size;
}

static struct jitreg_template *take_out_locked(struct jitreg_template **link)
{
	struct jitreg_template *template = *link;

	*link = template->next;
	count_keeper_locked(template, -1);
	return template;
}

/* Take the oldest kept template out if it is too old, or if there are too many bytes; otherwise
 * NULL. */
static struct jitreg_template *take_surplus_locked(void)
{
	struct jitreg_template **link = &kept;
	uint64_t count;

	if (!kept)
		return NULL;
	while ((*link)->next)
		link = &(*link)->next;
	if ((uint64_t)(templates_seconds() - (*link)->kept_at) < kept_seconds &&
	    kept_size_locked(&count) <= kept_limit)
		return NULL;
	return take_out_locked(link);
}

/* One template at a time: a pack that goes releases its members' templates, which are kept from
 * then on. */
static void drop_surplus(void)
{
	struct jitreg_template *surplus;

	do {
		jitreg_lock();
		surplus = take_surplus_locked();
		jitreg_unlock();
		if (surplus)
			jitreg_template_destroy(surplus);
	} while (surplus);
}

/* Drop templates that are too old, once a second at most. Those beyond the limit of bytes go in
 * templates_keep(). */
static void drop_old(void)
{
	static int64_t last; // under the lock
	int64_t now = templates_seconds();
	bool is_due;

	jitreg_lock();
	is_due = now != last;
	last = now;
	jitreg_unlock();
	if (is_due)
		drop_surplus();
}

static bool can_keep(const struct jitreg_template *template)
{
	bool settled = template->settled || template->member_count;

	for (size_t i = 0; i < template->member_count; i++)
		settled &= template->members[i].template->settled;
	return settled && kept_seconds && template->size <= kept_limit / LARGE_PART;
}

static void templates_keep(struct jitreg_template *template)
{
	bool can;

	if (template->kind == JITREG_SYMFILE_PACK) {
		jitreg_companion_let_go(&template->companion);
		jitreg_companion_let_go(&template->bare);
	}
	jitreg_dwarf_destroy(template->lines);
	template->lines = NULL;
	jitreg_lock();
	can = can_keep(template);
	if (can) {
		template->next = kept;
		template->kept_at = templates_seconds();
		kept = template;
		count_keeper_locked(template, 1);
	}
	jitreg_unlock();
	if (!can)
		jitreg_template_destroy(template);
	drop_surplus();
}

void jitreg_keep(uint64_t bytes, uint64_t seconds)
{
	jitreg_lock();
	kept_limit = bytes;
	kept_seconds = seconds;
	jitreg_unlock();
	drop_surplus();
}

uint64_t jitreg_kept(uint64_t *count)
{
	uint64_t bytes;

	jitreg_lock();
	bytes = kept_size_locked(count);
	jitreg_unlock();
	return bytes;
}

void jitreg_trim(void)
{
	uint64_t bytes, seconds;

	jitreg_lock();
	bytes = kept_limit;
	seconds = kept_seconds;
	jitreg_unlock();
	jitreg_keep(0, 0);
	jitreg_keep(bytes, seconds);
}

/* How often a file is read again when somebody has closed its descriptor in between. */
#define TRIES 4

static bool is_of(const struct jitreg_template *t, const char *path, const struct stat *st,
		  enum jitreg_symfile_kind kind)
{
	return t->kind == kind && jitreg_stat_is_same(&t->st, st) && !strcmp(t->path, path);
}

/* Whether debuggers would still be referred to the same debug file, or to no file if that was so
 * before. */
static bool has_same_debug(const struct jitreg_template *t)
{
	struct stat now;
	char *path;
	int r;

	if (t->companion.path && access(t->companion.path, F_OK))
		return false; // somebody has removed the copy
	if (jitreg_debuginfo_file(&t->debug))
		return !stat(jitreg_debuginfo_file(&t->debug), &now) &&
		       jitreg_stat_is_same(&t->debug_st, &now);
	if (t->debug.build_id_size < 2)
		return true;
	path = jitreg_debuginfo_build_id_path(t->debug.build_id, t->debug.build_id_size);
	r = path ? access(path, F_OK) : 0;
	free(path);
	return r;
}

static bool is_unchanged(const struct jitreg_template *t, const struct stat *st)
{
	return t->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       t->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec && has_same_debug(t);
}

/* A template whose only users are kept packs counts as kept. */
static bool is_good(const struct jitreg_template *t, const struct stat *st)
{
	return t->ref_count != t->keeper_count || is_unchanged(t, st);
}

static struct jitreg_template *find_locked(const char *path, const struct stat *st,
					   enum jitreg_symfile_kind kind)
{
	struct jitreg_template *t = templates, **link = &kept;

	while (t && !(is_of(t, path, st, kind) && is_good(t, st)))
		t = t->next;
	while (!t && *link && !(is_of(*link, path, st, kind) && is_unchanged(*link, st)))
		link = &(*link)->next;
	if (!t && *link) {
		t = take_out_locked(link);
		t->next = templates;
		templates = t;
	}
	if (t)
		t->ref_count++;
	return t;
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
static int templates_build(const char *path, int fd, enum jitreg_symfile_kind kind,
			   struct jitreg_template **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_template *built = NULL;
	int r = jitreg_object_open(path, fd, &object);

	if (r)
		return r;
	if (object->machine != &JITREG_HOST) // debuggers would warn of every copy
		return -ENOEXEC;
	r = jitreg_template_create(object, kind, &built);
	if (jitreg_object_is_intact(object)) {
		*ret = built;
		return r;
	}
	if (built)
		jitreg_template_destroy(built);
	return -EAGAIN;
}

int jitreg_template_acquire(const char *path, int fd, enum jitreg_symfile_kind kind,
			    struct jitreg_template **ret)
{
	struct jitreg_template *built = NULL, *cached;
	int r = -EAGAIN;

	drop_old();
	*ret = find_cached(path, fd, kind);
	if (*ret)
		return 0;
	for (unsigned i = 0; r == -EAGAIN && i < TRIES; i++)
		r = templates_build(path, fd, kind, &built);
	if (r)
		return r;

	jitreg_lock();
	for (cached = templates;
	     cached && !(cached->kind == kind && jitreg_template_same_file(cached, built) &&
			 cached->ref_count != cached->keeper_count);)
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
	if (!left)
		templates_keep(template);
}

bool jitreg_template_same_file(const struct jitreg_template *a, const struct jitreg_template *b)
{
	return jitreg_stat_is_same(&a->st, &b->st) && !strcmp(a->path, b->path);
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

struct jitreg_template *jitreg_template_take_kept(bool (*is_wanted)(const struct jitreg_template *,
								    const void *ctx),
						  const void *ctx)
{
	struct jitreg_template **link = &kept;

	while (*link && !is_wanted(*link, ctx))
		link = &(*link)->next;
	return *link ? take_out_locked(link) : NULL;
}
