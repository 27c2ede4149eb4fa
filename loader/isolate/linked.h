/* SPDX-License-Identifier: MIT */
/* Interpreters whose objects the system's linker loads. See linked.c and hooks.c. */
#ifndef GORGON_ISOLATE_LINKED_H
#define GORGON_ISOLATE_LINKED_H

#include "isolate.h"

#include <dlfcn.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>

struct gorgon_early_keys;
struct gorgon_thunks;

/* What differs between the strategies that use the system's linker. */
struct gorgon_linker {
	bool own_libc; /* each namespace has a C library of its own */
	/* Open a file. A NULL handle without an error: RTLD_NOLOAD, and it is not loaded. */
	struct gorgon_error *(*open)(struct gorgon_ns *ns, const char *path, int flags,
				     void **handle);
	/* The linker's list that has the namespace's objects; NULL when the list is empty. */
	struct link_map *(*first_map)(const struct gorgon_ns *ns);
	/* The file of an object, or the file that it is a copy of: debuggers are told of the
	 * original, since a copy is removed. NULL: the object is not the namespace's. */
	const char *(*file_of)(const struct gorgon_ns *ns, const struct link_map *map);
	/* The functions of hooks.c. They are pointers because hooks.c uses linked.c, and no two
	 * files use each other. */
	struct gorgon_error *(*create_hooks)(struct gorgon_ns *ns);
	void *(*find_hook)(const struct gorgon_object *object, const char *name);
	/* Called after the last dlclose(); @left is the number of objects that the linker did not
	 * unload. May be NULL. */
	void (*closed)(struct gorgon_ns *ns, size_t left);
};

/* A word of an object that slots.c has changed, and its value before. */
struct gorgon_patch {
	void **slot, *before;
};

/* What the C library knows of a key of thread-specific data. The sequence is odd while the key is
 * in use. */
struct gorgon_system_key {
	uintptr_t sequence;
	void (*destructor)(void *);
};

/* The state of a namespace whose objects the system's linker loads. */
struct gorgon_linked {
	const struct gorgon_linker *linker;
	struct gorgon_thunks *thunks;
	void *own; /* what the strategy keeps here; NULL for dlmopen */
	Lmid_t lmid; /* link namespace that private code is in */
	const struct r_debug *r_debug; /* what debuggers read of that link namespace */

	/* Handles of dlopen(), the first is libpython's. Under the lock of linked.c. */
	void **handles;
	size_t handle_count;
	bool closing;
	/* without handlers: replaces the namespace's at its end; made early, so that the end cannot
	 * fail */
	struct gorgon_signals *none;
	struct gorgon_patch *patches;
	size_t patch_count;
	struct gorgon_early_keys *early; /* NULL unless the namespace has a C library of its own */

	/* Functions and data of the C library that private code uses. */
	struct {
		int *(*errno_location)(void);
		char *(*dlerror)(void);
		int (*fflush)(FILE *stream);
		FILE **out;
		pid_t (*fork)(void);
		int (*key_delete)(pthread_key_t key);
		/* PTHREAD_KEYS_MAX of them; NULL: this C library does not show them */
		const struct gorgon_system_key *keys;
		void *(*key_get)(pthread_key_t key);
		int (*key_set)(pthread_key_t key, const void *value);
		locale_t (*uselocale)(locale_t locale);
		char *(*getenv)(const char *name);
		char ***environ_place; /* its `environ` */
	} libc;
};

extern const struct gorgon_isolation gorgon_isolation_dlmopen, gorgon_isolation_copy;

/* --- refuse.c ------------------------------------------------------------------------ */

/* The error for something that a strategy cannot do; @how is the strategy's name. */
struct gorgon_error *gorgon_refuse(const char *how, const char *what);
/* The error for an option that no strategy with the system's linker can obey; NULL: there is no
 * such option in @opts. */
struct gorgon_error *gorgon_refuse_options(const char *how, const struct gorgon_ns_opts *opts);

/* --- linked.c ------------------------------------------------------------------------ */

struct gorgon_error *gorgon_linked_open(struct gorgon_ns *ns, const struct gorgon_linker *linker,
					const char *path, struct gorgon_object **ret);
struct gorgon_error *gorgon_linked_close(struct gorgon_ns *ns);
void gorgon_linked_enter(struct gorgon_ns *ns);
void gorgon_linked_flush(struct gorgon_ns *ns);

/* dlopen() and dlclose() of private code. */
struct gorgon_error *gorgon_linked_dlopen(struct gorgon_ns *ns, const char *path, int flags,
					  void **handle);
struct gorgon_error *gorgon_linked_dlclose(struct gorgon_ns *ns, void *handle);

/* --- early_keys.c -------------------------------------------------------------------- */

/* Called around each dlopen(), with the lock of linked.c held; end() only after begin() has
 * succeeded. @opened: objects may have been loaded. */
struct gorgon_error *gorgon_early_keys_begin(struct gorgon_ns *ns);
struct gorgon_error *gorgon_early_keys_end(struct gorgon_ns *ns, bool opened);
/* For a namespace with a C library of its own: the key of the host's C library that stands for
 * @key, or
 * @key itself, when there is none. */
unsigned gorgon_early_keys_find(const struct gorgon_ns *ns, unsigned key);
/* Delete a key of the namespace's C library, and the host's key that stands for it. */
int gorgon_early_keys_delete(struct gorgon_ns *ns, unsigned key);

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
