// SPDX-License-Identifier: MIT
/*
 * The slow part of registering a file, done beforehand: a loader registers with its lock held, and
 * every thread that wants to load, look up or unwind waits for that lock.
 *
 * Slow are: reading the file's symbols and unwind data, the checksum of a file that is referred to
 * by name (which reads all of it), and making the lines of a library that no process of this user
 * has made yet (0.3 s for libpython). The results stay with the model of the file, or in the
 * cache on disk.
 *
 * One thread at a time makes lines: a thread that waits meanwhile finds the lines if it needs the
 * same.
 */
#define _GNU_SOURCE 1
#include "jitreg.h"

#include "descriptor.h"
#include "library_lines.h"
#include "symfile.h"
#include "models.h"

#include <errno.h>
#include <stdlib.h>

struct jitreg_prepared {
	struct jitreg_model *model;
};

static void make_lines(struct jitreg_model *model)
{
	jitreg_making_lock();
	if (!model->prepared) {
		jitreg_library_lines_keep(model);
		jitreg_lock();
		model->prepared = true;
		jitreg_unlock();
	}
	jitreg_making_unlock();
}

static struct jitreg_model *hold_unprepared(void)
{
	struct jitreg_model *t;

	jitreg_lock();
	for (t = jitreg_model_first(); t && (t->prepared || t->kind == JITREG_SYMFILE_PACK);)
		t = t->next;
	if (t)
		t->ref_count++;
	jitreg_unlock();
	return t;
}

void jitreg_prepare_registered(void)
{
	struct jitreg_model *model;

	while ((model = hold_unprepared())) {
		make_lines(model);
		jitreg_model_release(model);
	}
}

int jitreg_prepare(const char *path, uint32_t flags, struct jitreg_prepared **ret)
{
	bool names_only = flags & JITREG_NAMES_ONLY;
	struct jitreg_prepared *prepared = calloc(1, sizeof(*prepared));
	int r = prepared ? 0 : -ENOMEM;

	if (!r)
		r = jitreg_model_acquire(
			path, -1, names_only ? JITREG_SYMFILE_NAMES_ONLY : JITREG_SYMFILE_FULL,
			&prepared->model);
	if (r) {
		free(prepared);
		return r;
	}
	if (names_only)
		make_lines(prepared->model);
	*ret = prepared;
	return 0;
}

void jitreg_prepared_destroy(struct jitreg_prepared *prepared)
{
	if (prepared)
		jitreg_model_release(prepared->model);
	free(prepared);
}
