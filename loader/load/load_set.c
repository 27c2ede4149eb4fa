// SPDX-License-Identifier: MIT
// Reading a group of objects: the first step of a load (load.c), and all of looking at
// what a load would bring (deps.c).
//
// An object is read with everything that it needs, breadth first, which is the order
// of the look-up scope as well. What the namespace has already is not read again; what
// is shared is opened by the system.

#define _GNU_SOURCE
#include "load_set.h"
#include "ns/closure.h"
#include "destroy.h"
#include "base/error.h"
#include "debug/publish.h"
#include "ns/search.h"
#include "ns/system.h"

#include <stdlib.h>
#include <string.h>

static bool group_add(struct gorgon_load_set *group, struct gorgon_object *object)
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

static struct gorgon_object *find_name(const struct gorgon_load_set *group, const char *name)
{
	for (size_t i = 0; i < group->count; i++)
		if (gorgon_object_has_name(group->objects[i], name))
			return group->objects[i];
	return gorgon_ns_find_name(group->ns, name);
}

static struct gorgon_object *find_image(const struct gorgon_load_set *group,
					const struct gorgon_image *image)
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

static struct gorgon_error *check_image(const char *path, const struct gorgon_image *image)
{
	const char *reason = image->soname ? gorgon_policy_must_share(image->soname) : NULL;

	if (reason)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT, "%s: %s, which cannot be private: %s",
					   path, image->soname, reason);
	// Its own definitions are placeholders: without the other library a wrong function would run.
	if (image->filtee)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: is a filter in front of %s (DT_FILTER, DT_AUXILIARY), which "
					   "cannot be private; take it from the system (--share)",
					   path, image->filtee);
	return NULL;
}

// Read one file into the group, unless the namespace or the group has it already.
static struct gorgon_error *group_read(struct gorgon_load_set *group, const char *path,
				       struct gorgon_object *loader, struct gorgon_object **ret)
{
	struct gorgon_image *image;
	struct gorgon_file file;
	struct gorgon_error *err = gorgon_image_open_file(path, &image, &file);
	struct gorgon_object *object;

	if (err)
		return err;
	if ((object = find_image(group, image))) {
		gorgon_file_close(&file);
		gorgon_image_close(image);
		*ret = object;
		return NULL;
	}
	if ((err = check_image(path, image))) {
		gorgon_file_close(&file);
		gorgon_image_close(image);
		return err;
	}
	object = gorgon_object_create(group->ns, path, image);
	if (!object) {
		gorgon_file_close(&file);
		gorgon_image_close(image);
		return &gorgon_error_nomem;
	}
	object->file = file;
	object->requester.loader = gorgon_object_requester(loader);
	if (!group_add(group, object)) {
		gorgon_object_destroy(object);
		return &gorgon_error_nomem;
	}
	*ret = object;
	return NULL;
}

struct gorgon_error *gorgon_load_set_read_name(struct gorgon_load_set *group, const char *name,
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
	if ((err = gorgon_search(name, gorgon_object_requester(requester), &path)))
		return err;
	err = group_read(group, path, requester, ret);
	free(path);
	if (!err && !strchr(name, '/'))
		(*ret)->by_name = true;
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
	if ((err = gorgon_search(name, &object->requester, &path)))
		return needed_by(object, err);
	err = gorgon_system_open(path, object->path, ret);
	free(path);
	return err;
}

struct gorgon_error *gorgon_load_set_read_private(struct gorgon_load_set *group,
					       struct gorgon_object *object, const char *name,
					       struct gorgon_object **ret)
{
	struct gorgon_error *err = gorgon_load_set_read_name(group, name, object, ret);

	if (err)
		return needed_by(object, err);
	object->deps[object->dep_count++] = *ret;
	return NULL;
}

struct gorgon_error *gorgon_load_set_open_shared(struct gorgon_load_set *group,
					      struct gorgon_object *object, const char *name)
{
	struct gorgon_system_library *library;
	struct gorgon_error *err = open_shared(object, name, &library);

	if (err)
		return err;
	object->system[object->system_count++] = library;
	return gorgon_ns_add_system(group->ns, library) ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *read_dependency(struct gorgon_load_set *group,
					    struct gorgon_object *object, const char *name)
{
	struct gorgon_object *dep;
	struct gorgon_error *err;
	bool shared;

	if ((err = gorgon_closure_shares(group->ns, name, &object->requester, &shared)))
		return gorgon_error_prefix(err, object->path);
	return shared ? gorgon_load_set_open_shared(group, object, name)
		      : gorgon_load_set_read_private(group, object, name, &dep);
}

// The list grows while it is walked: that is the breadth-first search.
struct gorgon_error *gorgon_load_set_read_dependencies(struct gorgon_load_set *group)
{
	struct gorgon_error *err;

	for (; group->walked < group->count; group->walked++) {
		struct gorgon_object *object = group->objects[group->walked];

		for (size_t d = 0; d < object->image->needed_count; d++)
			if ((err = read_dependency(group, object, object->image->needed[d])))
				return err;
	}
	return NULL;
}

void gorgon_load_set_deinit(struct gorgon_load_set *group)
{
	while (group->count)
		gorgon_object_destroy(group->objects[--group->count]);
	free(group->objects);
	group->objects = NULL;
}
