/* SPDX-License-Identifier: MIT */
/* Hashes of objects that do not depend on where a zone is. See template/hash.c. */
#ifndef GORGON_PYTHON_TEMPLATE_HASH_H
#define GORGON_PYTHON_TEMPLATE_HASH_H

#include "python/calls/interp.h"

/* Before Python starts: from now on the hash of an object that has none of its own is made of its
 * offset in the zone. False: this CPython has no such hash. */
bool gorgon_hash_begin(struct gorgon_interp *interp);

#endif
