// SPDX-License-Identifier: MIT
// Looking before loading: which libraries a file would bring, and which names private objects would
// take from the process.
//
// Both functions do the first step of a load (load_set.c) in a namespace of their own, look at the
// objects that were read, and throw them away. So they answer what a load would do: they use the
// loader's search, its rule of what is private, and its scopes. A list of dependencies goes on
// where a library is not found. A list of names does not: without that library it would be wrong.

#define _GNU_SOURCE
#include "ns/closure.h"
#include "base/error.h"
#include "load/load_set.h"
#include "base/lock.h"
#include "process/interpose.h"
#include "load/scope.h"
#include "file/grow.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct gorgon_dep dep;
	struct gorgon_object *object;	  // of a private library
	// of a shared library; both are NULL when no file was found
	struct gorgon_closure_file *file;
	char *text;			  // the memory of dep.reason, or NULL
};

struct survey {
	struct gorgon_load_set group;
	struct entry *entries;
	size_t count;
};

static bool is_same(const struct entry *a, const struct entry *b)
{
	if (a->object || a->file)
		return a->object == b->object && a->file == b->file;
	return !b->object && !b->file && !strcmp(a->dep.name, b->dep.name);
}

// The list owns the entry's text from here on, also after a failure. A library is listed once.
static struct gorgon_error *deps_add(struct survey *survey, size_t parent, struct entry entry)
{
	struct entry *added;

	for (size_t i = 0; i < survey->count; i++) {
		if (!is_same(&survey->entries[i], &entry))
			continue;
		free(entry.text);
		return NULL;
	}
	added = jitreg_add(&survey->entries, &survey->count, sizeof(*added));
	if (!added) {
		free(entry.text);
		return &gorgon_error_nomem;
	}
	entry.dep.index = (unsigned)survey->count - 1;
	entry.dep.parent = (unsigned)parent;
	if (entry.text)
		entry.dep.reason = entry.text;
	*added = entry;
	return NULL;
}

static struct gorgon_error *add_shared(struct survey *survey, size_t parent, const char *name,
				       struct gorgon_closure_file *file,
				       const struct gorgon_policy_rule *rule)
{
	return deps_add(
		survey, parent,
		(struct entry){.dep = {.name = name,
				       .path = file ? file->path : NULL,
				       .shared = true,
				       .pattern = rule->pattern,
				       .reason = file ? rule->reason : "not found by the system"},
			       .file = file});
}

static struct gorgon_error *add_missing(struct survey *survey, size_t parent, const char *name,
					const struct gorgon_policy_rule *rule,
					struct gorgon_error *err)
{
	struct entry entry = {.dep = {.name = name, .pattern = rule->pattern}};

	entry.text = strdup(gorgon_error_message(err));
	gorgon_error_destroy(err);
	return entry.text ? deps_add(survey, parent, entry) : &gorgon_error_nomem;
}

// @requester is NULL for the file itself, which must be there.
static struct gorgon_error *add_private(struct survey *survey, size_t parent, const char *name,
					struct gorgon_object *requester,
					struct gorgon_verdict *verdict)
{
	struct entry entry = {.dep = {.name = name,
				      .pattern = verdict->rule.pattern,
				      .reason = verdict->rule.reason}};
	struct gorgon_error *err =
		gorgon_load_set_read_name(&survey->group, name, requester, &entry.object);

	if (err && requester && gorgon_error_code(err) != GORGON_ERROR_NOMEM)
		return add_missing(survey, parent, name, &verdict->rule, err);
	if (err)
		return err;
	entry.dep.path = entry.object->path;
	if (verdict->obstacle && asprintf(&entry.text, "on the list of shared libraries, but %s",
					  verdict->obstacle) < 0)
		return &gorgon_error_nomem;
	return deps_add(survey, parent, entry);
}

static struct gorgon_error *add_library(struct survey *survey, size_t parent, const char *name,
					struct gorgon_object *requester)
{
	struct gorgon_verdict verdict;
	struct gorgon_error *err =
		gorgon_closure_judge(survey->group.ns, name,
				     gorgon_object_requester(requester), &verdict);

	if (err)
		return requester ? gorgon_error_prefix(err, requester->path) : err;
	err = verdict.shared ? add_shared(survey, parent, name, verdict.file, &verdict.rule)
			     : add_private(survey, parent, name, requester, &verdict);
	gorgon_verdict_deinit(&verdict);
	return err;
}

static struct gorgon_error *add_needs(struct survey *survey, size_t index)
{
	struct gorgon_object *object = survey->entries[index].object;
	struct gorgon_closure_file *file = survey->entries[index].file;
	struct gorgon_error *err = NULL;

	for (size_t i = 0; object && !err && i < object->image->needed_count; i++)
		err = add_library(survey, index, object->image->needed[i], object);
	for (size_t i = 0; file && !err && i < file->need_count; i++) {
		struct gorgon_closure_need *need = &file->needs[i];
		struct gorgon_policy_rule rule =
			gorgon_policy_find(&survey->group.ns->policy, need->name);

		err = add_shared(survey, index, need->name, need->file, &rule);
	}
	return err;
}

