/* SPDX-License-Identifier: MIT */
/* Unloading. See unload.c. The loader's lock is held for all of these; it is released while
 * destructors run. */
#ifndef GORGON_LOAD_UNLOAD_H
#define GORGON_LOAD_UNLOAD_H

struct gorgon_ns;
struct gorgon_object;

/* Give back one open_count and unload what nothing uses any more. */
void gorgon_ns_close(struct gorgon_ns *ns, struct gorgon_object *object);

/* At the namespace's end: run all destructors. From then on nothing of it is unmapped by a close:
 * a dlclose() of a thread that lives on must not unmap what the thread runs in. */
void gorgon_unload_finalise_all(struct gorgon_ns *ns);
/* Unmap what has been finalised. */
void gorgon_unload_destroy_doomed(struct gorgon_ns *ns);

#endif
