/* SPDX-License-Identifier: MIT */
/* From names to objects that are read and not mapped: a load's first step. See load_set.c. */
#ifndef GORGON_LOAD_LOAD_SET_H
#define GORGON_LOAD_LOAD_SET_H

#include "ns/ns.h"

/* Objects that a load brings, in breadth-first order. Nothing else knows them yet. */
struct gorgon_load_set {
	struct gorgon_ns *ns;
	struct gorgon_object **objects;
	size_t count, capacity;
	size_t walked; /* those of which the dependencies are read */
};

/* Destroy the objects. With count 0 they are the namespace's. */
void gorgon_load_set_deinit(struct gorgon_load_set *group);

/* The object called @name: of the group, of the namespace, or read into the group. */
struct gorgon_error *gorgon_load_set_read_name(struct gorgon_load_set *group, const char *name,
					    struct gorgon_object *requester,
					    struct gorgon_object **ret);

/* The same for a DT_NEEDED of @object that is private, noted in its list. */
struct gorgon_error *gorgon_load_set_read_private(struct gorgon_load_set *group,
					       struct gorgon_object *object, const char *name,
					       struct gorgon_object **ret);

/* Open one that is shared, noted in the object's list and in the namespace's. */
struct gorgon_error *gorgon_load_set_open_shared(struct gorgon_load_set *group,
					      struct gorgon_object *object, const char *name);

/* Everything that the objects of the group need, breadth first. May be called again when
 * more was read. */
struct gorgon_error *gorgon_load_set_read_dependencies(struct gorgon_load_set *group);

#endif
