/* SPDX-License-Identifier: MIT */
/* Functions that know their namespace. See thunk.c. */
#ifndef GORGON_BASE_THUNK_H
#define GORGON_BASE_THUNK_H

#include "gorgon.h"

struct gorgon_thunks;

/* What a thunk calls: @target with the context put behind its first @args arguments. If @target is
 * NULL it calls the function whose address is the first word of the context, where it may change at
 * any time. */
struct gorgon_thunk {
	void *target;
	unsigned args;
	void *context;
};

/* Make a thunk for each entry. */
struct gorgon_error *gorgon_thunks_create(const struct gorgon_thunk *list, size_t count,
					  struct gorgon_thunks **ret);
void gorgon_thunks_destroy(struct gorgon_thunks *thunks);

/* The callable address of thunk @index. */
void *gorgon_thunks_get(const struct gorgon_thunks *thunks, size_t index);

#endif
