/* SPDX-License-Identifier: MIT */
/* One ELF file loaded into a namespace. See object.c. */
#ifndef GORGON_NS_OBJECT_H
#define GORGON_NS_OBJECT_H

#include "debug_root.h"
#include "image/image.h"
#include "search.h"

#include <link.h>
#include <pthread.h>

struct jitreg_entry;
struct gorgon_jit_mirror;
struct gorgon_static_tls;
struct gorgon_system_library;

/* How far the load of an object has come. Each state implies the states above it. */
enum gorgon_object_state {
	GORGON_OBJECT_NEW,          /* image open */
	GORGON_OBJECT_MAPPED,       /* segments in memory, TLS module assigned */
	GORGON_OBJECT_RELOCATED,    /* relocated and protected */
	GORGON_OBJECT_PUBLISHED,       /* in the namespace, known to debuggers and the unwinder */
	GORGON_OBJECT_INITIALISING, /* constructors run on init_thread */
	GORGON_OBJECT_READY,
	GORGON_OBJECT_FINALISED,    /* destructors have run */
};

struct gorgon_object {
	struct gorgon_debug_object debug; /* what debuggers see; embedded, never moves */
	struct gorgon_object *next, *prev; /* load order within the namespace */
	struct gorgon_ns *ns;
	struct link_map map; /* the public part, for dlinfo() and dladdr1() */
	struct gorgon_image *image;
	struct gorgon_file file; /* while it is being loaded, for who maps and reads it */
	char *path; /* as it was asked for; image->path may be another name of the file */
	/* of what it needs; its loader is another object's, or NULL */
	struct gorgon_requester requester;
	uint64_t bias, start, end;
	enum gorgon_object_state state;
	pthread_t init_thread;
	uint64_t init_order; /* 1, 2, ... in the order in which constructors started */

	struct gorgon_object **deps; /* private ones, in DT_NEEDED order */
	size_t dep_count;
	struct gorgon_system_library **system; /* shared ones */
	size_t system_count;
	struct gorgon_object **refs; /* others that symbols were bound to */
	size_t ref_count;
	/* What the host gives its constructors, which may keep it; NULL: the process's. */
	const char *const *argv, *const *envp;

	unsigned open_count; /* dlopen()s that have not been closed */
	bool global;	     /* in every later look-up */
	bool relaxed;	     /* has given up protection, see mappings.c */
	bool nodelete;	     /* stays when it is closed */
	bool deepbind;	     /* looks in its own group before the global objects */
	bool by_name;	     /* was searched for, not opened by a path */
	bool doomed;	     /* being unloaded: found by address only */
	bool ended;	     /* its destructors have run, or run now */
	bool mark;	     /* scratch of graph walks that do not release the lock */
	uint64_t tls_module; /* 0: none */
	struct gorgon_tls_index *tls_indices; /* arguments of its TLS descriptors */
	size_t tls_index_count;
	struct gorgon_static_tls *static_tls; /* its block has one place in every thread */
	bool static_tls_pending; /* relocations wait for somebody's static_tls */
	struct jitreg_entry *jit;
	uint8_t *foreign_build_id; /* if the system's linker has loaded it, or NULL */
	struct gorgon_jit_mirror *registrar; /* its own JIT descriptor, or NULL */
	bool unwind_listed, frames_registered;
};

/* An object for @path in @ns with one reference to its image taken over; NULL: no memory
 * (the image then stays the caller's). */
struct gorgon_object *gorgon_object_create(struct gorgon_ns *ns, const char *path,
					   struct gorgon_image *image);

/* Give back what the record has, the image included; nothing else was done with the object. */
void gorgon_object_free(struct gorgon_object *object);

/* For a search on behalf of @object; NULL for NULL. */
static inline const struct gorgon_requester *
gorgon_object_requester(const struct gorgon_object *object)
{
	return object ? &object->requester : NULL;
}

/* All objects that @root reaches through DT_NEEDED, breadth first, itself included.
 * NULL when there is no memory. */
struct gorgon_object **gorgon_object_closure(struct gorgon_object *root, size_t *count);

/* An unload of @to waits for @object's, although no DT_NEEDED says so: a symbol was bound.
 * False: no memory. */
bool gorgon_object_add_ref(struct gorgon_object *object, struct gorgon_object *to);

/* Run-time address of a definition: TLS for the calling thread, IFUNCs resolved. */
void *gorgon_object_symbol_address(struct gorgon_object *object, const Elf64_Sym *sym);

#endif
