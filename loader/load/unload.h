/* SPDX-License-Identifier: MIT */
/* Unloading. See unload.c. Callers hold the loader's lock, which is released while destructors
 * run. */
#ifndef GORGON_LOAD_UNLOAD_H
#define GORGON_LOAD_UNLOAD_H

#include <pthread.h>

struct gorgon_ns;
struct gorgon_object;

/* A walk through a namespace's objects that does not hold the lock: meanwhile none of them is
 * unmapped or freed. It is on the heap, because a callback may leave the walk by an exception or by
 * longjmp(): then what is closed later stays until the namespace ends. */
struct gorgon_walk {
	struct gorgon_walk *next;
	pthread_t thread;
};

void gorgon_walk_begin(struct gorgon_ns *ns, struct gorgon_walk *walk);
/* Frees @walk. */
void gorgon_walk_end(struct gorgon_ns *ns, struct gorgon_walk *walk);
/* Forget the walks of other threads in a forked child; or of all, when the namespace ends. */
void gorgon_walk_after_fork(struct gorgon_ns *ns);
void gorgon_walk_drop_all(struct gorgon_ns *ns);

/* Give back one open_count and unload what nothing uses any more. */
void gorgon_ns_close(struct gorgon_ns *ns, struct gorgon_object *object);

/* The namespace ends: run all destructors. From then on no dlclose() unmaps anything of it: a
 * thread that lives on must not unmap the code that it runs in. */
void gorgon_unload_finalise_all(struct gorgon_ns *ns);
/* The program ends: run all destructors, and no object goes. */
void gorgon_unload_end_program(struct gorgon_ns *ns);
/* The namespace ends without running any of them. */
void gorgon_unload_drop_all(struct gorgon_ns *ns);
/* Unmap the doomed objects, whose destructors have run. */
void gorgon_unload_destroy_doomed(struct gorgon_ns *ns);

#endif
