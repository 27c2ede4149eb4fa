// SPDX-License-Identifier: MIT
// Loading an object with all that it needs (a load set): the transaction.
//
//	read      the root and, breadth first, every private dependency that is not
//		  loaded yet; the system's linker opens the shared ones
//	map       all of them
//	relocate  all of them, dependencies first, with the whole set in scope
//	publish   all of them: to the unwinder, the debug root and debuggers
//	init      run constructors, dependencies first, without the lock
//
// All objects are mapped before the first is relocated, because objects of a set refer to each
// other. Until "publish" nobody sees any of them, and a failure throws the set away; a failure
// in "publish" takes back what has been published. Constructors cannot fail.

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

static struct gorgon_error *set_map(struct gorgon_load_set *set)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < set->count; i++) {
		struct gorgon_object *object = set->objects[i];

		if ((err = gorgon_map(object)) || (err = gorgon_tls_module_create(object)))
			return err;
		object->state = GORGON_OBJECT_MAPPED;
	}
	return NULL;
}

static struct gorgon_error *set_relocate(struct gorgon_load_set *set,
					   const struct gorgon_scope *scope)
{
	struct gorgon_error *err;

	// The object that was read last comes first: dependencies stand behind what needs them.
	for (size_t i = set->count; i-- > 0;)
		if ((err = gorgon_relocate(set->objects[i], scope)))
			return err;
	for (size_t i = set->count; i-- > 0;) {
		struct gorgon_object *object = set->objects[i];

		if ((err = gorgon_relocate_static_tls(object, scope)) ||
		    (err = gorgon_map_protect(object)))
			return err;
		gorgon_relax_if_scarce(object);
		object->state = GORGON_OBJECT_RELOCATED;
	}
	return NULL;
}

static struct gorgon_error *set_publish(struct gorgon_load_set *set)
{
	struct gorgon_error *err;

	for (size_t i = 0; i < set->count; i++)
		if ((err = gorgon_object_publish(set->objects[i])))
			return err;
	// Debuggers have not been told of objects with names only: they hear of all of them at
	// once.
	return gorgon_debug_mode_list(set->ns);
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

// The system's linker has the same order: of two objects that do not need each other the
// one that is named later goes first, and in a cycle the root goes last.
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

// From MAPPED to PUBLISHED; the namespace's statistics get the time that each part takes.
static struct gorgon_error *set_commit(struct gorgon_load_set *set,
					 const struct gorgon_scope *scope)
{
	struct gorgon_ns *ns = set->ns;
	uint64_t start = gorgon_now(), relocated;
	struct gorgon_error *err = set_relocate(set, scope);

	relocated = gorgon_now();
	ns->relocate_ns += relocated - start;
	if (err)
		return err;
	err = set_publish(set);
	if (!err)
		gorgon_debug_mode_changed(ns);
	ns->register_ns += gorgon_now() - relocated;
	return err;
}

static struct gorgon_error *set_load(struct gorgon_load_set *set, const char *name,
				       struct gorgon_object *requester,
				       const struct gorgon_open_opts *opts,
				       struct gorgon_object **ret)
{
	struct gorgon_scope scope = {.search = opts->search, .provider = opts->provider};
	struct gorgon_object **closure = NULL, **order = NULL, *root;
	uint64_t start = gorgon_now();
	size_t count;
	struct gorgon_error *err;

	if ((err = gorgon_load_set_read_name(set, name, requester, &root)))
		return err;
	// The caller's DT_RPATH serves to find the root, but not what the root needs.
	if (set->count)
		root->requester.loader = NULL;
	if ((err = gorgon_load_set_read_dependencies(set)) || (err = set_map(set)))
		return err;
	for (size_t i = 0; i < set->count; i++) {
		set->objects[i]->deepbind = opts->flags & GORGON_OPEN_DEEPBIND;
		set->objects[i]->argv = opts->argv;
		set->objects[i]->envp = opts->envp;
	}
	set->ns->load_ns += gorgon_now() - start;
	closure = gorgon_object_closure(root, &count);
	order = closure ? calloc(count, sizeof(*order)) : NULL;
	scope.local = closure;
	scope.local_count = count;
	err = order ? set_commit(set, &scope) : &gorgon_error_nomem;
	if (err) {
		free(closure);
		free(order);
		return err;
	}
	// Nothing fails from here on.
	set->count = 0;
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
	struct gorgon_load_set set = {.ns = ns};
	struct gorgon_error *err = set_load(&set, name, requester, opts, ret);

	gorgon_load_set_deinit(&set);
	return err;
}
