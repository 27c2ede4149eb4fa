/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The cache of models. See models.c. Internal to jitreg.
 */
#ifndef JITREG_MODELS_H
#define JITREG_MODELS_H

#include "symfile.h"

/**
 * Find or build the model of a file. Give it back with jitreg_model_release().
 *
 * @param kind  JITREG_SYMFILE_FULL or JITREG_SYMFILE_NAMES_ONLY
 */
int jitreg_model_acquire(const char *path, int fd, enum jitreg_symfile_kind kind,
			 struct jitreg_model **ret);

/** Whether both models were made from the same state of the same file. */
bool jitreg_model_same_file(const struct jitreg_model *a, const struct jitreg_model *b);

/** Count one reference more. */
void jitreg_model_hold(struct jitreg_model *model);

/** Drop one reference. A model without references is kept for a while, or freed. NULL is
 * ignored. */
void jitreg_model_release(struct jitreg_model *model);

/** The first model in use, chained by @c next; the lock is held. */
struct jitreg_model *jitreg_model_first(void);

/** Add a model to those in use, with one reference; the lock is held. */
void jitreg_model_add(struct jitreg_model *model);

/**
 * Take a kept pack out of the cache, or return NULL; the lock is held. The caller has to hold its
 * companions again (jitreg_companion_hold()).
 */
struct jitreg_model *jitreg_model_take_kept(
	bool (*is_wanted)(const struct jitreg_model *model, const void *ctx),
	const void *ctx);

/** Free a model that is in no list, and release the models that it holds. */
void jitreg_model_destroy(struct jitreg_model *model);

/** Number of models in use. A kept pack is not in use, but the models of its members are. */
size_t jitreg_model_count(void);

#endif
