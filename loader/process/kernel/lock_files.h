/* SPDX-License-Identifier: MIT */
/* Descriptors of our own, on which namespaces hold their record locks. See lock_files.c. */
#ifndef GORGON_PROCESS_LOCK_FILES_H
#define GORGON_PROCESS_LOCK_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A descriptor of an inode, on which an owner has, or has had, locks. */
struct gorgon_lock_file {
	struct gorgon_lock_file *next;
	dev_t dev;
	ino_t ino;
	int fd;
	bool writable;
	bool borrowed;	   /* a duplicate of the caller's, as the inode could not be opened again */
	const void *owner; /* whose locks are on it; NULL: nobody's, free for the next */
	unsigned users;	   /* threads that lock through it now, or wait to */
};

/* Before the first lock file: remember the process. */
void gorgon_lock_files_init(void);

/* All that follows wants this leaf locked, unless it says otherwise. */
void gorgon_lock_files_enter(void);
void gorgon_lock_files_leave(void);
/* In a forked child: forget the parent's lock files. */
void gorgon_lock_files_forget(void);

/* The number of lock files. Needs no lock. */
unsigned gorgon_lock_files_count(void);
/* Whether the list is about this process. It is not in a vfork()ed child, which runs in this memory
 * with another descriptor table. Not locked. */
bool gorgon_lock_files_are_ours(void);

/* The lock file that @owner has on the inode (@owner NULL: a lock file without an owner), or
 * NULL. */
struct gorgon_lock_file *gorgon_lock_file_find(const void *owner, const struct stat *st);
/* Returns the lock file that follows @after on this inode, whoever owns it; the first if @after is
 * NULL. */
struct gorgon_lock_file *gorgon_lock_file_next(const struct gorgon_lock_file *after,
					       const struct stat *st);
/* The next one of @owner after @after; NULL begins. */
struct gorgon_lock_file *gorgon_lock_file_next_of(const struct gorgon_lock_file *after,
						  const void *owner);
/* The lock file with that descriptor, or NULL. */
struct gorgon_lock_file *gorgon_lock_file_numbered(int fd);

/* The lock file of @owner on the inode of the descriptor @fd, made if need be, and open for writing
 * if
 * @write. NULL with errno. */
struct gorgon_lock_file *gorgon_lock_file_get(const void *owner, int fd, const struct stat *st,
					      bool write);
/* Move a lock file to another number, because a program wants its number. */
bool gorgon_lock_file_move(struct gorgon_lock_file *file);

/* Drop all locks on a lock file. */
void gorgon_lock_file_unlock(const struct gorgon_lock_file *file);
/* Close a lock file. The kernel drops the process's POSIX locks on the inode with it. */
void gorgon_lock_file_close(struct gorgon_lock_file *file);

#endif
