/* SPDX-License-Identifier: MIT */
/* Descriptors of our own, on which namespaces hold their record locks. See lock_files.c. */
#ifndef GORGON_PROCESS_LOCK_FILES_H
#define GORGON_PROCESS_LOCK_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* An inode on which somebody has had a lock. */
struct gorgon_lock_file {
	struct gorgon_lock_file *next;
	dev_t dev;
	ino_t ino;
	int fd;
	bool writable;
	bool borrowed;	   /* a duplicate of the caller's: could not be opened again */
	const void *owner; /* whose locks are on it; NULL: nobody's, free for the next */
	unsigned users;	   /* threads that lock through it now, or wait to */
};

/* Bytes, both ends inclusive. */
struct gorgon_lock_range {
	int64_t first, last;
	bool exclusive;
};

/* All that follows wants this leaf locked, unless it says otherwise. */
void gorgon_lock_files_enter(void);
void gorgon_lock_files_leave(void);
/* In a forked child: nothing of the parent's is left. */
void gorgon_lock_files_forget(void);

/* How many there are. Not locked. */
unsigned gorgon_lock_files_count(void);
/* Whether the list is about this process. It is not in a vfork()ed child, which runs in this memory
 * with another descriptor table. Not locked. */
bool gorgon_lock_files_are_ours(void);

/* The lock file that @owner has on the inode (@owner NULL: a lock file without an owner), or
 * NULL. */
struct gorgon_lock_file *gorgon_lock_file_find(const void *owner, const struct stat *st);
/* Returns the lock file that follows @after on this inode, whoever owns it; the first if @after is NULL. */
struct gorgon_lock_file *gorgon_lock_file_next(const struct gorgon_lock_file *after,
					       const struct stat *st);
/* The next one of @owner after @after; NULL begins. */
struct gorgon_lock_file *gorgon_lock_file_next_of(const struct gorgon_lock_file *after,
						  const void *owner);
/* The one with that number, or NULL. */
struct gorgon_lock_file *gorgon_lock_file_numbered(int fd);

/* That of @owner on the inode of the descriptor @fd, made if need be, open for writing when
 * @write. NULL with errno. */
struct gorgon_lock_file *gorgon_lock_file_get(const void *owner, int fd, const struct stat *st,
					      bool write);
/* Get out of the way of a program that wants the number. */
bool gorgon_lock_file_move(struct gorgon_lock_file *file);

/* Drop all locks. */
void gorgon_lock_file_unlock(const struct gorgon_lock_file *file);
/* Lock the whole file in place of what was locked. False: somebody else has a lock, or it cannot
 * be known; nothing has changed then. */
bool gorgon_lock_file_exclude(const struct gorgon_lock_file *file);
/* Close it. What this process has locked of the inode goes, too: see closing.c. */
void gorgon_lock_file_close(struct gorgon_lock_file *file);

/* Whether @match is true of one of the locks on it. */
bool gorgon_lock_file_any(const struct gorgon_lock_file *file,
			  bool (*match)(const struct gorgon_lock_range *held, const void *ctx),
			  const void *ctx);

/* A mark on an open file, so that it is known again where a number alone would not do. */
void gorgon_lock_file_mark(int fd, bool mark);
bool gorgon_lock_file_is_marked(int fd);

#endif
