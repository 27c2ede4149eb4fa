/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The cache of templates. See templates.c. Internal to jitreg.
 */
#ifndef JITREG_TEMPLATES_H
#define JITREG_TEMPLATES_H

#include "symfile.h"

/**
 * Find or build the template of a file. Give it back with jitreg_template_release().
 *
 * @param kind  JITREG_SYMFILE_FULL or JITREG_SYMFILE_NAMES_ONLY
 */
int jitreg_template_acquire(const char *path, int fd, enum jitreg_symfile_kind kind,
			    struct jitreg_template **ret);

/** Whether both templates were made from the same state of the same file. */
bool jitreg_template_same_file(const struct jitreg_template *a, const struct jitreg_template *b);

/** Count one reference more. */
void jitreg_template_hold(struct jitreg_template *template);

/** Drop one reference. A template without references is kept for a while, or freed. NULL is
 * ignored. */
void jitreg_template_release(struct jitreg_template *template);

/** The first template in use, chained by @c next; the lock is held. */
struct jitreg_template *jitreg_template_first(void);

/** Add a template to those in use, with one reference; the lock is held. */
void jitreg_template_add(struct jitreg_template *template);

/**
 * Take a kept pack out of the cache, or return NULL; the lock is held. The caller has to hold its
 * companions again (jitreg_companion_hold()).
 */
struct jitreg_template *jitreg_template_take_kept(
	bool (*is_wanted)(const struct jitreg_template *template, const void *ctx),
	const void *ctx);

/** Free a template that is in no list, and release the templates that it holds. */
void jitreg_template_destroy(struct jitreg_template *template);

/** Number of templates in use. A kept pack is not in use, but the templates of its members are. */
size_t jitreg_template_count(void);

#endif
