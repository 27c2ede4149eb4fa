/* SPDX-License-Identifier: MIT */
/* Descriptors that libraries keep of their own files. See own_file.c. */
#ifndef GORGON_ELF_OWN_FILE_H
#define GORGON_ELF_OWN_FILE_H

#include <stdint.h>

struct gorgon_object;

/* The code at @caller has mapped code through @fd. */
void gorgon_own_file_mapped(uint64_t caller, int fd);

/* Close what @object, whose code runs no more, has left open. */
void gorgon_own_file_close(const struct gorgon_object *object);

/* Around fork(), which must find the list whole. */
void gorgon_own_file_before_fork(void);
void gorgon_own_file_after_fork(void);

#endif
