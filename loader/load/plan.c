// SPDX-License-Identifier: MIT
// Plans: bindings that were found for one copy of a file are used again for its further copies.
//
// Looking up the names that a libpython refers to takes longer than all the rest of its relocation;
// most of the time goes into the system's dlsym(). A plan says of each symbol that relocations of a
// file refer to where its definition was: in which object of the private scope, or at which address
// in a shared library. The key of a plan is everything that decides on that: the objects of the
// scope in their order, by the numbers of their images; shared libraries; which references are
// looked up outside first; and the options that decide on replacements. A scope with another key
// needs another plan; a file keeps its last few plans.
//
// Names that the system's linker could answer otherwise after further loads are open. When it has
// loaded something, all libraries are searched for the open names before the plan is used again
// (../ns/global_names.c).
//
// What a plan cannot cover is looked up each time: thread-local variables, IFUNCs, open names that
// a second library has, and everything of a load with a provider, which
// may give any answer, or with a list of objects to search. Each namespace has replacements at
// addresses of its own. GNU_UNIQUE names are bound to the namespace's first definition, with a plan
// or without.
//
// A plan is made when a file is loaded for the second time, so that a process with one interpreter
// pays nothing for it.

#define _GNU_SOURCE
#include "plan.h"
#include "base/error.h"
#include "image/plan.h"
#include "ns/global_names.h"
#include "process/interpose.h"
#include "process/libc/environment.h"
#include "file/grow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PLANS 4
#define END	  UINT64_MAX // ends a list within a key

struct list {
	uint64_t *items;
	size_t count;
	bool failed;
};

static void plan_append(struct list *list, uint64_t item)
{
	uint64_t *added =
		list->failed ? NULL : jitreg_add(&list->items, &list->count, sizeof(*added));

	if (added)
		*added = item;
	else
		list->failed = true;
}

// The objects of the private scope. The position of an object in this order is its ordinal.
static void append_objects(struct list *list, const struct gorgon_object *object,
			   const struct gorgon_scope *scope)
{
	plan_append(list, (uintptr_t)object);
	for (struct gorgon_object *o = object->ns->first; o; o = o->next)
		if (gorgon_scope_is_global(object->ns, o))
			plan_append(list, (uintptr_t)o);
	plan_append(list, 0);
	for (size_t i = 0; i < scope->local_count; i++)
		plan_append(list, (uintptr_t)scope->local[i]);
}

static struct gorgon_object *object_at(const struct list *objects, size_t ordinal)
{
	return (struct gorgon_object *)(uintptr_t)objects->items[ordinal];
}

static void append_options(struct list *key, const struct gorgon_object *object)
{
	const struct gorgon_ns *ns = object->ns;

	plan_append(key, (uintptr_t)ns->interposed);
	plan_append(key, (uint64_t)object->deepbind |
				 (uint64_t)(ns->opts.debug == GORGON_DEBUG_OFF) << 1 |
				 (uint64_t)(ns->opts.write_output != NULL) << 2 |
				 (uint64_t)(gorgon_environment_list(ns->environment) != NULL) << 3 |
				 (uint64_t)ns->opts.deny << 4);
}

static struct list make_key(const struct gorgon_object *object, const struct list *objects)
{
	const struct gorgon_image *image = object->image;
	struct list key = {0};

	append_options(&key, object);
	for (size_t i = 0; i < objects->count; i++)
		plan_append(&key, objects->items[i] ? object_at(objects, i)->image->number : END);
	plan_append(&key, END);
	for (size_t i = 0; i < object->system_count; i++)
		plan_append(&key, (uintptr_t)object->system[i]);
	plan_append(&key, END);
	for (uint32_t i = 0; i < image->version_count; i++)
		if (image->versions[i].file)
			plan_append(&key,
				    gorgon_ns_has_system(object->ns, image->versions[i].file));
	return key;
}

// False: no plan can be made for the object, or there is no memory.
static bool plan_describe(const struct gorgon_object *object, const struct gorgon_scope *scope,
			  struct list *objects, struct list *key)
{
	*objects = *key = (struct list){0};
	if (!gorgon_scope_is_plain(object->ns, scope))
		return false;
	append_objects(objects, object, scope);
	if (!objects->failed)
		*key = make_key(object, objects);
	if (!objects->failed && !key->failed)
		return true;
	free(objects->items);
	free(key->items);
	return false;
}

static struct gorgon_plan *find_plan(const struct gorgon_image *image, const struct list *key)
{
	struct gorgon_plan *plan = image->plans;

	while (plan && (plan->key_count != key->count ||
			memcmp(plan->key, key->items, key->count * sizeof(*key->items))))
		plan = plan->next;
	return plan;
}

// ---- open names --------------------------------------------------------------------------------

static struct gorgon_global_name *list_open(const struct gorgon_image *image,
					    const struct gorgon_plan *plan, size_t *count)
{
	struct gorgon_global_name *names = calloc(plan->item_count + 1u, sizeof(*names));

	*count = 0;
	for (uint32_t i = 0; names && i < plan->item_count; i++)
		if (plan->items[i].kind == GORGON_PLAN_OPEN)
			names[(*count)++] = (struct gorgon_global_name){
				.query = gorgon_symbol_query_of(image, plan->items[i].symbol),
				.addr = (const void *)(uintptr_t)plan->items[i].addr};
	return names;
}

