// SPDX-License-Identifier: MIT
// Reading the objects of a load set: the first step of a load (load.c), and the only step of
// saying what a load would bring (deps.c).
//
// An object is read with everything that it needs, breadth first. References are looked up in
// the same order later. An object that the namespace has already is not read again; the system's
// linker opens shared libraries.

#define _GNU_SOURCE
#include "load_set.h"
#include "ns/closure.h"
#include "destroy.h"
#include "base/error.h"
#include "debug/publish.h"
#include "ns/search.h"
#include "ns/system.h"
#include "file/grow.h"

#include <stdlib.h>
#include <string.h>

static bool set_add(struct gorgon_load_set *set, struct gorgon_object *object)
{
	struct gorgon_object **added = jitreg_add(&set->objects, &set->count, sizeof(*added));

	if (added)
		*added = object;
	return added;
}

static struct gorgon_object *find_name(const struct gorgon_load_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (gorgon_object_has_name(set->objects[i], name))
			return set->objects[i];
	return gorgon_ns_find_name(set->ns, name);
}

static struct gorgon_object *find_image(const struct gorgon_load_set *set,
					const struct gorgon_image *image)
{
	struct gorgon_object *object;

	for (size_t i = 0; i < set->count; i++)
		if (set->objects[i]->image == image)
			return set->objects[i];
	object = set->ns->first;
	while (object && (object->image != image || object->doomed))
		object = object->next;
	return object;
}

static struct gorgon_error *check_image(const char *path, const struct gorgon_image *image)
{
	const char *reason = image->soname ? gorgon_policy_must_share(image->soname) : NULL;

	if (reason)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "%s: %s, which cannot be private: %s", path,
					   image->soname, reason);
	// A filter's own definitions are placeholders: without the other library a wrong function
	// would run.
	if (image->filtee)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: is a filter in front of %s (DT_FILTER, DT_AUXILIARY), which "
			"cannot be private; take it from the system (--share)",
			path, image->filtee);
	return NULL;
}

// Read one file into the set, unless the namespace or the set has it already.
static struct gorgon_error *set_read(struct gorgon_load_set *set, const char *path,
				       struct gorgon_object *loader, struct gorgon_object **ret)
{
	struct gorgon_image *image;
	struct gorgon_file file;
	struct gorgon_error *err = gorgon_image_open_file(path, &image, &file);
	struct gorgon_object *object;

	if (err)
		return err;
	if ((object = find_image(set, image))) {
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
	object = gorgon_object_create(set->ns, path, image);
	if (!object) {
		gorgon_file_close(&file);
		gorgon_image_close(image);
		return &gorgon_error_nomem;
	}
	object->file = file;
	object->requester.loader = gorgon_object_requester(loader);
	if (!set_add(set, object)) {
		gorgon_object_destroy(object);
		return &gorgon_error_nomem;
	}
	*ret = object;
	return NULL;
}

struct gorgon_error *gorgon_load_set_read_name(struct gorgon_load_set *set, const char *name,
					    struct gorgon_object *requester,
					    struct gorgon_object **ret)
{
	struct gorgon_object *object = find_name(set, name);
	struct gorgon_error *err;
	char *path;

	if (object) {
		*ret = object;
		return NULL;
	}
	if ((err = gorgon_search(name, gorgon_object_requester(requester), &path)))
		return err;
	err = set_read(set, path, requester, ret);
	free(path);
	if (!err && !strchr(name, '/'))
		(*ret)->by_name = true;
	return err;
}

// Say in front of @err, which is taken, which object needs the library that could not be found or
// opened.
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

// The system's linker looks for the name first. A library that only the object's own search path
// leads to (wheels bring libraries along) is opened by its path.
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

struct gorgon_error *gorgon_load_set_read_private(struct gorgon_load_set *set,
					       struct gorgon_object *object, const char *name,
					       struct gorgon_object **ret)
{
	struct gorgon_error *err = gorgon_load_set_read_name(set, name, object, ret);

	if (err)
		return needed_by(object, err);
	object->deps[object->dep_count++] = *ret;
	return NULL;
}

struct gorgon_error *gorgon_load_set_open_shared(struct gorgon_load_set *set,
					      struct gorgon_object *object, const char *name)
{
	struct gorgon_system_library *library;
	struct gorgon_error *err = open_shared(object, name, &library);

	if (err)
		return err;
	object->system[object->system_count++] = library;
	return gorgon_ns_add_system(set->ns, library) ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *read_dependency(struct gorgon_load_set *set,
					    struct gorgon_object *object, const char *name)
{
	struct gorgon_object *dep;
	struct gorgon_error *err;
	bool shared;

	if ((err = gorgon_closure_shares(set->ns, name, &object->requester, &shared)))
		return gorgon_error_prefix(err, object->path);
	return shared ? gorgon_load_set_open_shared(set, object, name)
		      : gorgon_load_set_read_private(set, object, name, &dep);
}

// The list grows while it is walked, which makes the search breadth first.
struct gorgon_error *gorgon_load_set_read_dependencies(struct gorgon_load_set *set)
{
	struct gorgon_error *err;

	for (; set->walked < set->count; set->walked++) {
		struct gorgon_object *object = set->objects[set->walked];

		for (size_t d = 0; d < object->image->needed_count; d++)
			if ((err = read_dependency(set, object, object->image->needed[d])))
				return err;
	}
	return NULL;
}

void gorgon_load_set_deinit(struct gorgon_load_set *set)
{
	while (set->count)
		gorgon_object_destroy(set->objects[--set->count]);
	free(set->objects);
	set->objects = NULL;
}
