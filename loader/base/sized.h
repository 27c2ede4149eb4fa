/* SPDX-License-Identifier: MIT */
/* Public structures that begin with their own size, so that they can grow at the end. See sized.c.
 */
#ifndef GORGON_BASE_SIZED_H
#define GORGON_BASE_SIZED_H

#include <stddef.h>

struct gorgon_error;

/* Copy the caller's @from into @to, whose type has @known bytes here; @name is the type's name,
 * for the messages. @from NULL means defaults: all zero. The size in @to is @known. */
struct gorgon_error *gorgon_sized_read(const char *name, const void *from, void *to, size_t known);

/* Copy @from, of @known bytes, into the caller's @to, as much as its size says. Members that are
 * not known here become zero; the size in @to stays the caller's. */
struct gorgon_error *gorgon_sized_write(const char *name, const void *from, void *to, size_t known);

#endif
