/* SPDX-License-Identifier: MIT */
/* Memory of objects that begins with zeros. See template/zeros.c. */
#ifndef GORGON_PYTHON_TEMPLATE_ZEROS_H
#define GORGON_PYTHON_TEMPLATE_ZEROS_H

#include "python/calls/interp.h"

/* CPython's allocators, as they were. */
struct gorgon_zeros {
	struct gorgon_zeros_of {
		const struct gorgon_interp *interp;
		/* PyMemAllocatorEx */
		struct gorgon_python_allocator {
			void *ctx;
			void *(*malloc)(void *ctx, size_t size);
			void *(*calloc)(void *ctx, size_t count, size_t size);
			void *(*realloc)(void *ctx, void *p, size_t size);
			void (*free)(void *ctx, void *p);
		} before;
	} of[2];
};

/* Before Python starts: from now on its objects' memory begins with zeros. @zeros must live until
 * the end. False: this CPython has no such hooks. */
bool gorgon_zeros_begin(const struct gorgon_interp *interp, struct gorgon_zeros *zeros);
/* Whether Python has kept them. */
bool gorgon_zeros_are_used(const struct gorgon_zeros *zeros);
void gorgon_zeros_end(struct gorgon_zeros *zeros);

#endif
