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
#include "base/error.h"
#include "base/clock.h"
#include "load_set.h"
#include "init.h"
#include "load.h"
#include "map.h"
#include "debug/debug_mode.h"
#include "debug/publish.h"
#include "relax.h"
#include "reloc.h"
#include "ns/tls.h"

#include <stdlib.h>
#include <string.h>

static struct gorgon_error *group_map(struct gorgon_load_set *group)
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

static struct gorgon_error *group_relocate(struct gorgon_load_set *group,
					   const struct gorgon_scope *scope)
{
	struct gorgon_error *err;

	// Last read first: dependencies stand behind those that need them.
	for (size_t i = group->count; i-- > 0;)
		if ((err = gorgon_relocate(group->objects[i], scope)))
			return err;
	for (size_t i = group->count; i-- > 0;) {
		struct gorgon_object *object = group->objects[i];

		if ((err = gorgon_relocate_static_tls(object, scope)) ||
		    (err = gorgon_map_protect(object)))
			return err;
		gorgon_relax_if_scarce(object);
		object->state = GORGON_OBJECT_RELOCATED;
	}
	return NULL;
}

static struct gorgon_error *group_link(struct gorgon_load_set *group)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < group->count; i++)
		if ((err = gorgon_object_publish(group->objects[i])))
			return err;
	// Those that were linked without telling debuggers: all of them at once.
	return gorgon_debug_mode_list(group->ns);
}

// Depth first, dependencies before dependents; cycles are cut where they are met.
static void visit_for_init(struct gorgon_object *object, struct gorgon_object **list, size_t *count)
{
	if (object->mark)
		return;
	object->mark = true;
	for (size_t i = 0; i < object->dep_count; i++)
		visit_for_init(object->deps[i], list, count);
	list[(*count)++] = object;
}

// The order that the system's linker has: of objects that do not need each other the
// last one named goes first, and in a cycle the root goes last.
static void order_for_init(struct gorgon_object *const *closure, size_t count,
			   struct gorgon_object **list)
{
	size_t ordered = 0;

	closure[0]->mark = true;
	for (size_t i = count; i-- > 1;)
		visit_for_init(closure[i], list, &ordered);
	list[ordered] = closure[0];
	for (size_t i = 0; i < count; i++)
		closure[i]->mark = false;
}

// From MAPPED to LINKED, with what each part cost.
static struct gorgon_error *group_commit(struct gorgon_load_set *group,
					 const struct gorgon_scope *scope)
{
	struct gorgon_ns *ns = group->ns;
	uint64_t start = gorgon_now(), relocated;
	struct gorgon_error *err = group_relocate(group, scope);

	relocated = gorgon_now();
	ns->relocate_ns += relocated - start;
	if (err)
		return err;
	err = group_link(group);
	if (!err)
		gorgon_debug_mode_changed(ns);
	ns->register_ns += gorgon_now() - relocated;
	return err;
}

static struct gorgon_error *group_load(struct gorgon_load_set *group, const char *name,
				       struct gorgon_object *requester,
				       const struct gorgon_open_opts *opts,
				       struct gorgon_object **ret)
{
	struct gorgon_scope scope = {.search = opts->search, .provider = opts->provider};
	struct gorgon_object **closure = NULL, **order = NULL, *root;
	uint64_t start = gorgon_now();
	size_t count;
	struct gorgon_error *err;

	if ((err = gorgon_load_set_read_name(group, name, requester, &root)))
		return err;
	// The caller's DT_RPATH finds the root, not what the root needs.
	if (group->count)
		root->requester.loader = NULL;
	if ((err = gorgon_load_set_read_dependencies(group)) || (err = group_map(group)))
		return err;
	for (size_t i = 0; i < group->count; i++) {
		group->objects[i]->deepbind = opts->flags & GORGON_OPEN_DEEPBIND;
		group->objects[i]->argv = opts->argv;
		group->objects[i]->envp = opts->envp;
	}
	group->ns->load_ns += gorgon_now() - start;
	closure = gorgon_object_closure(root, &count);
	order = closure ? calloc(count, sizeof(*order)) : NULL;
	scope.local = closure;
	scope.local_count = count;
	err = order ? group_commit(group, &scope) : &gorgon_error_nomem;
	if (err) {
		free(closure);
		free(order);
		return err;
	}
	// Nothing fails from here on.
	group->count = 0;
	root->open_count++;
	for (size_t i = 0; opts->flags & GORGON_OPEN_GLOBAL && i < count; i++)
		closure[i]->global = true;
	order_for_init(closure, count, order);
	gorgon_init_run(order, count);
	free(closure);
	free(order);
	*ret = root;
	return NULL;
}

struct gorgon_error *gorgon_ns_load(struct gorgon_ns *ns, const char *name,
				    struct gorgon_object *requester,
				    const struct gorgon_open_opts *opts,
				    struct gorgon_object **ret)
{
	struct gorgon_load_set group = {.ns = ns};
	struct gorgon_error *err = group_load(&group, name, requester, opts, ret);

	gorgon_load_set_deinit(&group);
	return err;
}
