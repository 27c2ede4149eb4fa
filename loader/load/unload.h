/* SPDX-License-Identifier: MIT */
/* Unloading. See unload.c. Callers hold the loader's lock, which is released while destructors
 * run. */
#ifndef GORGON_LOAD_UNLOAD_H
#define GORGON_LOAD_UNLOAD_H

struct gorgon_ns;
struct gorgon_object;

/* Give back one open_count and unload what nothing uses any more. */
void gorgon_ns_close(struct gorgon_ns *ns, struct gorgon_object *object);

/* The namespace ends: run all destructors. From then on no dlclose() unmaps anything of it: a thread that
 * lives on must not unmap the code that it runs in. */
void gorgon_unload_finalise_all(struct gorgon_ns *ns);
/* The same without running any of them. */
void gorgon_unload_drop_all(struct gorgon_ns *ns);
/* Unmap the doomed objects, whose destructors have run. */
void gorgon_unload_destroy_doomed(struct gorgon_ns *ns);

#endif
