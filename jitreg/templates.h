/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The templates that there are. Internal to jitreg.
 */
#ifndef JITREG_TEMPLATES_H
#define JITREG_TEMPLATES_H

#include "symfile.h"

/**
 * Find or build the template of a file. Give it back with jitreg_template_release().
 *
 * @param kind  FULL or LEAN
 */
int jitreg_template_acquire(const char *path, int fd, enum jitreg_symfile_kind kind, struct jitreg_template **ret);

/** Whether both come from the same state of the same file. */
bool jitreg_template_same_file(const struct jitreg_template *a, const struct jitreg_template *b);

/** Count one reference more. */
void jitreg_template_hold(struct jitreg_template *template);

/** Drop one reference; with the last one it is kept for a while. NULL is ignored. */
void jitreg_template_release(struct jitreg_template *template);

/** The cache, for packs; the lock is held. */
struct jitreg_template *jitreg_template_first(void);
void jitreg_template_add(struct jitreg_template *template); /**< With one reference. */

/**
 * Take a pack that was kept out of the list of these, or NULL; the lock is held. Its companions are to be held again.
 */
struct jitreg_template *jitreg_template_take_kept(bool (*is_wanted)(const struct jitreg_template *template,
								    const void *ctx),
						  const void *ctx);

/** Free a template that is in no list, and release what it holds. */
void jitreg_template_destroy(struct jitreg_template *template);

/** Number of templates in use, also by packs that are kept. */
size_t jitreg_template_count(void);

#endif
