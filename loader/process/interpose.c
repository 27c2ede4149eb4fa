// SPDX-License-Identifier: MIT
// Names that private code gets from us instead of from the system: finding them.
//
// The names come in tables, one of the loader (replacements.c) and one of each part of
// ../process; each name has its reason there. Where a function has to know the caller's
// namespace, or the state of its part, it is reached through a thunk (thunk.c), which adds
// that behind its arguments.

#define _GNU_SOURCE
#include "hidden_traceback.h"
#include "interpose.h"
#include "lmdb.h"
#include "base/error.h"
#include "image/jit_descriptor.h"
#include "image/symbol.h"
#include "process/libc/environment.h"

#include <stdlib.h>
#include <string.h>

// A name, and its place in the tables.
struct gorgon_our_name {
	const struct gorgon_bound *bound;
	enum gorgon_when when;
	size_t part;  // its part's place in the list
	size_t index; // of its thunk, in the order of the tables
};

struct gorgon_interposed {
	const struct gorgon_part *const *parts;
	size_t count;
	// sorted by name; entries of one name are in the order of the tables
	struct gorgon_our_name names[];
};

static int interpose_compare(const void *a, const void *b)
{
	const struct gorgon_our_name *first = a, *second = b;
	int order = strcmp(first->bound->name, second->bound->name);

	return order ?: first->index < second->index ? -1 : first->index > second->index;
}

const struct gorgon_interposed *gorgon_interposed_create(const struct gorgon_part *const *parts)
{
	struct gorgon_interposed *ret;
	size_t count = 0, n = 0;

	for (size_t p = 0; parts[p]; p++)
		count += parts[p]->bound_count;
	ret = calloc(1, sizeof(*ret) + count * sizeof(*ret->names));
	if (!ret)
		return NULL;
	ret->parts = parts;
	ret->count = count;
	for (size_t p = 0; parts[p]; p++)
		for (size_t i = 0; i < parts[p]->bound_count; i++, n++)
			ret->names[n] = (struct gorgon_our_name){
				&parts[p]->bound[i], parts[p]->when, p, n};
	qsort(ret->names, count, sizeof(*ret->names), interpose_compare);
	return ret;
}

