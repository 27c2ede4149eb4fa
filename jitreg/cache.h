/* SPDX-License-Identifier: MIT */
/* Files that debuggers read, made once and kept. See cache.c. Internal to jitreg. */
#ifndef JITREG_CACHE_H
#define JITREG_CACHE_H

#include "symfile.h"

/** The section of each file that has its key. */
#define JITREG_CACHE_KEY ".gorgon.key"

/** What the names of companions end with, and those of libraries' lines. */
#define JITREG_CACHE_DEBUG ".debug"
#define JITREG_CACHE_LINES ".lines"

struct jitreg_cached {
	struct jitreg_companion file;
	uint8_t *bytes; /**< Its contents. */
	size_t size;
};

/** Make the contents, with the key in its section: malloc()ed. 0 or -errno. */
typedef int jitreg_cache_build_fn(void *ctx, uint8_t **bytes, size_t *size);

/**
 * Find or make a file.
 *
 * @param      key    All that the contents depend on.
 * @param      name   What the file is called, without the suffix, where something else goes by that. NULL: by
 *                    the checksum of the key.
 * @param[out] ret    To be released after success only. As long as it is held nobody removes the file.
 *
 * @retval -ENOTDIR  there is no folder for it that is ours alone
 * @retval -EEXIST   another file has the name
 * @retval -errno    it could not be written
 */
int jitreg_cache_find(const char *key, size_t key_size, const char *name, const char *suffix,
		      jitreg_cache_build_fn *build, void *ctx, struct jitreg_cached *ret);

/** Let go of the file, too. */
void jitreg_cached_deinit(struct jitreg_cached *cached);

/** Nobody needs the file for now: it may be removed. */
void jitreg_companion_let_go(struct jitreg_companion *companion);

/** Keep the file again. False: it is gone. Without a companion nothing is to be done. */
bool jitreg_companion_hold(struct jitreg_companion *companion);

void jitreg_companion_deinit(struct jitreg_companion *companion);

#endif
