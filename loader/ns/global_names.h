/* SPDX-License-Identifier: MIT */
/* The libraries that the system's linker has loaded, seen as a whole. See global_names.c. */
#ifndef GORGON_NS_GLOBAL_NAMES_H
#define GORGON_NS_GLOBAL_NAMES_H

#include "image/symbol.h"

/* How many libraries it has ever loaded. */
uint64_t gorgon_global_libraries_count(void);

/* A name, and what the system answers for it: an address that is not of a thread-local variable, or
 * NULL. */
struct gorgon_global_name {
	struct gorgon_symbol_query query;
	const void *addr;
	bool is_global; /* the first global library that has the name has it at @addr, for good */
	bool has_owner; /* @addr is in a library */
	bool has_rival; /* a library that @addr is not in has the name, in some version */
};

/* Fill in @is_global of each name. */
void gorgon_global_names_find(struct gorgon_global_name *names, size_t count);

/* Look through all libraries for @has_owner and @has_rival of each name, which are false before.
 * Returns what gorgon_global_libraries_count() was meanwhile. */
uint64_t gorgon_global_names_survey(struct gorgon_global_name *names, size_t count);

#endif