// The first entry of that name, or NULL.
static const struct gorgon_our_name *interposed_find(const struct gorgon_interposed *interposed,
					  const char *name)
{
	size_t low = 0, high = interposed->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(interposed->names[middle].bound->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < interposed->count && !strcmp(interposed->names[low].bound->name, name)
		       ? &interposed->names[low]
		       : NULL;
}

// The next entry of the same name, or NULL.
static const struct gorgon_our_name *interposed_next(const struct gorgon_interposed *interposed,
					  const struct gorgon_our_name *entry)
{
	const struct gorgon_our_name *ret = entry + 1;

	return ret < interposed->names + interposed->count &&
			       !strcmp(ret->bound->name, entry->bound->name)
		       ? ret
		       : NULL;
}

// The argument that a function gets behind its own.
static void *context_of(const struct gorgon_part_state *part, const struct gorgon_bound *bound)
{
	char *place = (char *)part->state + (bound->offset & ~GORGON_BOUND_POINTER);

	return bound->offset & GORGON_BOUND_POINTER ? *(void **)place : place;
}

struct gorgon_error *gorgon_interpose_init(struct gorgon_ns *ns,
					   const struct gorgon_interposed *interposed,
					   const struct gorgon_thunk *more, size_t count)
{
	struct gorgon_thunk *list = calloc(interposed->count + count, sizeof(*list));
	struct gorgon_error *err;

	if (!list)
		return &gorgon_error_nomem;
	for (size_t i = 0; i < interposed->count; i++) {
		const struct gorgon_our_name *entry = &interposed->names[i];
		const struct gorgon_bound *bound = entry->bound;
		bool is_function =
			bound->args != GORGON_BOUND_PLAIN && bound->args != GORGON_BOUND_DATA;

		list[entry->index] = (struct gorgon_thunk){
			bound->target, is_function ? bound->args : 0,
			context_of(&ns->parts[entry->part], bound)};
	}
	if (count)
		memcpy(list + interposed->count, more, count * sizeof(*list));
	err = gorgon_thunks_create(list, interposed->count + count, &ns->thunks);
	free(list);
	ns->interposed = interposed;
	ns->first_thunk = interposed->count;
	return err;
}

void *gorgon_interpose_thunk(const struct gorgon_ns *ns, size_t index)
{
	return gorgon_thunks_get(ns->thunks, ns->first_thunk + index);
}

// --- whether a reference gets our function -----------------------------------------------------

static bool host_provides_malloc(const struct gorgon_ns *ns, const struct gorgon_provider *provider)
{
	return (provider && gorgon_provider_find_symbol(provider, "malloc", NULL)) ||
	       (ns->opts.provider &&
		gorgon_provider_find_symbol(ns->opts.provider, "malloc", NULL));
}

static bool is_python(const struct gorgon_object *object)
{
	struct gorgon_symbol_query query = gorgon_symbol_query("PyMem_RawMalloc", NULL);

	return object && gorgon_symbol_find(object->image, &query);
}

static bool has_registrar(const struct gorgon_ns *ns, const struct gorgon_object *object)
{
	return ns->opts.debug != GORGON_DEBUG_OFF && object &&
	       gorgon_jit_descriptor(object->image);
}

static bool applies(const struct gorgon_ns *ns, const struct gorgon_object *object,
		    const struct gorgon_provider *provider, enum gorgon_when when)
{
	switch (when) {
	case GORGON_WHEN_WITH_OUTPUT:
		return ns->opts.write_output != NULL;
	case GORGON_WHEN_WITH_ENVIRONMENT:
		return gorgon_environment_list(ns->environment) != NULL;
	case GORGON_WHEN_HEAP:
		return !host_provides_malloc(ns, provider);
	case GORGON_WHEN_HEAP_OF_PYTHON:
		return is_python(object) && !host_provides_malloc(ns, provider);
	case GORGON_WHEN_PYTHON:
		return is_python(object);
	case GORGON_WHEN_HIDDEN_TRACEBACK:
		return is_python(object) && gorgon_hidden_traceback_is(object->image);
	case GORGON_WHEN_REGISTRAR:
		return has_registrar(ns, object);
	case GORGON_WHEN_NO_FORK:
		return ns->opts.deny & GORGON_DENY_FORK;
	case GORGON_WHEN_NO_EXEC:
		return ns->opts.deny & GORGON_DENY_EXEC;
	case GORGON_WHEN_LMDB:
		return object && gorgon_lmdb_is(object->image);
	case GORGON_WHEN_DEFINED:
		return false;
	default:
		return true;
	}
}

void *gorgon_interpose_address(const struct gorgon_ns *ns, const struct gorgon_our_name *entry)
{
	const struct gorgon_bound *bound = entry->bound;

	if (bound->args == GORGON_BOUND_PLAIN)
		return bound->target;
	if (bound->args != GORGON_BOUND_DATA)
		return gorgon_thunks_get(ns->thunks, entry->index);
	// The variable of the namespace's environment is not in the namespace.
	if (entry->when == GORGON_WHEN_WITH_ENVIRONMENT)
		return gorgon_environment_list(ns->environment);
	return (char *)ns->parts[entry->part].state + bound->offset;
}

const struct gorgon_our_name *
gorgon_interpose_choose(const struct gorgon_ns *ns, const struct gorgon_object *object,
			const struct gorgon_provider *provider, const char *name)
{
	const struct gorgon_our_name *entry = interposed_find(ns->interposed, name);

	while (entry && !applies(ns, object, provider, entry->when))
		entry = interposed_next(ns->interposed, entry);
	return entry;
}

void *gorgon_interpose_find(const struct gorgon_ns *ns, const struct gorgon_object *object,
			    const struct gorgon_provider *provider, const char *name)
{
	const struct gorgon_our_name *entry =
		gorgon_interpose_choose(ns, object, provider, name);

	return entry ? gorgon_interpose_address(ns, entry) : NULL;
}

void *gorgon_interpose_find_of_process(const struct gorgon_ns *ns, const char *name)
{
	const struct gorgon_our_name *entry = interposed_find(ns->interposed, name);

	while (entry && ns->interposed->parts[entry->part]->loader_only)
		entry = interposed_next(ns->interposed, entry);
	return entry ? gorgon_interpose_address(ns, entry) : NULL;
}

void *gorgon_interpose_find_defined(const struct gorgon_ns *ns, const struct gorgon_object *definer,
				    const char *name)
{
	const struct gorgon_our_name *entry;

	if (!has_registrar(ns, definer))
		return NULL;
	entry = interposed_find(ns->interposed, name);
	while (entry && entry->when != GORGON_WHEN_DEFINED)
		entry = interposed_next(ns->interposed, entry);
	return entry ? gorgon_interpose_address(ns, entry) : NULL;
}

const char *gorgon_interpose_reason(const struct gorgon_ns *ns, const char *name)
{
	const struct gorgon_our_name *entry = interposed_find(ns->interposed, name);

	return entry ? entry->bound->reason : NULL;
}
