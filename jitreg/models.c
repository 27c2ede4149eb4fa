// SPDX-License-Identifier: MIT
/*
 * The cache of models: it finds a model again, counts its users, and keeps it for a while
 * after its last user.
 *
 * Models are found by path, device, inode, size and time of modification. The path is part of
 * the key because the symfile can contain it. Models are built outside the lock, since building
 * reads files; so two threads can build a model for one file, and the second drops its own.
 *
 * A host that replaces its only interpreter needs the same models again at once, and so do the
 * packs of interpreters that import the same modules; to build them takes milliseconds. So
 * models without a user are kept, up to a number of bytes and of seconds (jitreg_keep()); the
 * models that were used longest ago go first. A model that is too old goes when another is
 * kept or looked for. A kept pack holds its members' models, which count as kept when they have
 * no other user. It does not hold its companion, which other processes may remove: whoever takes
 * the pack up again looks whether the file is still there (packs.c). A kept library holds the copy
 * of its debug file (debug_copy.c).
 *
 * A model in use describes the file that was mapped. A model without a user is used again
 * only if the file also has the same time of its last status change, which every write sets, and if
 * its debug file is unchanged. A file that was changed shortly before it was read could be changed
 * again within the same tick of the clock: its model is not kept.
 */
#define _GNU_SOURCE 1
#include "models.h"

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

/* A model of more than this part of the limit is not kept: it would drive out hundreds of
 * others. */
#define LARGE_PART 4

/* Models without a user, the newest first; none of them is in `models`. Under jitreg_lock().
 */
static struct jitreg_model *kept;
static uint64_t kept_limit = JITREG_KEEP_BYTES, kept_seconds = JITREG_KEEP_SECONDS;
static struct jitreg_model *models; // in use; under jitreg_lock()

static int64_t models_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

void jitreg_model_destroy(struct jitreg_model *model)
{
	for (size_t i = 0; i < model->member_count; i++)
		jitreg_model_release(model->members[i].model);
	jitreg_model_free(model);
}

/* A pack begins to be kept (@change 1), or ceases to be (-1). */
static void count_keeper_locked(struct jitreg_model *model, int change)
{
	for (size_t i = 0; i < model->member_count; i++)
		model->members[i].model->keeper_count += (size_t)change;
}

static uint64_t kept_size_locked(uint64_t *count)
{
	uint64_t size = 0;

	*count = 0;
	for (struct jitreg_model *t = kept; t; t = t->next, ++*count)
		size += t->size;
	for (struct jitreg_model *t = models; t; t = t->next) {
		if (t->ref_count != t->keeper_count)
			continue;
		size += t->size;
		++*count;
	}
	return size;
}

static struct jitreg_model *take_out_locked(struct jitreg_model **link)
{
	struct jitreg_model *model = *link;

	*link = model->next;
	count_keeper_locked(model, -1);
	return model;
}

/* Take the oldest kept model out if it is too old, or if there are too many bytes; otherwise
 * NULL. */
static struct jitreg_model *take_surplus_locked(void)
{
	struct jitreg_model **link = &kept;
	uint64_t count;

	if (!kept)
		return NULL;
	while ((*link)->next)
		link = &(*link)->next;
	if ((uint64_t)(models_seconds() - (*link)->kept_at) < kept_seconds &&
	    kept_size_locked(&count) <= kept_limit)
		return NULL;
	return take_out_locked(link);
}

/* One model at a time: a pack that goes releases its members' models, which are kept from
 * then on. */
static void drop_surplus(void)
{
	struct jitreg_model *surplus;

	do {
		jitreg_lock();
		surplus = take_surplus_locked();
		jitreg_unlock();
		if (surplus)
			jitreg_model_destroy(surplus);
	} while (surplus);
}

/* Drop models that are too old, once a second at most. Those beyond the limit of bytes go in
 * models_keep(). */
static void drop_old(void)
{
	static int64_t last; // under the lock
	int64_t now = models_seconds();
	bool is_due;

	jitreg_lock();
	is_due = now != last;
	last = now;
	jitreg_unlock();
	if (is_due)
		drop_surplus();
}

static bool can_keep(const struct jitreg_model *model)
{
	bool settled = model->settled || model->member_count;

	for (size_t i = 0; i < model->member_count; i++)
		settled &= model->members[i].model->settled;
	return settled && kept_seconds && model->size <= kept_limit / LARGE_PART;
}

