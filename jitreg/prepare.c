// SPDX-License-Identifier: MIT
/*
 * The slow part of registering a file, done beforehand: a loader registers with its lock held, and
 * every thread that wants to load, look up or unwind waits for that lock.
 *
 * Slow are: reading the file's symbols and unwind data, the checksum of a file that is referred to
 * by name (which reads all of it), and making the lines of a library that no process of this user
 * has made yet (0.3 s for libpython). The results stay with the template of the file, or in the
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
#include "templates.h"

#include <errno.h>
#include <stdlib.h>

struct jitreg_prepared {
	struct jitreg_template *template;
};

static void make_lines(struct jitreg_template *template)
{
	jitreg_making_lock();
	if (!template->prepared) {
		jitreg_library_lines_keep(template);
		jitreg_lock();
		template->prepared = true;
		jitreg_unlock();
	}
	jitreg_making_unlock();
}

static struct jitreg_template *hold_unprepared(void)
{
	struct jitreg_template *t;

	jitreg_lock();
	for (t = jitreg_template_first(); t && (t->prepared || t->kind == JITREG_SYMFILE_PACK);)
		t = t->next;
	if (t)
		t->ref_count++;
	jitreg_unlock();
	return t;
}

void jitreg_prepare_registered(void)
{
	struct jitreg_template *template;

	while ((template = hold_unprepared())) {
		make_lines(template);
		jitreg_template_release(template);
	}
}

int jitreg_prepare(const char *path, uint32_t flags, struct jitreg_prepared **ret)
{
	bool names_only = flags & JITREG_NAMES_ONLY;
	struct jitreg_prepared *prepared = calloc(1, sizeof(*prepared));
	int r = prepared ? 0 : -ENOMEM;

	if (!r)
		r = jitreg_template_acquire(
			path, -1, names_only ? JITREG_SYMFILE_NAMES_ONLY : JITREG_SYMFILE_FULL,
			&prepared->template);
	if (r) {
		free(prepared);
		return r;
	}
	if (names_only)
		make_lines(prepared->template);
	*ret = prepared;
	return 0;
}

void jitreg_prepared_destroy(struct jitreg_prepared *prepared)
{
	if (prepared)
		jitreg_template_release(prepared->template);
	free(prepared);
}
