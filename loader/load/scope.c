// SPDX-License-Identifier: MIT
// Which definition a reference gets.
//
// Private scope, as the system's linker orders it: the object itself when it is
// DT_SYMBOLIC; then, where the host has given a list for this load, the object itself and
// the objects of that list; then the namespace's global objects in load order (the libpython
// group, and what was opened with RTLD_GLOBAL); then the group that is being loaded,
// breadth first. RTLD_DEEPBIND puts the group before the global objects.
//
// A few private definitions are replaced as well (interpose.c).
//
// A reference with a version of a shared library gets a replacement only if that library has the name in that version:
// otherwise no definition fits, as with the system's linker.
//
// Outside: the replacements of interpose.c, the host's providers - of the load, of the
// namespace -, the system.
//
// A reference whose version names a shared library goes outside first: a private
// libunwind must not capture _Unwind_* that are wanted of libgcc_s. All others look
// at private definitions first.

#define _GNU_SOURCE
#include "scope.h"
#include "process/interpose.h"

#include <stdlib.h>
#include <string.h>

// One definition per namespace of a GNU_UNIQUE name: the first that was loaded. It stays
// for good, as with the system's linker: later loads must see the same value.
void gorgon_scope_bind_unique(struct gorgon_ns *ns, uint32_t hash, struct gorgon_binding *binding)
{
	const char *name = binding->object->image->strtab + binding->sym->st_name;
	const struct gorgon_unique *unique =
		gorgon_unique_bind(&ns->uniques, name, hash, binding->object, binding->sym);

	if (!unique) {
		// Two definitions would go unnoticed until they differ.
		*binding = (struct gorgon_binding){.no_memory = true};
		return;
	}
	binding->object = unique->object;
	binding->sym = unique->sym;
	binding->object->nodelete = true;
}

static bool find_in(struct gorgon_ns *ns, struct gorgon_object *object,
		    const struct gorgon_symbol_query *query, struct gorgon_binding *ret)
{
	const Elf64_Sym *sym = gorgon_symbol_find(object->image, query);

	if (!sym)
		return false;
	*ret = (struct gorgon_binding){
		.found = true, .object = object, .sym = sym, .first = object, .first_sym = sym};
	if (ELF64_ST_BIND(sym->st_info) == STB_GNU_UNIQUE)
		gorgon_scope_bind_unique(ns, query->gnu_hash, ret);
	return true;
}

struct gorgon_binding gorgon_scope_find_private(struct gorgon_ns *ns,
						struct gorgon_object *const *objects, size_t count,
						const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};

	for (size_t i = 0; i < count; i++)
		if (find_in(ns, objects[i], query, &ret))
			return ret;
	return ret;
}

// What is about to be unmapped is nobody's definition any more, unless all of the
// namespace goes: what destructors load then goes with it.
bool gorgon_scope_is_global(const struct gorgon_ns *ns, const struct gorgon_object *object)
{
	return object->global &&
	       (!object->doomed || ns->debug.state == GORGON_DEBUG_NS_UNLOADING);
}

bool gorgon_scope_is_plain(const struct gorgon_ns *ns, const struct gorgon_scope *scope)
{
	return !ns->opts.provider && !scope->search && !scope->provider;
}

static struct gorgon_binding find_in_search(struct gorgon_ns *ns, struct gorgon_object *object,
					    struct gorgon_object *const *search,
					    const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};

	if (find_in(ns, object, query, &ret))
		return ret;
	while (*search && !find_in(ns, *search, query, &ret))
		search++;
	return ret;
}

static struct gorgon_binding find_inside(struct gorgon_ns *ns, struct gorgon_object *object,
					 const struct gorgon_scope *scope,
					 const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {0};

	if (object && object->image->symbolic && find_in(ns, object, query, &ret))
		return ret;
	if (object && scope->search) {
		ret = find_in_search(ns, object, scope->search, query);
		if (ret.found || ret.no_memory)
			return ret;
	}
	if (object && object->deepbind) {
		ret = gorgon_scope_find_private(ns, scope->local, scope->local_count, query);
		if (ret.found || ret.no_memory)
			return ret;
	}
	for (struct gorgon_object *o = ns->first; o; o = o->next)
		if (gorgon_scope_is_global(ns, o) && find_in(ns, o, query, &ret))
			return ret;
	return gorgon_scope_find_private(ns, scope->local, scope->local_count, query);
}

static bool ask(const struct gorgon_provider *provider, const struct gorgon_symbol_query *query,
		struct gorgon_binding *ret)
{
	return provider &&
	       provider->find(provider->ctx, query->name, query->version, &ret->system.addr);
}

static bool is_defined_outside(const struct gorgon_ns *ns, const struct gorgon_object *object,
			       const struct gorgon_symbol_query *query)
{
	struct gorgon_system_symbol symbol;

	return !object || !query->file || !gorgon_ns_has_system(ns, query->file) ||
	       gorgon_system_find(query, object->system, object->system_count, &symbol);
}

struct gorgon_binding gorgon_scope_find_outside(struct gorgon_ns *ns,
						const struct gorgon_object *object,
						const struct gorgon_provider *provider,
						const struct gorgon_symbol_query *query)
{
	struct gorgon_binding ret = {.found = true};

	ret.source = GORGON_BOUND_REPLACED;
	if ((ret.system.addr = gorgon_interpose_find(ns, object, provider, query->name)) &&
	    is_defined_outside(ns, object, query))
		return ret;
	ret.source = GORGON_BOUND_PROVIDER;
	if (ask(provider, query, &ret) || ask(ns->opts.provider, query, &ret))
		return ret;
	ret.source = GORGON_BOUND_SYSTEM;
	// Under-linked objects: what the rest of the namespace needs, last.
	ret.found = (object && gorgon_system_find(query, object->system, object->system_count,
						  &ret.system)) ||
		    gorgon_system_find(query, ns->system, ns->system_count, &ret.system);
	return ret;
}

struct gorgon_binding gorgon_scope_find(struct gorgon_ns *ns, struct gorgon_object *object,
					const struct gorgon_scope *scope,
					const struct gorgon_symbol_query *query)
{
	bool outside_first = query->file && gorgon_ns_has_system(ns, query->file);
	struct gorgon_binding ret;
	void *replaced;

	if (outside_first) {
		ret = gorgon_scope_find_outside(ns, object, scope->provider, query);
		if (ret.found)
			return ret;
	}
	ret = find_inside(ns, object, scope, query);
	if (ret.found && (replaced = gorgon_interpose_find_defined(ns, ret.object, query->name)))
		return (struct gorgon_binding){.found = true,
					       .source = GORGON_BOUND_REPLACED,
					       .system.addr = replaced};
	if (!ret.found && !ret.no_memory && !outside_first)
		ret = gorgon_scope_find_outside(ns, object, scope->provider, query);
	return ret;
}

void *gorgon_binding_address(const struct gorgon_binding *binding)
{
	if (!binding->found)
		return NULL;
	return binding->object ? gorgon_object_symbol_address(binding->object, binding->sym)
			       : binding->system.addr;
}
