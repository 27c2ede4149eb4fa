/* SPDX-License-Identifier: MIT */
/* Files that debuggers read, made once and kept. See cache.c. Internal to jitreg. */
#ifndef JITREG_CACHE_H
#define JITREG_CACHE_H

#include "symfile.h"

#include <sys/stat.h>

/** The section of each file that has its key. */
#define JITREG_CACHE_KEY ".gorgon.key"

/** What the names of companions end with, and the names of files with a library's lines. */
#define JITREG_CACHE_DEBUG ".debug"
#define JITREG_CACHE_LINES ".lines"

/** The checksum (CRC-32) of each file, whatever is in it: a file ends with the checksum of what is
 * before. So a file that is found need not be read to refer GDB to it. */
#define JITREG_CACHE_CRC 0x2144df1cu

struct jitreg_cached {
	struct jitreg_companion file;
	uint8_t *bytes; /**< Its contents, if they were wanted or have just been made. */
	size_t size;
};

/** Make the contents, with the key in its section: malloc()ed. 0 or -errno. */
typedef int jitreg_cache_build_fn(void *ctx, uint8_t **bytes, size_t *size);

/** A descriptor, and what tells whether it still refers to the same file: another thread may close
 * it, and open another file under its number. */
struct jitreg_open_file {
	int fd; /**< -1: none */
	int flags;
	struct stat st;
};

/** False: @p fd is none, or nothing can be said of it; then it is closed. */
bool jitreg_cache_note_file(struct jitreg_open_file *file, int fd);

/** For qsort(): structures that begin with a struct timespec, the oldest first. */
int jitreg_cache_by_age(const void *a, const void *b);

void jitreg_cache_close_file(struct jitreg_open_file *file);

/** 0 or -errno. The file may be written in part. */
int jitreg_cache_write(const struct jitreg_open_file *file, const uint8_t *bytes, size_t size);

/** The folder of the cache, which is made if need be, and its name: malloc()ed. 0; -ENOTDIR: there
 * is no folder that is the user's alone; -ENOMEM. */
int jitreg_cache_open_folder(char **path, struct jitreg_open_file *ret);

/**
 * Find or make a file.
 *
 * @param      key    Everything that the contents depend on.
 * @param      name   The name of the file, without the suffix, if readers look for it by name.
 *                    NULL: the checksum of the key.
 * @param      read   Whether the contents are wanted.
 * @param[out] ret    To be released after success only. As long as it is held nobody removes the
 *                    file.
 *
 * @retval -ENOTDIR  there is no folder for it that is the user's alone
 * @retval -EEXIST   another file has the name
 * @retval -errno    it could not be written
 */
int jitreg_cache_find(const char *key, size_t key_size, const char *name, const char *suffix,
		      jitreg_cache_build_fn *build, void *ctx, bool read,
		      struct jitreg_cached *ret);

/** Free the contents, and let go of the file. */
void jitreg_cached_deinit(struct jitreg_cached *cached);

/** Free the contents, and keep the file as a companion. */
void jitreg_cached_take(struct jitreg_cached *cached, struct jitreg_companion *ret);

/** Let go of the file: other processes may remove it. */
void jitreg_companion_let_go(struct jitreg_companion *companion);

/** Hold the file again. False: it is gone. True without a companion. */
bool jitreg_companion_hold(struct jitreg_companion *companion);

void jitreg_companion_deinit(struct jitreg_companion *companion);

#endif
