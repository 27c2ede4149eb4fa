/* SPDX-License-Identifier: MIT */
/* The system's list of libraries, /etc/ld.so.cache. See ldcache.c. */
#ifndef GORGON_IMAGE_LDCACHE_H
#define GORGON_IMAGE_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Gets each library; false ends the list. */
typedef bool gorgon_ldcache_fn(void *ctx, const char *name, const char *path);

/* Call @fn for each 64-bit library in the list. 0, also where the system has none, or errno. */
int gorgon_ldcache_for_each(gorgon_ldcache_fn *fn, void *ctx);

/* The same with the bytes of such a file. */
void gorgon_ldcache_read(const char *file, size_t size, gorgon_ldcache_fn *fn, void *ctx);

/* @ret: the path that the list has for @name, malloc()ed, or NULL. 0 or errno. The loader's lock is
 * held. */
int gorgon_ldcache_find(const char *name, char **ret);

#endif
