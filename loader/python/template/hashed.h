/* SPDX-License-Identifier: MIT */
/* Dicts and sets, whose keys lie where their hashes say. See template/hashed.c. */
#ifndef GORGON_PYTHON_TEMPLATE_HASHED_H
#define GORGON_PYTHON_TEMPLATE_HASHED_H

#include "layout.h"
#include "map.h"
#include "python/api.h"

/* What a hash function is called as. */
typedef int64_t gorgon_hash_fn(PyObject *object);

/* With the GIL: whether a new one of the interpreter's is as the layout says. */
bool gorgon_dict_is_known(struct gorgon_interp *interp, const struct gorgon_layout *layout,
			  gorgon_hash_fn *hash);
bool gorgon_set_is_known(struct gorgon_interp *interp, const struct gorgon_layout *layout,
			 gorgon_hash_fn *hash);
/* Whether its keys may be of any type, and its values lie beside them: only such a dict may depend
 * on addresses. */
bool gorgon_dict_is_general(const struct gorgon_layout *layout, const void *dict);
/* Whether hashes of its keys are others in the other runs. */
bool gorgon_dict_depends(const struct gorgon_layout *layout, const struct gorgon_runs *runs,
			 const void *dict);
bool gorgon_set_depends(const struct gorgon_layout *layout, const struct gorgon_runs *runs,
			const void *set);
/* Take the words that it explains out of the map's list. False: no memory. */
bool gorgon_dict_explain(const struct gorgon_layout *layout, struct gorgon_map *map, uint64_t zone,
			 const void *dict);
bool gorgon_set_explain(const struct gorgon_layout *layout, struct gorgon_map *map, uint64_t zone,
			const void *set);
/* With the GIL: put its keys where their hashes say now. False: one has no hash. */
bool gorgon_dict_rehash(const struct gorgon_layout *layout, void *dict, gorgon_hash_fn *hash);
bool gorgon_set_rehash(const struct gorgon_layout *layout, void *set, gorgon_hash_fn *hash);

#endif
