/* SPDX-License-Identifier: MIT */
/* How debuggers are told about namespaces: in full, or packed. See debug_mode.c. */
#ifndef GORGON_DEBUG_DEBUG_MODE_H
#define GORGON_DEBUG_DEBUG_MODE_H

#include <stdbool.h>

struct gorgon_debug_mode_ns;
struct gorgon_error;
struct gorgon_ns;
struct jitreg_prepared;

/* What is kept for a namespace; free() releases it. NULL: no memory. */
struct gorgon_debug_mode_ns *gorgon_debug_mode_create(struct gorgon_ns *ns);

/*
 * Take the lock in order to load a file into @ns, which is not quiet while it waits. What debuggers are told of
 * the file is made before, since that can take long. The file may be any, or none; the result is for
 * gorgon_debug_mode_unlock() after the load.
 */
struct jitreg_prepared *gorgon_debug_mode_lock(struct gorgon_ns *ns, const char *path);

/*
 * Give the lock up, after a load or the end of a namespace. Before that, what is due is packed: the lock is not held
 * while a pack is built. @prepared may be NULL.
 */
void gorgon_debug_mode_unlock(struct jitreg_prepared *prepared);

/* In a child: the thread that packs may not be there. */
void gorgon_debug_mode_after_fork(void);

/* All of these: the lock is held. */

/* Whether an object that is loaded into @ns now is described without its DWARF. */
bool gorgon_debug_mode_is_lean(struct gorgon_ns *ns);

/* Tell debuggers of objects that have been linked and are lean. */
struct gorgon_error *gorgon_debug_mode_list(struct gorgon_ns *ns);

/* Objects of @ns have come. */
void gorgon_debug_mode_changed(struct gorgon_ns *ns);

/* All objects of @ns are about to go: debuggers let go of them. gorgon_debug_mode_unlock() is to follow. */
void gorgon_debug_mode_close(struct gorgon_ns *ns);

/* After the last object of @ns has gone. */
void gorgon_debug_mode_forget(struct gorgon_ns *ns);

#endif
