/* SPDX-License-Identifier: MIT */
/* POSIX record locks of a namespace. See record_locks.c. */
#ifndef GORGON_PROCESS_RECORD_LOCKS_H
#define GORGON_PROCESS_RECORD_LOCKS_H

#include "files.h"
#include "process/part.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* The state of the part: who owns locks. */
struct gorgon_record_locks {
	const struct gorgon_program_files *files;
	unsigned closings; /* of files with locks, so far; atomic */
};

extern const struct gorgon_part gorgon_record_locks;

/* --- closing.c -------------------------------------------------------------------------- */

/* The kernel's own locks are right: the program has a descriptor table of its own, or this is a
 * child that shares our memory. */
bool gorgon_record_locks_are_native(const struct gorgon_record_locks *owner);

int gorgon_closing_close(int fd, struct gorgon_record_locks *owner);
int gorgon_closing_dup2(int fd, int number, struct gorgon_record_locks *owner);
int gorgon_closing_dup3(int fd, int number, int flags, struct gorgon_record_locks *owner);
int gorgon_closing_close_range(unsigned first, unsigned last, int flags,
			       struct gorgon_record_locks *owner);
void gorgon_closing_closefrom(int first, struct gorgon_record_locks *owner);
int gorgon_closing_fclose(FILE *stream, struct gorgon_record_locks *owner);
FILE *gorgon_closing_freopen(const char *path, const char *mode, FILE *stream,
			     struct gorgon_record_locks *owner);

/* All locks of @owner go. */
void gorgon_closing_drop(const struct gorgon_record_locks *owner);

#endif
