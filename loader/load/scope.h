/* SPDX-License-Identifier: MIT */
/* Which definition a reference gets. See scope.c. */
#ifndef GORGON_LOAD_SCOPE_H
#define GORGON_LOAD_SCOPE_H

#include "ns/ns.h"
#include "image/symbol.h"
#include "ns/system.h"

/* Who defines what a reference was bound to. */
enum gorgon_binding_source {
	GORGON_BOUND_PRIVATE,
	GORGON_BOUND_REPLACED, /* interpose.c */
	GORGON_BOUND_PROVIDER, /* the host's */
	GORGON_BOUND_SYSTEM,
};

struct gorgon_binding {
	bool found;
	bool no_memory; /* then not found, and the search has ended */
	enum gorgon_binding_source source;
	struct gorgon_object *object; /* private definition */
	const Elf64_Sym *sym;	      /* of it */
	struct gorgon_object *first;  /* the private definition that comes first; another one than that for GNU_UNIQUE */
	const Elf64_Sym *first_sym;
	struct gorgon_system_symbol system; /* when there is no object: address */
};

/* Where references are looked up besides in the namespace's global objects. Zero: nowhere. */
struct gorgon_scope {
	struct gorgon_object *const *local; /* closure of the load's root, breadth first */
	size_t local_count;
	struct gorgon_object *const *search;	 /* the host's list for this load, ended by NULL; or NULL */
	const struct gorgon_provider *provider; /* the host's for this load, or NULL */
};

/* Bind a reference from @object (NULL: from dlsym of the whole namespace). The lock is held. */
struct gorgon_binding gorgon_scope_find(struct gorgon_ns *ns, struct gorgon_object *object,
					const struct gorgon_scope *scope,
					const struct gorgon_symbol_query *query);

/* Only private definitions, in @objects in turn. */
struct gorgon_binding gorgon_scope_find_private(struct gorgon_ns *ns,
						struct gorgon_object *const *objects, size_t count,
						const struct gorgon_symbol_query *query);

/* Replacement, host's providers (@provider, that of the load or NULL, first), system; see scope.c. */
struct gorgon_binding gorgon_scope_find_outside(struct gorgon_ns *ns,
						const struct gorgon_object *object,
						const struct gorgon_provider *provider,
						const struct gorgon_symbol_query *query);

/* Whether nothing but the objects of the namespace and the system decides on references: no provider, and no list of
 * the host's to search. */
bool gorgon_scope_is_plain(const struct gorgon_ns *ns, const struct gorgon_scope *scope);

/* Whether @object is in the scope of all others. */
bool gorgon_scope_is_global(const struct gorgon_ns *ns, const struct gorgon_object *object);

/* Of a GNU_UNIQUE definition: bind to the namespace's first one instead, which is this where there
 * was none. */
void gorgon_scope_bind_unique(struct gorgon_ns *ns, uint32_t gnu_hash, struct gorgon_binding *binding);

/* The address that a binding means to this thread, for dlsym and data references. */
void *gorgon_binding_address(const struct gorgon_binding *binding);

#endif
