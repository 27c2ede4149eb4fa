/* SPDX-License-Identifier: MIT */
/* Files that are open for a moment. See file.c. */
#ifndef GORGON_BASE_FILE_H
#define GORGON_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* An open file, with what is remembered of it since it was opened. */
struct gorgon_file {
	int fd;    /* -1: not open */
	int flags; /* what F_GETFL said then */
	struct stat st;
};

/* How often a step is repeated whose descriptor somebody has closed, before it is done by
 * gorgon_file_apart(). */
#define GORGON_FILE_TRIES 4

/* Open @path, a regular file or any other, for reading. 0 or an errno value; @ret is then closed.
 */
int gorgon_file_open(const char *path, struct gorgon_file *ret);

/* Describe a file that was just opened as @fd. 0 or an errno value; errno itself when @fd is
 * negative. */
int gorgon_file_adopt(int fd, struct gorgon_file *ret);

/* A file in memory with @size bytes of @bytes. 0 or an errno value. */
int gorgon_file_create(const char *name, const void *bytes, size_t size, struct gorgon_file *ret);

/* Whether the descriptor still belongs to this open file. If so, everything that was done through
 * the descriptor since was done with this file. */
bool gorgon_file_is_ours(const struct gorgon_file *file);

/* Whether two looks at a file have seen the same contents: the same inode, size and time. */
bool gorgon_file_is_same(const struct stat *a, const struct stat *b);

/* The same, and the time of the last status change, which every write sets. */
bool gorgon_file_is_untouched(const struct stat *a, const struct stat *b);

/* Whether a file was changed so long ago that a further change gives it another time. */
bool gorgon_file_is_settled(const struct stat *st);

/* Close the file, unless the descriptor is not its own any more. A file that is not open is
 * ignored. */
void gorgon_file_close(struct gorgon_file *file);

/* Run @work on a thread with a descriptor table of its own, and wait for it. The table is empty at
 * first; @work closes what it opens. 0 or an errno value. */
int gorgon_file_apart(void (*work)(void *ctx), void *ctx);

#endif
