/* SPDX-License-Identifier: MIT */
/* A namespace. See ns.c. */
#ifndef GORGON_NS_NS_H
#define GORGON_NS_NS_H

#include "debug_writer.h"
#include "base/usage.h"
#include "object.h"
#include "policy.h"
#include "unique.h"

#include <sys/types.h>

struct gorgon_debug_mode_ns;
struct gorgon_linked;
struct gorgon_interposed;
struct gorgon_part_state;
struct gorgon_thunk;
struct jitreg_group;
struct gorgon_environment;
struct gorgon_locale;
struct gorgon_jit_mirror;
struct gorgon_signals;
struct gorgon_thunks;
struct gorgon_system_library;
struct gorgon_walk;

/* Who has made the namespace, and is told what happens there; loader/python, or nobody. */
struct gorgon_ns_user {
	void *ctx;
	/* exit() from private code. It returns when the calling thread is not its to end. */
	void (*on_exit)(void *ctx, int status);
	/* In the handler of a fault: write the Python lines of the calling thread to @fd. False:
	 * nobody knows them. It takes no lock and allocates nothing. */
	bool (*write_python)(void *ctx, int fd);
	/* The namespace is abandoned, and the calling thread is about to be parked. It returns when
	 * the thread has nowhere else to go. */
	void (*on_park)(void *ctx);
	/* The namespace ends: none of its code runs any more. With the loader's lock: leaves are
	 * taken. */
	void (*on_end)(void *ctx);
	/* In the handler of a fault that the host has survived: abandon the namespace. @text is the
	 * report. */
	void (*on_fault)(void *ctx, const char *text);
};

struct gorgon_left_thread;

struct gorgon_ns {
	struct gorgon_debug_ns debug; /* what debuggers read of it */
	struct gorgon_ns *prev, *next; /* all namespaces; see gorgon_ns_next() */
	struct gorgon_object *first, *last;
	struct gorgon_policy policy;
	struct gorgon_ns_opts opts; /* callbacks; its pattern pointers are not used */
	struct gorgon_thunks *thunks;
	/* names that it gets from us; see interpose.c */
	const struct gorgon_interposed *interposed;
	size_t first_thunk; /* of the thunks that the creator of the namespace has asked for */
	struct gorgon_part_state *parts; /* what it has of the process; see ../process/part.h */
	struct gorgon_signals *signals;
	struct gorgon_locale *locale;
	struct gorgon_environment *environment;
	struct gorgon_linked *linked; /* the system's linker loads its objects; see ../isolate */

	/* Shared libraries that objects of this namespace need, in the order met. */
	struct gorgon_system_library **system;
	size_t system_count;
	struct gorgon_uniques uniques;
	struct gorgon_jit_mirror *registrars; /* see jit_mirror.c */
	uint64_t zone;                        /* address, 0: none yet. See zones.c */
	struct jitreg_group *jit_group; /* its objects in libjitreg, or NULL: no zone */
	struct gorgon_debug_mode_ns *debug_mode;
	struct gorgon_usage usage; /* of memory, by its code */
	uint64_t init_counter;
	uint64_t load_count, unload_count; /* of objects, ever: dl_iterate_phdr's counters */
	/* unloads that are under way; more than one with gorgon_ns_destroy() */
	unsigned unloading;
	/* through its objects, by dl_iterate_phdr(); see ../load/unload.c */
	struct gorgon_walk *walks;
	bool unload_again;     /* something was closed meanwhile */
	/* processor time of threads that private code had started and that have ended */
	uint64_t ended_threads_ns;
	unsigned thread_count; /* alive, started by private code, or in its key destructors */

	struct gorgon_ns_user user;
	/* those that can be ended, when they are woken; atomic, see ../process/waiting.c */
	bool ends_threads;
	bool waited; /* for its threads, in vain; under the lock */
	/* Threads that were ended so and that private code may still join, and whether another
	 * thread has ended since, which may have joined them; under the lock. See
	 * ../process/threads/pthread_create.c. */
	struct gorgon_left_thread *left_threads;
	bool others_ended;
	/* its code never gets a lock of CPython again; atomic, see ../process/threads/parking.c */
	bool abandoned;

	char pool_text[12]; /* what thread pools are told; see process.c */
	uint64_t load_ns, relocate_ns, register_ns; /* time spent, for statistics */
};

/* Walk all namespaces, the oldest first: returns the namespace that was created after @ns, the
 * oldest if @ns is NULL, and NULL at the end. The loader's lock is held. */
struct gorgon_ns *gorgon_ns_next(const struct gorgon_ns *ns);
/* A new one gets its identity and is known to debuggers from now on; and the way back. Lock as
 * above. */
void gorgon_ns_list(struct gorgon_ns *ns);
void gorgon_ns_unlist(struct gorgon_ns *ns);
/* How many namespaces there are; without the lock a number that may be old. */
unsigned gorgon_ns_count(void);

/* The object of @ns that contains @addr, or NULL. */
struct gorgon_object *gorgon_ns_object_at(struct gorgon_ns *ns, uint64_t addr);

/* A loaded object by its path, by DT_SONAME, or by the name that it was searched for. */
struct gorgon_object *gorgon_ns_find_name(struct gorgon_ns *ns, const char *name);

/* Whether somebody who asks for @name means @object. */
bool gorgon_object_has_name(const struct gorgon_object *object, const char *name);

/* One debug line to the host's callback, when there is one. */
void gorgon_ns_log(const struct gorgon_ns *ns, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Remember a shared library for look-ups of last resort. False: no memory. */
bool gorgon_ns_add_system(struct gorgon_ns *ns, struct gorgon_system_library *library);

/* Whether objects of @ns use the shared library that they call @name. */
bool gorgon_ns_has_system(const struct gorgon_ns *ns, const char *name);

#endif
