/* SPDX-License-Identifier: MIT */
/* Interpreters whose objects the system's linker loads. See linked.c and hooks.c. */
#ifndef GORGON_ISOLATE_LINKED_H
#define GORGON_ISOLATE_LINKED_H

#include "isolate.h"

#include <dlfcn.h>
#include <link.h>

struct gorgon_thunks;

/* Functions that linked.c uses. They are pointers because the files that have them use linked.c,
 * and no two files use each other. */
struct gorgon_linker {
	/* Open a file. A NULL handle without an error: RTLD_NOLOAD, and it is not loaded. */
	struct gorgon_error *(*open)(struct gorgon_ns *ns, const char *path, int flags,
				     void **handle);
	/* The file that an object is a copy of: debuggers are told of it, since the copy is
	 * removed. NULL: the object is not the namespace's. */
	const char *(*file_of)(const struct gorgon_ns *ns, const struct link_map *map);
	/* hooks.c */
	struct gorgon_error *(*create_hooks)(struct gorgon_ns *ns);
	void *(*find_hook)(const struct gorgon_object *object, const char *name);
	/* Called after the last dlclose(); @left is the number of objects that the linker did not
	 * unload. */
	void (*closed)(struct gorgon_ns *ns, size_t left);
};

/* A word of an object that slots.c has changed, and its value before. */
struct gorgon_patch {
	void **slot, *before;
};

/* The state of a namespace whose objects the system's linker loads. */
struct gorgon_linked {
	const struct gorgon_linker *linker;
	struct gorgon_thunks *thunks;
	void *slot; /* of copy.c; NULL before the first load */

	/* Handles of dlopen(), the first is libpython's. Under the lock of linked.c. */
	void **handles;
	size_t handle_count;
	bool closing;
	/* without handlers: replaces the namespace's at its end; made early, so that the end cannot
	 * fail */
	struct gorgon_signals *none;
	struct gorgon_patch *patches;
	size_t patch_count;
};

extern const struct gorgon_isolation gorgon_isolation_copy;

/* --- linked.c ------------------------------------------------------------------------ */

struct gorgon_error *gorgon_linked_open(struct gorgon_ns *ns, const struct gorgon_linker *linker,
					const char *path, struct gorgon_object **ret);
struct gorgon_error *gorgon_linked_close(struct gorgon_ns *ns);

/* dlopen() and dlclose() of private code. */
struct gorgon_error *gorgon_linked_dlopen(struct gorgon_ns *ns, const char *path, int flags,
					  void **handle);
struct gorgon_error *gorgon_linked_dlclose(struct gorgon_ns *ns, void *handle);

/* --- hooks.c ------------------------------------------------------------------------- */

/* Make the thunks of a namespace's hooks. */
struct gorgon_error *gorgon_hooks_create(struct gorgon_ns *ns);
/* The function for a name that an object calls; NULL: the system's. */
void *gorgon_hooks_find(const struct gorgon_object *object, const char *name);

/* --- slots.c ------------------------------------------------------------------------- */

/* Let an object call the hooks. The loader's lock is held. */
struct gorgon_error *gorgon_slots_bind(struct gorgon_object *object);
/* Let an object call what it called before. */
void gorgon_slots_unbind(struct gorgon_object *object);
/* Forget the patches of an object that is not mapped any more. */
void gorgon_slots_forget(const struct gorgon_object *object);

#endif
