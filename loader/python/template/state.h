/* SPDX-License-Identifier: MIT */
/* A template: an interpreter that was started, in a form of which others are made. See
 * template/state.c. */
#ifndef GORGON_PYTHON_TEMPLATE_STATE_H
#define GORGON_PYTHON_TEMPLATE_STATE_H

#include "map.h"
#include "tables.h"
#include "process/libc/atexit.h"

#include <signal.h>

struct gorgon_import_locks;

/* A library that the interpreter has loaded. */
struct gorgon_template_object {
	struct gorgon_image *image; /* held, so that its place in zones stays */
	char *path;
	uint64_t offset;     /* of its load bias in the zone */
	unsigned open_count; /* how often it was opened; 0: as a dependency only */
	int flags;           /* of dlopen() */
	uint64_t *tls;       /* its thread-local storage on the main thread, or NULL */
};

/* A key of thread-specific data, with its value on the main thread. */
struct gorgon_template_key {
	void (*destructor)(void *);
	void *value;
	uint64_t creator; /* an address in the code that has made it, or 0 */
};

/* A destructor of a thread_local variable of the main thread. */
struct gorgon_template_dtor {
	void (*fn)(void *);
	void *arg, *dso;
};

/* A handler of fork(). */
struct gorgon_template_fork {
	void (*fns[3])(void);
	uintptr_t owner;
};

/* A word of an object's thread-local storage that means a place. */
struct gorgon_template_tls_fix {
	uint32_t object, index, place;
};

struct gorgon_template {
	unsigned refs; /* atomic */
	char *label;
	char *libpython; /* its path */
	enum gorgon_end end;
	unsigned pool_threads; /* as in struct gorgon_ns_opts */
	struct gorgon_spots places; /* of the interpreter, which has ended */
	struct gorgon_map map;
	unsigned char *bytes; /* of the map's pieces */
	size_t bytes_size;
	uint64_t blocks_size; /* of blocks of malloc() */
	struct gorgon_tables tables;
	struct gorgon_template_object *objects;
	size_t object_count;
	struct gorgon_template_key *keys;
	size_t key_count;
	struct gorgon_template_tls_fix *tls_fixes;
	size_t tls_fix_count;
	struct gorgon_template_dtor *dtors; /* the last first */
	size_t dtor_count;
	struct gorgon_atexit_entry *exits;
	size_t exit_count;
	struct gorgon_template_fork *forks;
	size_t fork_count;
	struct sigaction signals[NSIG];
	char *locale;       /* of all categories */
	char **environment; /* ends with NULL */
	void **states;      /* of parts that copy theirs (template/parts.c), by their number */
	struct gorgon_import_locks *import_locks;
	void *interrupt_type;
	void (*traceback)(int); /* what writes its Python lines, or NULL */
	void *module, *array_type, *array_methods; /* as in struct gorgon_interp */
};

struct gorgon_template *gorgon_template_hold(struct gorgon_template *template);
/* Give one reference back; NULL is ignored. */
void gorgon_template_drop(struct gorgon_template *template);

#endif
