// SPDX-License-Identifier: MIT
// Loading a group of objects: the transaction.
//
//	read      the root and, breadth first, every private dependency that is not
//		  loaded yet; shared ones are opened by the system
//	map       all of them
//	relocate  all of them, dependencies first, with the whole group in scope
//	link      all of them: unwinder, debug root, debuggers
//	init      constructors, dependencies first, outside the lock
//
// Two phases (map all, then relocate) because the members of a group refer to each
// other. Until "link" nothing is visible to anybody, and a failure throws the group
// away; a failure in "link" unlinks what was linked. Constructors cannot fail.

#define _GNU_SOURCE
#include "closure.h"
#include "error.h"
#include "mappings.h"
#include "ns.h"
#include "reloc.h"
#include "search.h"
#include "system.h"
#include "tls.h"

#include <stdlib.h>
#include <string.h>

// Objects that this load brings, in breadth-first order.
struct group {
	struct gorgon_ns *ns;
	struct gorgon_object **objects;
	size_t count, capacity;
};

static bool group_add(struct group *group, struct gorgon_object *object)
{
	struct gorgon_object **grown;

	if (group->count == group->capacity) {
		size_t capacity = group->capacity ? 2 * group->capacity : 16;

		grown = reallocarray(group->objects, capacity, sizeof(*grown));
		if (!grown)
			return false;
		group->objects = grown;
		group->capacity = capacity;
	}
	group->objects[group->count++] = object;
	return true;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_name(const struct gorgon_object *object, const char *name)
{
	const char *soname = object->image->soname;

	if (object->doomed)
		return false;
	if (strchr(name, '/'))
		return !strcmp(object->path, name);
	return !strcmp(soname ?: base_name(object->path), name);
}

struct gorgon_object *gorgon_ns_find_name(struct gorgon_ns *ns, const char *name)
{
	struct gorgon_object *object = ns->first;

	while (object && !has_name(object, name))
		object = object->next;
	return object;
}

static struct gorgon_object *find_name(const struct group *group, const char *name)
{
	for (size_t i = 0; i < group->count; i++)
		if (has_name(group->objects[i], name))
			return group->objects[i];
	return gorgon_ns_find_name(group->ns, name);
}

static struct gorgon_object *find_image(const struct group *group, const struct gorgon_image *image)
{
	struct gorgon_object *object;

	for (size_t i = 0; i < group->count; i++)
		if (group->objects[i]->image == image)
			return group->objects[i];
	object = group->ns->first;
	while (object && (object->image != image || object->doomed))
		object = object->next;
	return object;
}

// Read one file into the group, unless the namespace or the group has it already.
static struct gorgon_error *group_read(struct group *group, const char *path,
				       struct gorgon_object *loader, struct gorgon_object **ret)
{
	struct gorgon_image *image;
	struct gorgon_error *err = gorgon_image_open(path, &image);
	struct gorgon_object *object;

	if (err)
		return err;
	if ((object = find_image(group, image))) {
		gorgon_image_close(image);
		*ret = object;
		return NULL;
	}
	object = gorgon_object_create(group->ns, path, image);
	if (!object) {
		gorgon_image_close(image);
		return &gorgon_error_nomem;
	}
	object->loader = loader;
	if (!group_add(group, object)) {
		gorgon_object_destroy(object);
		return &gorgon_error_nomem;
	}
	*ret = object;
	return NULL;
}

static struct gorgon_error *group_read_name(struct group *group, const char *name,
					    struct gorgon_object *requester,
					    struct gorgon_object **ret)
{
	struct gorgon_object *object = find_name(group, name);
	struct gorgon_error *err;
	char *path;

	if (object) {
		*ret = object;
		return NULL;
	}
	if ((err = gorgon_search(name, requester, &path)))
		return err;
	err = group_read(group, path, requester, ret);
	free(path);
	return err;
}

// Who needs what could not be found or opened; takes @err.
static struct gorgon_error *needed_by(const struct gorgon_object *object, struct gorgon_error *err)
{
	enum gorgon_error_code code = gorgon_error_code(err);
	struct gorgon_error *ret;

	if (code != GORGON_ERROR_MISSING && code != GORGON_ERROR_OS)
		return err;
	ret = gorgon_error_create(GORGON_ERROR_MISSING, "%s: needs %s", object->path,
				  gorgon_error_message(err));
	gorgon_error_destroy(err);
	return ret;
}

// By its name, as any library of the system; one that only the object's own search
// path knows (wheels carry theirs along) by its path.
static struct gorgon_error *open_shared(const struct gorgon_object *object, const char *name,
					struct gorgon_system_library **ret)
{
	struct gorgon_error *err = gorgon_system_open(name, object->path, ret);
	char *path;

	if (!err || (!object->image->rpath && !object->image->runpath))
		return err;
	if (gorgon_error_code(err) != GORGON_ERROR_MISSING)
		return err;
	gorgon_error_destroy(err);
	if ((err = gorgon_search(name, object, &path)))
		return needed_by(object, err);
	err = gorgon_system_open(path, object->path, ret);
	free(path);
	return err;
}

static struct gorgon_error *read_dependency(struct group *group, struct gorgon_object *object,
					    const char *name)
{
	struct gorgon_system_library *library;
	struct gorgon_object *dep;
	struct gorgon_error *err;
	bool shared;

	if ((err = gorgon_closure_shares(group->ns, name, object, &shared)))
		return gorgon_error_prefix(err, object->path);
	if (shared) {
		if ((err = open_shared(object, name, &library)))
			return err;
		object->system[object->system_count++] = library;
		return gorgon_ns_add_system(group->ns, library) ? NULL : &gorgon_error_nomem;
	}
	if ((err = group_read_name(group, name, object, &dep)))
		return needed_by(object, err);
	object->deps[object->dep_count++] = dep;
	return NULL;
}

// The list grows while it is walked: that is the breadth-first search.
static struct gorgon_error *group_read_dependencies(struct group *group)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < group->count; i++) {
		struct gorgon_object *object = group->objects[i];

