/* SPDX-License-Identifier: MIT */
/* Descriptors that libraries keep of their own files. See trampoline_file.c. */
#ifndef GORGON_PROCESS_TRAMPOLINE_FILE_H
#define GORGON_PROCESS_TRAMPOLINE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gorgon_file;
struct gorgon_part;
struct gorgon_object;

/* The code at @caller is about to map code through @fd. Returns which descriptor to take: @fd, or,
 * when that is not the caller's own file any more, that file as @ret, to be closed afterwards, or
 * -1. */
int gorgon_trampoline_file_find(uint64_t caller, int fd, size_t size, off_t off,
				struct gorgon_file *ret);

/* The code at @caller has mapped it. */
void gorgon_trampoline_file_mapped(uint64_t caller, int fd, size_t size, off_t off);

/* Close the descriptors that @object has left open. None of its code runs any more. */
void gorgon_trampoline_file_close(const struct gorgon_object *object);

extern const struct gorgon_part gorgon_trampoline_file_part; /* its lock, for fork() */

#endif
