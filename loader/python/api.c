// SPDX-License-Identifier: MIT
// CPython's functions, found by their names in an interpreter's own libpython.

#include "api.h"
#include "base/error.h"

#include <stdlib.h>

struct gorgon_error *gorgon_api_missing(const struct gorgon_interp *interp, const char *name)
{
	return gorgon_error_create(GORGON_ERROR_PYTHON, "%s: has no %s",
				   interp->python.libpython ?: "this process", name);
}

struct gorgon_error *gorgon_api_init(struct gorgon_interp *interp)
{
	struct gorgon_api *api = calloc(1, sizeof(*api));

	if (!api)
		return &gorgon_error_nomem;
	interp->api = api;
#define FIND(name)                                                                                 \
	if (!(api->name = API(interp, name)))                                                      \
		return gorgon_api_missing(interp, #name);
	GORGON_API_NAMES(FIND)
#undef FIND
	return NULL;
}