		for (size_t d = 0; d < object->image->needed_count; d++)
			if ((err = read_dependency(group, object, object->image->needed[d])))
				return err;
	}
	return NULL;
}

static struct gorgon_error *group_map(struct group *group)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < group->count; i++) {
		struct gorgon_object *object = group->objects[i];

		if ((err = gorgon_map(object)) || (err = gorgon_tls_module_create(object)))
			return err;
		object->state = GORGON_OBJECT_MAPPED;
	}
	return NULL;
}

static struct gorgon_error *group_relocate(struct group *group, struct gorgon_object *const *local,
					   size_t local_count)
{
	struct gorgon_error *err;

	// Last read first: dependencies stand behind those that need them.
	for (size_t i = group->count; i-- > 0;)
		if ((err = gorgon_relocate(group->objects[i], local, local_count)))
			return err;
	for (size_t i = group->count; i-- > 0;) {
		struct gorgon_object *object = group->objects[i];

		if ((err = gorgon_relocate_static_tls(object, local, local_count)) ||
		    (err = gorgon_map_protect(object)))
			return err;
		gorgon_mappings_added(object);
		object->state = GORGON_OBJECT_RELOCATED;
	}
	return NULL;
}

static struct gorgon_error *group_link(struct group *group)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < group->count; i++)
		if ((err = gorgon_object_link(group->objects[i])))
			return err;
	return NULL;
}

// Depth first, dependencies before dependents; cycles are cut where they are met.
static void order_for_init(struct gorgon_object *object, struct gorgon_object **list, size_t *count)
{
	if (object->mark)
		return;
	object->mark = true;
	for (size_t i = 0; i < object->dep_count; i++)
		order_for_init(object->deps[i], list, count);
	list[(*count)++] = object;
}

// From MAPPED to LINKED, with what each part cost.
static struct gorgon_error *group_commit(struct group *group, struct gorgon_object *const *closure,
					 size_t count)
{
	struct gorgon_ns *ns = group->ns;
	uint64_t start = gorgon_now(), relocated;
	struct gorgon_error *err = group_relocate(group, closure, count);

	relocated = gorgon_now();
	ns->relocate_ns += relocated - start;
	if (err)
		return err;
	err = group_link(group);
	ns->register_ns += gorgon_now() - relocated;
	return err;
}

static struct gorgon_error *group_load(struct group *group, const char *name,
				       struct gorgon_object *requester, unsigned flags,
				       struct gorgon_object **ret)
{
	struct gorgon_object **closure = NULL, **order = NULL, *root;
	uint64_t start = gorgon_now();
	size_t count, ordered = 0;
	struct gorgon_error *err;

	if ((err = group_read_name(group, name, requester, &root)) ||
	    (err = group_read_dependencies(group)) || (err = group_map(group)))
		return err;
	group->ns->load_ns += gorgon_now() - start;
	closure = gorgon_object_closure(root, &count);
	order = closure ? calloc(count, sizeof(*order)) : NULL;
	err = order ? group_commit(group, closure, count) : &gorgon_error_nomem;
	if (err) {
		free(closure);
		free(order);
		return err;
	}
	// Nothing fails from here on.
	group->count = 0;
	root->open_count++;
	for (size_t i = 0; flags & GORGON_OPEN_GLOBAL && i < count; i++)
		closure[i]->global = true;
	order_for_init(root, order, &ordered);
	for (size_t i = 0; i < count; i++)
		closure[i]->mark = false;
	gorgon_init_run(order, ordered);
	free(closure);
	free(order);
	*ret = root;
	return NULL;
}

struct gorgon_error *gorgon_ns_load(struct gorgon_ns *ns, const char *name,
				    struct gorgon_object *requester, unsigned flags,
				    struct gorgon_object **ret)
{
	struct group group = {.ns = ns};
	struct gorgon_error *err = group_load(&group, name, requester, flags, ret);

	while (group.count)
		gorgon_object_destroy(group.objects[--group.count]);
	free(group.objects);
	return err;
}
