// SPDX-License-Identifier: MIT
// Which definition a reference gets.
//
// Inside, a reference is looked up in the order of the system's linker: in the object itself when
// it is DT_SYMBOLIC; then, where the host has given a list for this load, in the object itself and
// in the objects of that list; then in the namespace's global objects in the order of their loads
// (the libpython and what it needs, and what was opened with RTLD_GLOBAL); then in the objects of
// this load, breadth first. RTLD_DEEPBIND puts the objects of the load before the global ones. A
// few definitions that are found so are replaced (interpose.c).
//
// Outside, it is looked up in the replacements of interpose.c, with the host's providers (that of
// the load, then that of the namespace), and in shared libraries. A reference with a version of a
// shared library gets a replacement only if that library has the name in that version: otherwise no
// definition fits, as with the system's linker.
//
// A reference whose version names a shared library is looked up outside first: a private libunwind
// must not define the _Unwind_* that libgcc_s is to define. All others are looked up inside first.
//
// Memory has one allocator. A private library may define malloc() (tcmalloc, jemalloc, mimalloc),
// but blocks come from and go to the C library and libstdc++, too, which use the process's. In a
// process the global scope has the C library, so its malloc() comes first there as well. The
// operators of C++ that such a library defines would mix with libstdc++'s in the same way.

#define _GNU_SOURCE
#include "scope.h"
#include "process/interpose.h"

#include <stdlib.h>
#include <string.h>

// A namespace has one definition of a GNU_UNIQUE name, the first that was loaded. That stays for
// good, as with the system's linker, because later loads must see the same value.
void gorgon_scope_bind_unique(struct gorgon_ns *ns, uint32_t hash, struct gorgon_binding *binding)
{
	const char *name = binding->object->image->strtab + binding->sym->st_name;
	const struct gorgon_unique *unique =
		gorgon_unique_bind(&ns->uniques, name, hash, binding->object, binding->sym);

	if (!unique) {
		// A second definition would go unnoticed until the two have different values.
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

// An object that is about to be unmapped defines nothing for others any more, unless the whole
// namespace ends: what destructors load then goes together with it.
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

static bool scope_ask(const struct gorgon_provider *provider,
		      const struct gorgon_symbol_query *query, struct gorgon_binding *ret)
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
	if (scope_ask(provider, query, &ret) || scope_ask(ns->opts.provider, query, &ret))
		return ret;
	ret.source = GORGON_BOUND_SYSTEM;
	// Last come the libraries that other objects of the namespace need: some objects do not
	// name what they use.
	ret.found = (object && gorgon_system_find(query, object->system, object->system_count,
						  &ret.system)) ||
		    gorgon_system_find(query, ns->system, ns->system_count, &ret.system);
	return ret;
}

// malloc()'s family, and operator new and delete.
static bool is_allocation(const char *name)
{
	static const char *const functions[] = {
		"malloc", "calloc",   "realloc",       "free",
		"cfree",  "memalign", "aligned_alloc", "posix_memalign",
		"valloc", "pvalloc",  "reallocarray",  "malloc_usable_size"};
	static const char *const operators[] = {"_Znw", "_Zna", "_Zdl", "_Zda"};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(name, functions[i]))
			return true;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (!strncmp(name, operators[i], strlen(operators[i])))
			return true;
	return false;
}

// Whether @definer has an allocator of its own that @object's reference to @name is not to get.
static bool is_second_allocator(const struct gorgon_object *definer,
				const struct gorgon_object *object, const char *name)
{
	struct gorgon_symbol_query query;

	if (!is_allocation(name) ||
	    (object && (object->deepbind || (object == definer && object->image->symbolic))))
		return false;
	query = gorgon_symbol_query("malloc", NULL);
	return gorgon_symbol_find(definer->image, &query);
}

struct gorgon_binding gorgon_scope_find(struct gorgon_ns *ns, struct gorgon_object *object,
					const struct gorgon_scope *scope,
					const struct gorgon_symbol_query *query)
{
	bool outside_first = query->file && gorgon_ns_has_system(ns, query->file);
	struct gorgon_binding ret, outside;
	void *replaced;

	if (outside_first) {
		ret = gorgon_scope_find_outside(ns, object, scope->provider, query);
		if (ret.found)
			return ret;
	}
	ret = find_inside(ns, object, scope, query);
	if (ret.found && is_second_allocator(ret.object, object, query->name)) {
		outside = gorgon_scope_find_outside(ns, object, scope->provider, query);
		if (outside.found)
			return outside;
	}
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