// The libraries may have become more: what has got a second definition is looked up from now on.
// False: there is no memory to look.
static bool renew(const struct gorgon_image *image, struct gorgon_plan *plan)
{
	struct gorgon_global_name *names;
	size_t count, at = 0;

	if (plan->added == gorgon_global_libraries_count())
		return true;
	names = list_open(image, plan, &count);
	if (!names)
		return false;
	plan->added = gorgon_global_names_survey(names, count);
	for (uint32_t i = 0; i < plan->item_count; i++)
		if (plan->items[i].kind == GORGON_PLAN_OPEN && names[at++].has_rival)
			plan->items[i].kind = GORGON_PLAN_SEARCH;
	free(names);
	return true;
}

// What the system has answered in a plan that was just made.
static void settle(const struct gorgon_image *image, struct gorgon_plan *plan)
{
	struct gorgon_global_name *names;
	size_t count, at = 0;

	names = list_open(image, plan, &count);
	if (names) {
		gorgon_global_names_find(names, count);
		plan->added = gorgon_global_names_survey(names, count);
	}
	for (uint32_t i = 0; i < plan->item_count; i++) {
		struct gorgon_plan_item *item = &plan->items[i];
		const struct gorgon_global_name *name = names ? &names[at] : NULL;

		if (item->kind != GORGON_PLAN_OPEN)
			continue;
		at++;
		if (!name || (name->addr && !name->has_owner))
			item->kind = GORGON_PLAN_SEARCH; // nobody knows what that is
		else if (name->is_global)
			item->kind = GORGON_PLAN_SYSTEM;
		else if (name->has_rival)
			item->kind = GORGON_PLAN_SEARCH;
	}
	free(names);
}

// ---- using a plan ------------------------------------------------------------------------------

struct replay {
	struct gorgon_object *object;
	const struct list *objects;
	struct gorgon_object *last_ref;
};

static struct gorgon_error *bind_private(struct replay *replay, const struct gorgon_plan_item *item,
					 uint64_t *value)
{
	struct gorgon_object *object = replay->object;
	struct gorgon_object *definer = object_at(replay->objects, item->ordinal);
	struct gorgon_binding binding = {.found = true,
					 .object = definer,
					 .sym = &definer->image->symbols[item->definition]};

	if (item->kind == GORGON_PLAN_UNIQUE)
		gorgon_scope_bind_unique(
			object->ns, gorgon_symbol_query_of(object->image, item->symbol).gnu_hash,
			&binding);
	if (binding.no_memory)
		return &gorgon_error_nomem;
	if (binding.object != replay->last_ref && !gorgon_object_add_ref(object, binding.object))
		return &gorgon_error_nomem;
	replay->last_ref = binding.object;
	*value = (uintptr_t)gorgon_object_symbol_address(binding.object, binding.sym);
	return NULL;
}

static struct gorgon_error *replay_item(struct replay *replay, const struct gorgon_plan_item *item,
					struct gorgon_plan_values *ret)
{
	const struct gorgon_object *object = replay->object;
	uint64_t *value = &ret->values[item->symbol];

	ret->known[item->symbol] = true;
	switch ((enum gorgon_plan_kind)item->kind) {
	case GORGON_PLAN_PRIVATE:
	case GORGON_PLAN_UNIQUE:
		return bind_private(replay, item, value);
	case GORGON_PLAN_SYSTEM:
	case GORGON_PLAN_OPEN:
		*value = item->addr;
		return NULL;
	case GORGON_PLAN_REPLACED:
		*value = (uintptr_t)gorgon_interpose_address(object->ns, item->name);
		return NULL;
	case GORGON_PLAN_SEARCH:
		break;
	}
	ret->known[item->symbol] = false;
	return NULL;
}

static struct gorgon_error *replay_plan(const struct gorgon_plan *plan,
					struct gorgon_object *object, const struct list *objects,
					struct gorgon_plan_values *ret)
{
	struct replay replay = {.object = object, .objects = objects, .last_ref = object};
	size_t count = object->image->symbol_count + 1u;
	struct gorgon_error *err = NULL;

	ret->values = malloc(count * sizeof(*ret->values));
	ret->known = calloc(count, sizeof(*ret->known));
	if (!ret->values || !ret->known)
		err = &gorgon_error_nomem;
	for (uint32_t i = 0; !err && i < plan->item_count; i++)
		err = replay_item(&replay, &plan->items[i], ret);
	if (err)
		gorgon_plan_values_deinit(ret);
	return err;
}

struct gorgon_error *gorgon_plan_replay(struct gorgon_object *object,
					const struct gorgon_scope *scope,
					struct gorgon_plan_values *ret)
{
	struct gorgon_plan *plan;
	struct gorgon_error *err = NULL;
	struct list objects, key;

