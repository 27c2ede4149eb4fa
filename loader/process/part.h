/* SPDX-License-Identifier: MIT */
/*
 * A part of the process of which every namespace has its own: the state of a namespace, and the
 * functions that private code gets instead of the C library's.
 *
 * Each file of this folder describes itself by one `struct gorgon_part`; ../dl/parts.c lists them.
 * A part knows its own state and nothing of other parts.
 */
#ifndef GORGON_PROCESS_PART_H
#define GORGON_PROCESS_PART_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct gorgon_ns;

#define GORGON_BOUND_PLAIN ((unsigned)-1) /* bound directly: the function needs no state */
#define GORGON_BOUND_DATA  ((unsigned)-2) /* a variable: `offset` bytes into the state */

#define GORGON_BOUND_POINTER ((size_t)1 << 63)

/* The decision about a name; NAMES.md is made from it. Names that stay the process's are in
 * inventory.txt, with the reason. */
enum gorgon_decision {
	GORGON_OWN,	/* each namespace has its own */
	GORGON_ORDERED, /* the process has one, used by one caller at a time: results do not mix */
};

/* When private code gets the function of the part. */
enum gorgon_when {
	GORGON_WHEN_ALWAYS,
	GORGON_WHEN_WITH_OUTPUT,      /* the host wants what is written */
	GORGON_WHEN_WITH_ENVIRONMENT, /* the namespace has an environment of its own */
	GORGON_WHEN_HEAP,             /* unless the host provides a malloc */
	GORGON_WHEN_HEAP_OF_PYTHON,   /* the same, for libpython's own calls */
	GORGON_WHEN_PYTHON,           /* for libpython's own calls */
	/* for calls of a libpython that does not export what writes Python's lines */
	GORGON_WHEN_HIDDEN_TRACEBACK,
	GORGON_WHEN_REGISTRAR,        /* for calls from an object with a JIT descriptor */
	GORGON_WHEN_NO_FORK,          /* the host denies new processes */
	GORGON_WHEN_NO_EXEC,          /* the host denies other programs */
	GORGON_WHEN_LMDB,             /* for calls from LMDB */
	GORGON_WHEN_DEFINED,          /* instead of the definition of a private object; the system
				       * has no such name */
};

/* A name of the C library, and what private code finds under it. */
struct gorgon_bound {
	const char *name;
	/* the function; behind its own arguments it gets the address at @offset of the state.
	 * NULL: the function whose address is there */
	void *target;
	/* How many arguments of its own the function has, at most 6; or a GORGON_BOUND_ value. A
	 * variadic function has GORGON_ARCH_THUNK_ARGS_MAX: the address is then in no register for
	 * arguments. It is in assembly, as is a function with 6, because not every machine has a
	 * register for a seventh argument. */
	unsigned args;
	/* into the state; with GORGON_BOUND_POINTER there is a pointer to what the function gets */
	size_t offset;
	enum gorgon_decision decision;
	const char *reason; /* why private code does not get the system's, and what it sees */
};

typedef void *gorgon_moved_fn(void *ctx, void *addr);

struct gorgon_part {
	const struct gorgon_bound *bound;
	size_t bound_count;
	/* Size of each namespace's state, which begins zeroed. 0: the functions get the namespace.
	 */
	size_t state_size;

	/* Each of these may be NULL. */

	/* A namespace begins. False: no memory; `end` is not called then. */
	bool (*begin)(void *state, struct gorgon_ns *ns);
	/* The interpreter's program has ended: release what the kernel holds for it. Code of the
	 * namespace may run after this (destructors, threads that live on). May be called twice. */
	void (*stop)(void *state);
	/* The namespace ends; no code of it runs any more. */
	void (*end)(void *state);
	/* The state of an interpreter that is a copy of a template becomes what the template's was;
	 * what its constructors have done meanwhile is forgotten. False: no memory, and @to is as
	 * at the beginning. NULL: a template that has used the part is refused, unless
	 * python/template/parts.c knows better. */
	bool (*copy)(void *to, const void *from, gorgon_moved_fn *moved, void *ctx);

	/* The lock of the part, a leaf: held around fork(). `before_fork` and `after_fork` are for
	 * a part with other locks, or with something to do while its lock is held. */
	pthread_mutex_t *lock;
	void (*before_fork)(void);
	void (*after_fork)(bool child);
	/* In a forked child, for each namespace: forget what the kernel holds for the parent only.
	 */
	void (*in_child)(void *state);

	const char *title; /* heading of its names in loader/process/NAMES.md; NULL: none */
	enum gorgon_when when; /* when its names are bound */
	bool loader_only;      /* names that our loader alone can bind, not the system's linker */
};

/* A part, and its state in a namespace. */
struct gorgon_part_state {
	const struct gorgon_part *part;
	void *state;
};

/* The state of @part among @states, which have it. */
static inline void *gorgon_parts_state(const struct gorgon_part_state *states,
				       const struct gorgon_part *part)
{
	while (states->part != part)
		states++;
	return states->state;
}

/* --- ../dl/parts.c: all parts ------------------------------------------------------- */

extern const struct gorgon_part gorgon_no_fork_part, gorgon_no_exec_part;
extern const struct gorgon_part gorgon_parking_part;
extern const struct gorgon_part gorgon_hanging_part;
extern const struct gorgon_part gorgon_semaphores_part;
extern const struct gorgon_part gorgon_databases_part;
extern const struct gorgon_part gorgon_lookups_part;
extern const struct gorgon_part gorgon_logins;
extern const struct gorgon_part gorgon_time_zone;
extern const struct gorgon_part gorgon_syslog;
extern const struct gorgon_part gorgon_text_domains;
extern const struct gorgon_part gorgon_random_numbers;
extern const struct gorgon_part gorgon_static_results;

#define GORGON_LOADER_PARTS 5

/* The loader's own names (../dl/replacements.c), then those of each file of this folder; ended by
 * NULL. */
extern const struct gorgon_part gorgon_loader_parts[GORGON_LOADER_PARTS];
extern const struct gorgon_part *const gorgon_parts[];

/* The states of a new namespace, one for each part in the order of the list; NULL: no memory. */
struct gorgon_part_state *gorgon_parts_begin(struct gorgon_ns *ns);
void gorgon_parts_stop(const struct gorgon_part_state *states);
/* Free the states; NULL is ignored. */
void gorgon_parts_end(struct gorgon_part_state *states);

void gorgon_parts_before_fork(void);
void gorgon_parts_after_fork(bool child);
void gorgon_parts_in_child(const struct gorgon_part_state *states);

#endif