static void models_keep(struct jitreg_model *model)
{
	bool can;

	if (model->kind == JITREG_SYMFILE_PACK) {
		jitreg_companion_let_go(&model->companion);
		jitreg_companion_let_go(&model->bare);
	}
	jitreg_dwarf_destroy(model->lines);
	model->lines = NULL;
	jitreg_lock();
	can = can_keep(model);
	if (can) {
		model->next = kept;
		model->kept_at = models_seconds();
		kept = model;
		count_keeper_locked(model, 1);
	}
	jitreg_unlock();
	if (!can)
		jitreg_model_destroy(model);
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

static bool is_of(const struct jitreg_model *t, const char *path, const struct stat *st,
		  enum jitreg_symfile_kind kind)
{
	return t->kind == kind && jitreg_stat_is_same(&t->st, st) && !strcmp(t->path, path);
}

/* Whether debuggers would still be referred to the same debug file, or to no file if that was so
 * before. */
static bool has_same_debug(const struct jitreg_model *t)
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

static bool is_unchanged(const struct jitreg_model *t, const struct stat *st)
{
	return t->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       t->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec && has_same_debug(t);
}

/* A model whose only users are kept packs counts as kept. */
static bool is_good(const struct jitreg_model *t, const struct stat *st)
{
	return t->ref_count != t->keeper_count || is_unchanged(t, st);
}

static struct jitreg_model *find_locked(const char *path, const struct stat *st,
					enum jitreg_symfile_kind kind)
{
	struct jitreg_model *t = models, **link = &kept;

	while (t && !(is_of(t, path, st, kind) && is_good(t, st)))
		t = t->next;
	while (!t && *link && !(is_of(*link, path, st, kind) && is_unchanged(*link, st)))
		link = &(*link)->next;
	if (!t && *link) {
		t = take_out_locked(link);
		t->next = models;
		models = t;
	}
	if (t)
		t->ref_count++;
	return t;
}

static struct jitreg_model *find_cached(const char *path, int fd, enum jitreg_symfile_kind kind)
{
	struct jitreg_model *found;
	struct stat st;

	if (fd >= 0 ? fstat(fd, &st) : stat(path, &st))
		return NULL; // opening will say why
	jitreg_lock();
	found = find_locked(path, &st, kind);
	jitreg_unlock();
	return found;
}

struct jitreg_model *jitreg_model_first(void)
{
	return models;
}

void jitreg_model_add(struct jitreg_model *model)
{
	model->ref_count = 1;
	model->next = models;
	models = model;
}

/* -EAGAIN: another file was read in between. */
static int models_build(const char *path, int fd, enum jitreg_symfile_kind kind,
			struct jitreg_model **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_model *built = NULL;
	int r = jitreg_object_open(path, fd, &object);

	if (r)
		return r;
	if (object->machine != &JITREG_HOST) // debuggers would warn of every copy
		return -ENOEXEC;
	r = jitreg_model_create(object, kind, &built);
	if (jitreg_object_is_intact(object)) {
		*ret = built;
		return r;
	}
	if (built)
		jitreg_model_destroy(built);
	return -EAGAIN;
}

int jitreg_model_acquire(const char *path, int fd, enum jitreg_symfile_kind kind,
			 struct jitreg_model **ret)
{
	struct jitreg_model *built = NULL, *cached;
	int r = -EAGAIN;

	drop_old();
	*ret = find_cached(path, fd, kind);
	if (*ret)
		return 0;
	for (unsigned i = 0; r == -EAGAIN && i < TRIES; i++)
		r = models_build(path, fd, kind, &built);
	if (r)
		return r;

	jitreg_lock();
	for (cached = models;
	     cached && !(cached->kind == kind && jitreg_model_same_file(cached, built) &&
			 cached->ref_count != cached->keeper_count);)
		cached = cached->next;
	if (cached)
		cached->ref_count++;
	else
		jitreg_model_add(built);
	jitreg_unlock();

	if (cached)
		jitreg_model_destroy(built);
	*ret = cached ? cached : built;
	return 0;
}

void jitreg_model_hold(struct jitreg_model *model)
{
	jitreg_lock();
	model->ref_count++;
	jitreg_unlock();
}

void jitreg_model_release(struct jitreg_model *model)
{
	struct jitreg_model **link;
	size_t left;

	if (!model)
		return;
	jitreg_lock();
	left = --model->ref_count;
	if (!left) {
		for (link = &models; *link != model; link = &(*link)->next)
			;
		*link = model->next;
	}
	jitreg_unlock();
	if (!left)
		models_keep(model);
}

bool jitreg_model_same_file(const struct jitreg_model *a, const struct jitreg_model *b)
{
	return jitreg_stat_is_same(&a->st, &b->st) && !strcmp(a->path, b->path);
}

size_t jitreg_model_count(void)
{
	size_t count = 0;

	jitreg_lock();
	for (struct jitreg_model *t = models; t; t = t->next)
		count++;
	jitreg_unlock();
	return count;
}

struct jitreg_model *jitreg_model_take_kept(bool (*is_wanted)(const struct jitreg_model *,
							      const void *ctx),
					    const void *ctx)
{
	struct jitreg_model **link = &kept;

	while (*link && !is_wanted(*link, ctx))
		link = &(*link)->next;
	return *link ? take_out_locked(link) : NULL;
}
