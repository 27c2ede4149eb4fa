/* SPDX-License-Identifier: MIT */
/* From names to objects that are read and not mapped: a load's first step. See group.c. */
#ifndef GORGON_LOAD_GROUP_H
#define GORGON_LOAD_GROUP_H

#include "ns/ns.h"

/* Objects that a load brings, in breadth-first order. Nothing else knows them yet. */
struct gorgon_group {
	struct gorgon_ns *ns;
	struct gorgon_object **objects;
	size_t count, capacity;
	size_t walked; /* those of which the dependencies are read */
};

/* Destroy the objects. With count 0 they are the namespace's. */
void gorgon_group_deinit(struct gorgon_group *group);

/* The object called @name: of the group, of the namespace, or read into the group. */
struct gorgon_error *gorgon_group_read_name(struct gorgon_group *group, const char *name,
					    struct gorgon_object *requester,
					    struct gorgon_object **ret);

/* The same for a DT_NEEDED of @object that is private, noted in its list. */
struct gorgon_error *gorgon_group_read_private(struct gorgon_group *group,
					       struct gorgon_object *object, const char *name,
					       struct gorgon_object **ret);

/* Open one that is shared, noted in the object's list and in the namespace's. */
struct gorgon_error *gorgon_group_open_shared(struct gorgon_group *group,
					      struct gorgon_object *object, const char *name);

/* Everything that the objects of the group need, breadth first. May be called again when
 * more was read. */
struct gorgon_error *gorgon_group_read_dependencies(struct gorgon_group *group);

#endif
