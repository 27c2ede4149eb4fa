/* SPDX-License-Identifier: MIT */
/* Bindings that were found for one copy of a file and are used for further copies. See plan.c. */
#ifndef GORGON_LOAD_PLAN_H
#define GORGON_LOAD_PLAN_H

#include "scope.h"

/* Where an object's symbols are, by their indices. */
struct gorgon_plan_values {
	uint64_t *values;
	bool *known; /* whether there is a value; the other symbols are to be bound one by one */
};

/*
 * Put the values that a plan gives into *@ret, to be released with gorgon_plan_values_deinit().
 * @ret->values is NULL where there is no plan for this scope, or the plan is no longer true. The
 * objects that symbols are bound to are noted (gorgon_object_add_ref()).
 */
struct gorgon_error *gorgon_plan_replay(struct gorgon_object *object,
					const struct gorgon_scope *scope,
					struct gorgon_plan_values *ret);
void gorgon_plan_values_deinit(struct gorgon_plan_values *values);

/* Remember the bindings of the object's symbols that are @bound; both arrays go by the symbols'
 * indices. Without memory nothing is remembered. */
void gorgon_plan_record(struct gorgon_object *object, const struct gorgon_scope *scope,
			const struct gorgon_binding *bindings, const bool *bound);

#endif
