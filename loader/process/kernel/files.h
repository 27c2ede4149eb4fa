/* SPDX-License-Identifier: MIT */
/* Descriptors, current directory and umask of a program's own. See files.c. */
#ifndef GORGON_PROCESS_FILES_H
#define GORGON_PROCESS_FILES_H

#include "process/part.h"

#include <sys/stat.h>
#include <sys/types.h>

/* The part of a namespace. */
struct gorgon_program_files {
	bool own; /* its threads have descriptors of their own; atomic */
	struct gorgon_standard_file {
		bool open;
		dev_t device;
		ino_t inode;
	} standard[3]; /* the files of descriptors 0 to 2 when its program began */
};

extern const struct gorgon_part gorgon_files_part, gorgon_proc_paths_part;

/*
 * Give the calling thread descriptors, a current directory, a umask and an undo list of
 * semaphores of its own: copies of what it has had in common with the threads of the process,
 * but for descriptors that are close-on-exec, as after execve(2). Threads that it creates
 * share them with it. There is no way back. Once is enough; a second call does nothing.
 *
 * Where the system forbids unshare(2) (a container's filter of system calls) the thread gets
 * descriptors alone, and its current directory and umask stay the process's.
 *
 * Returns 0 or -errno: then nothing has changed.
 */
int gorgon_files_unshare(void);

/* Whether the calling thread did that, and whether it got its own current directory, too. */
bool gorgon_files_are_own(void);
bool gorgon_files_have_directory(void);

/* Where a program begins, for a thread that has several one after the other. */
struct gorgon_starting_directory {
	char *directory; /* owned; NULL: unknown */
	mode_t mask;
};

void gorgon_files_note_place(struct gorgon_starting_directory *place);
/* Restore directory and umask, if they are the calling thread's own. */
void gorgon_files_go_back(const struct gorgon_starting_directory *place);

/* A program of the namespace begins on the calling thread. */
void gorgon_files_begin(struct gorgon_program_files *files);

#endif
