/* SPDX-License-Identifier: MIT */
/* How debuggers are told about namespaces: in full, or packed. See debug_mode.c. */
#ifndef GORGON_DEBUG_DEBUG_MODE_H
#define GORGON_DEBUG_DEBUG_MODE_H

#include <stdbool.h>

struct gorgon_debug_mode_ns;
struct gorgon_error;
struct gorgon_ns;
struct jitreg_prepared;

/* Make what is kept for a namespace; free() releases it. NULL: no memory. */
struct gorgon_debug_mode_ns *gorgon_debug_mode_create(struct gorgon_ns *ns);

/*
 * Take the lock in order to load a file into @ns; while a thread waits here, @ns is not quiet. What
 * debuggers are told of the file is made before the lock is taken, since that can take long. @path
 * may be anything, or NULL. The result is for gorgon_debug_mode_unlock() after the load.
 */
struct jitreg_prepared *gorgon_debug_mode_lock(struct gorgon_ns *ns, const char *path);

/*
 * Release the lock, after a load or the end of a namespace. Namespaces that are due are packed
 * before; the lock is not held while a pack is built. @prepared may be NULL.
 */
void gorgon_debug_mode_unlock(struct jitreg_prepared *prepared);

/* Called in a forked child, where the thread that packs may not exist. */
void gorgon_debug_mode_after_fork(void);

/* The caller of the following functions holds the lock. */

/* Whether an object that is loaded into @ns now is described without its DWARF. */
bool gorgon_debug_mode_wants_names_only(struct gorgon_ns *ns);

/* Tell debuggers of the objects of @ns that have been published with names only. */
struct gorgon_error *gorgon_debug_mode_list(struct gorgon_ns *ns);

/* @ns has loaded objects. */
void gorgon_debug_mode_changed(struct gorgon_ns *ns);

/* All objects of @ns are about to go: debuggers forget them. gorgon_debug_mode_unlock() is to
 * follow. */
void gorgon_debug_mode_close(struct gorgon_ns *ns);

/* The last object of @ns is gone: forget the namespace. */
void gorgon_debug_mode_forget(struct gorgon_ns *ns);

#endif
