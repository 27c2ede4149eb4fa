/* SPDX-License-Identifier: MIT */
/* From names to objects that are read, but not mapped yet: a load's first step. See load_set.c. */
#ifndef GORGON_LOAD_LOAD_SET_H
#define GORGON_LOAD_LOAD_SET_H

#include "ns/ns.h"

/* The objects that a load brings, in breadth-first order. Nothing else knows them yet. */
struct gorgon_load_set {
	struct gorgon_ns *ns;
	struct gorgon_object **objects;
	size_t count;
	size_t walked; /* the dependencies of so many objects have been read */
};

/* Destroy the objects of the set. Who sets count to 0 before has given them to the namespace. */
void gorgon_load_set_deinit(struct gorgon_load_set *set);

/* Find the object called @name in the set or in the namespace; otherwise read it into the set. */
struct gorgon_error *gorgon_load_set_read_name(struct gorgon_load_set *set, const char *name,
					    struct gorgon_object *requester,
					    struct gorgon_object **ret);

/* The same for a private library that @object needs (DT_NEEDED); it is noted in the object's list.
 */
struct gorgon_error *gorgon_load_set_read_private(struct gorgon_load_set *set,
					       struct gorgon_object *object, const char *name,
					       struct gorgon_object **ret);

/* Open a shared library that @object needs; it is noted in the object's list and in the
 * namespace's. */
struct gorgon_error *gorgon_load_set_open_shared(struct gorgon_load_set *set,
					      struct gorgon_object *object, const char *name);

/* Read everything that the objects of the set need, breadth first. May be called again after
 * more has been read. */
struct gorgon_error *gorgon_load_set_read_dependencies(struct gorgon_load_set *set);

#endif
