/* SPDX-License-Identifier: MIT */
/* Which definition a reference gets. See scope.c. */
#ifndef GORGON_LOAD_SCOPE_H
#define GORGON_LOAD_SCOPE_H

#include "ns/ns.h"
#include "image/symbol.h"
#include "ns/system.h"

/* Where the definition is that a reference was bound to. */
enum gorgon_binding_source {
	GORGON_BOUND_PRIVATE,
	GORGON_BOUND_REPLACED, /* interpose.c */
	GORGON_BOUND_PROVIDER, /* the host's */
	GORGON_BOUND_SYSTEM,
};

struct gorgon_binding {
	bool found;
	bool no_memory; /* the search has ended for lack of memory, and nothing was found */
	enum gorgon_binding_source source;
	struct gorgon_object *object; /* that has the definition, if it is private */
	const Elf64_Sym *sym;	      /* the definition in that object */
	/* the private object in which the name was found; of GNU_UNIQUE names not always @object */
	struct gorgon_object *first;
	const Elf64_Sym *first_sym;
	struct gorgon_system_symbol system; /* the address, if the definition is not private */
};

/* Where references are looked up beside the namespace's global objects. Members that are zero add
 * nothing. */
struct gorgon_scope {
	/* the root of the load and all that it needs, breadth first */
	struct gorgon_object *const *local;
	size_t local_count;
	/* the host's list for this load, ended by NULL; or NULL */
	struct gorgon_object *const *search;
	const struct gorgon_provider *provider; /* the host's provider for this load, or NULL */
};

/* Bind a reference of @object, or of a dlsym() in the whole namespace (NULL). The caller holds the
 * lock. */
struct gorgon_binding gorgon_scope_find(struct gorgon_ns *ns, struct gorgon_object *object,
					const struct gorgon_scope *scope,
					const struct gorgon_symbol_query *query);

/* Look for a private definition only, in @objects one after the other. */
struct gorgon_binding gorgon_scope_find_private(struct gorgon_ns *ns,
						struct gorgon_object *const *objects, size_t count,
						const struct gorgon_symbol_query *query);

/* Look outside only: among replacements, with @provider (that of the load, or NULL), with the
 * namespace's provider, in shared libraries. */
struct gorgon_binding gorgon_scope_find_outside(struct gorgon_ns *ns,
						const struct gorgon_object *object,
						const struct gorgon_provider *provider,
						const struct gorgon_symbol_query *query);

/* Whether nothing but the objects of the namespace and the system decides on references: no
 * provider, and no list of the host's to search. */
bool gorgon_scope_is_plain(const struct gorgon_ns *ns, const struct gorgon_scope *scope);

/* Whether references of all objects are looked up in @object. */
bool gorgon_scope_is_global(const struct gorgon_ns *ns, const struct gorgon_object *object);

/* @binding is a GNU_UNIQUE definition: bind to the namespace's first definition of the name
 * instead. If there was none before, this one is the first. */
void gorgon_scope_bind_unique(struct gorgon_ns *ns, uint32_t gnu_hash,
			      struct gorgon_binding *binding);

/* The address of what a reference is bound to, for this thread if it is thread-local. */
void *gorgon_binding_address(const struct gorgon_binding *binding);

#endif
