/* SPDX-License-Identifier: MIT */
/* Bindings that were found once and are used again. See plan.c. */
#ifndef GORGON_LOAD_PLAN_H
#define GORGON_LOAD_PLAN_H

#include "scope.h"

/* Where an object's symbols are, by their indices. */
struct gorgon_plan_values {
	uint64_t *values;
	bool *known; /* others are to be bound one by one */
};

/*
 * The values that a plan gives. None in @ret->values: there is no plan for this scope, or it holds
 * no longer. Objects that the symbols are bound to are noted (gorgon_object_add_ref()). To be given
 * back with gorgon_plan_values_deinit().
 */
struct gorgon_error *gorgon_plan_replay(struct gorgon_object *object, const struct gorgon_scope *scope,
					struct gorgon_plan_values *ret);
void gorgon_plan_values_deinit(struct gorgon_plan_values *values);

/* Remember the bindings of the object's symbols: those that are @bound, by their indices. Without
 * memory nothing is remembered. */
void gorgon_plan_record(struct gorgon_object *object, const struct gorgon_scope *scope,
			const struct gorgon_binding *bindings, const bool *bound);

#endif
