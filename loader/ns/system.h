/* SPDX-License-Identifier: MIT */
/* The system provider: shared libraries and the process's own symbols. See system.c. */
#ifndef GORGON_NS_SYSTEM_H
#define GORGON_NS_SYSTEM_H

#include "image/symbol.h"

struct gorgon_system_library {
	struct gorgon_system_library *next;
	char *name; /* as it was asked for */
	void *handle;
};

/* What the system knows of a symbol. */
struct gorgon_system_symbol {
	void *addr;	     /* for thread-local ones, of the calling thread */
	uint64_t tls_module; /* see gorgon_system_find_tls() */
	uint64_t tls_offset; /* within the module's block */
};

/*
 * The system's dlopen(), but of nothing that needs a libpython: private code would reach
 * another Python through it.
 */
struct gorgon_error *gorgon_system_dlopen(const char *name, int flags, void **ret);

/*
 * Open a shared library for private objects; it stays open for good, because
 * its addresses are in their relocations. @requester is for the message.
 */
struct gorgon_error *gorgon_system_open(const char *name, const char *requester,
					struct gorgon_system_library **ret);

/* The file that the system has loaded under @name, malloc()ed, or NULL. */
char *gorgon_system_path(const char *name);

/*
 * Find a symbol: in the process's global scope and in the library that the version
 * names, then in @libraries in turn. Never CPython's own API.
 */
bool gorgon_system_find(const struct gorgon_symbol_query *query,
			struct gorgon_system_library *const *libraries, size_t count,
			struct gorgon_system_symbol *ret);

/* Does what gorgon_system_find() does, but looks in @libraries alone, not in the global scope. */
bool gorgon_system_find_in(const struct gorgon_symbol_query *query,
			   struct gorgon_system_library *const *libraries, size_t count,
			   struct gorgon_system_symbol *ret);

/* Whether a handle is one of the system's: a stale or foreign one must not reach it. */
bool gorgon_system_is_handle(const void *handle);

/* Fill in module and offset of a thread-local symbol from its address. False when no
 * library's block of this thread contains it. */
bool gorgon_system_find_tls(struct gorgon_system_symbol *symbol);

/* Whether that block is at the same distance from the thread pointer in every thread. */
bool gorgon_system_tls_is_static(const struct gorgon_system_symbol *symbol);

#endif