	*ret = (struct gorgon_plan_values){0};
	if (!object->image->plans || !plan_describe(object, scope, &objects, &key))
		return NULL;
	plan = find_plan(object->image, &key);
	if (plan && renew(object->image, plan))
		err = replay_plan(plan, object, &objects, ret);
	free(objects.items);
	free(key.items);
	return err;
}

void gorgon_plan_values_deinit(struct gorgon_plan_values *values)
{
	free(values->values);
	free(values->known);
	*values = (struct gorgon_plan_values){0};
}

// ---- making a plan -----------------------------------------------------------------------------

static uint32_t ordinal_of(const struct list *objects, const struct gorgon_object *object)
{
	uint32_t i = 0;

	while (i < objects->count && object_at(objects, i) != object)
		i++;
	return i;
}

static bool is_indirect(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_TLS ||
	       ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
}

static void plan_private(const struct list *objects, const struct gorgon_binding *binding,
			 bool outside_first, struct gorgon_plan_item *item)
{
	bool is_unique = ELF64_ST_BIND(binding->first_sym->st_info) == STB_GNU_UNIQUE;
	uint32_t ordinal = ordinal_of(objects, binding->first);

	if (outside_first || ordinal == objects->count || is_indirect(binding->sym))
		return;
	item->kind = is_unique ? GORGON_PLAN_UNIQUE : GORGON_PLAN_PRIVATE;
	item->ordinal = ordinal;
	item->definition = (uint32_t)(binding->first_sym - binding->first->image->symbols);
}

static void plan_system(const struct gorgon_object *object, const struct gorgon_binding *binding,
			const struct gorgon_symbol_query *query, struct gorgon_plan_item *item)
{
	struct gorgon_system_symbol again = {0};

	// A library that the object itself does not need was found because another object of its
	// namespace needs it. In another namespace it may not be found.
	if (binding->found &&
	    (!gorgon_system_find(query, object->system, object->system_count, &again) ||
	     again.addr != binding->system.addr))
		return;
	item->kind = GORGON_PLAN_OPEN;
	item->addr = (uintptr_t)binding->system.addr;
}

static void plan_replaced(const struct gorgon_object *object, const struct gorgon_binding *binding,
			  const struct gorgon_symbol_query *query, struct gorgon_plan_item *item)
{
	const struct gorgon_our_name *name =
		gorgon_interpose_choose(object->ns, object, NULL, query->name);

	if (!name || gorgon_interpose_address(object->ns, name) != binding->system.addr)
		return;
	item->kind = GORGON_PLAN_REPLACED;
	item->name = name;
}

static struct gorgon_plan_item plan_symbol(const struct gorgon_object *object,
					   const struct list *objects, uint32_t index,
					   const struct gorgon_binding *binding)
{
	struct gorgon_plan_item item = {.symbol = index, .kind = GORGON_PLAN_SEARCH};
	const Elf64_Sym *sym = &object->image->symbols[index];
	struct gorgon_symbol_query query = gorgon_symbol_query_of(object->image, index);
	bool outside_first = query.file && gorgon_ns_has_system(object->ns, query.file);

	if (is_indirect(sym))
		return item;
	if (binding->object)
		plan_private(objects, binding, outside_first, &item);
	else if (!binding->found || binding->source == GORGON_BOUND_SYSTEM)
		plan_system(object, binding, &query, &item);
	else if (binding->source == GORGON_BOUND_REPLACED)
		plan_replaced(object, binding, &query, &item);
	return item;
}

static struct gorgon_plan *create_plan(const struct list *key, size_t item_count)
{
	struct gorgon_plan *plan = malloc(sizeof(*plan) + key->count * sizeof(*plan->key) +
					  item_count * sizeof(*plan->items));

	if (!plan)
		return NULL;
	plan->key_count = (uint32_t)key->count;
	plan->item_count = 0;
	plan->added = 0;
	plan->key = plan->data;
	plan->items = (struct gorgon_plan_item *)(plan->data + key->count);
	memcpy(plan->key, key->items, key->count * sizeof(*plan->key));
	return plan;
}

static void keep_plan(struct gorgon_image *image, struct gorgon_plan *plan)
{
	struct gorgon_plan **link = &image->plans;

	plan->next = image->plans;
	image->plans = plan;
	for (unsigned i = 0; i < MAX_PLANS && *link; i++)
		link = &(*link)->next;
	free(*link);
	*link = NULL;
}

void gorgon_plan_record(struct gorgon_object *object, const struct gorgon_scope *scope,
			const struct gorgon_binding *bindings, const bool *bound)
{
	struct gorgon_image *image = object->image;
	struct gorgon_plan *plan = NULL;
	struct list objects, key;
	size_t count = 0;

	if (!image->relocated_before || !plan_describe(object, scope, &objects, &key)) {
		image->relocated_before = true;
		return;
	}
	for (uint32_t i = 1; i < image->symbol_count; i++)
		count += bound[i];
	plan = create_plan(&key, count);
	for (uint32_t i = 1; plan && i < image->symbol_count; i++)
		if (bound[i])
			plan->items[plan->item_count++] =
				plan_symbol(object, &objects, i, &bindings[i]);
	if (plan) {
		settle(image, plan);
		keep_plan(image, plan);
	}
	free(objects.items);
	free(key.items);
}