static struct gorgon_error *deps_list(struct survey *survey, const char *base, const char *path,
				      bool (*fn)(void *ctx, const struct gorgon_dep *dep),
				      void *ctx)
{
	struct gorgon_object *object;
	struct gorgon_error *err = NULL;

	// The base is listed only so that it is read; it is taken off the list again.
	if (base && !(err = gorgon_load_set_read_name(&survey->group, base, NULL, &object)))
		err = deps_add(survey, 0, (struct entry){.object = object});
	for (size_t i = 0; !err && i < survey->count; i++)
		err = add_needs(survey, i);
	for (; survey->count; survey->count--)
		free(survey->entries[survey->count - 1].text);
	if (!err)
		err = add_library(survey, 0, path, NULL);
	for (size_t i = 0; !err && i < survey->count; i++)
		err = add_needs(survey, i);
	for (size_t i = 0; !err && i < survey->count; i++)
		if (!fn(ctx, &survey->entries[i].dep))
			break;
	return err;
}

// The lock is held until deps_end().
static struct gorgon_error *deps_begin(const struct gorgon_ns_opts *opts, struct survey *survey)
{
	struct gorgon_error *err = gorgon_ns_create(opts, &survey->group.ns);

	gorgon_lock();
	return err;
}

static struct gorgon_error *deps_end(struct survey *survey, struct gorgon_error *err)
{
	struct gorgon_error *destroy_err;

	for (size_t i = 0; i < survey->count; i++)
		free(survey->entries[i].text);
	free(survey->entries);
	gorgon_load_set_deinit(&survey->group);
	gorgon_unlock();
	destroy_err = gorgon_ns_destroy(survey->group.ns); // never busy: nothing has run in it
	if (!err)
		return destroy_err;
	gorgon_error_destroy(destroy_err);
	return err;
}

struct gorgon_error *gorgon_deps_for_each(const struct gorgon_ns_opts *opts, const char *base,
					  const char *path,
					  bool (*fn)(void *ctx, const struct gorgon_dep *dep),
					  void *ctx)
{
	struct survey survey = {0};
	struct gorgon_error *err = deps_begin(opts, &survey);

	return deps_end(&survey, err ?: deps_list(&survey, base, path, fn, ctx));
}

// --- names -----------------------------------------------------------------------------

struct names {
	struct gorgon_ns *ns;
	struct gorgon_scope scope; // all objects in the order of a load's look-up
	bool (*fn)(void *ctx, const struct gorgon_import *import);
	void *ctx;
	bool no_memory;
};

// The library that an address is in. The address of a thread-local variable is in no library.
static const char *library_of(const struct gorgon_binding *binding, const Elf64_Sym *sym,
			      const char *file)
{
	Dl_info info;

	if (ELF64_ST_TYPE(sym->st_info) == STT_TLS || !dladdr(binding->system.addr, &info))
		return file;
	return info.dli_fname;
}

// False to stop.
static bool tell_reference(struct names *names, struct gorgon_object *object, uint32_t index)
{
	const Elf64_Sym *sym = &object->image->symbols[index];
	struct gorgon_symbol_query query = gorgon_symbol_query_of(object->image, index);
	struct gorgon_binding binding =
		gorgon_scope_find(names->ns, object, &names->scope, &query);
	struct gorgon_import import = {
		.object = object->path, .name = query.name, .version = query.version};

	names->no_memory = binding.no_memory;
	if (binding.no_memory)
		return false;
	if (binding.object || (!binding.found && ELF64_ST_BIND(sym->st_info) == STB_WEAK))
		return true;
	if (!binding.found) {
		import.source = GORGON_IMPORT_UNRESOLVED;
	} else if (binding.source == GORGON_BOUND_REPLACED) {
		import.source = GORGON_IMPORT_REPLACED;
		import.from = gorgon_interpose_reason(names->ns, query.name);
	} else if (binding.source == GORGON_BOUND_PROVIDER) {
		import.source = GORGON_IMPORT_PROVIDER;
	} else {
		import.from = library_of(&binding, sym, query.file);
	}
	return names->fn(names->ctx, &import);
}

static void deps_tell(struct names *names, struct gorgon_object *const *objects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t s = 1; s < objects[i]->image->symbol_count; s++)
			if (objects[i]->image->symbols[s].st_shndx == SHN_UNDEF &&
			    !tell_reference(names, objects[i], s))
				return;
}

static struct gorgon_error *list_names(struct gorgon_load_set *group, const char *base,
				       const char *path, struct names *names)
{
	struct gorgon_object *object, **closure;
	struct gorgon_verdict verdict;
	struct gorgon_error *err;
	size_t count;

	if ((err = gorgon_closure_judge(group->ns, path, NULL, &verdict)))
		return err;
	gorgon_verdict_deinit(&verdict);
	if (verdict.shared)
		return NULL; // no private object
	if (base && ((err = gorgon_load_set_read_name(group, base, NULL, &object)) ||
		     (err = gorgon_load_set_read_dependencies(group))))
		return err;
	if ((err = gorgon_load_set_read_name(group, path, NULL, &object)) ||
	    (err = gorgon_load_set_read_dependencies(group)))
		return err;
	closure = gorgon_object_closure(object, &count);
	if (!closure)
		return &gorgon_error_nomem;
	names->ns = group->ns;
	names->scope.local = group->objects;
	names->scope.local_count = group->count;
	deps_tell(names, closure, count);
	free(closure);
	return names->no_memory ? &gorgon_error_nomem : NULL;
}

struct gorgon_error *gorgon_imports_for_each(const struct gorgon_ns_opts *opts, const char *base,
					     const char *path,
					     bool (*fn)(void *ctx,
							const struct gorgon_import *import),
					     void *ctx)
{
	struct names names = {.fn = fn, .ctx = ctx};
	struct survey survey = {0};
	struct gorgon_error *err = deps_begin(opts, &survey);

	return deps_end(&survey, err ?: list_names(&survey.group, base, path, &names));
}
