/* SPDX-License-Identifier: MIT */
/*
 * Writing the debug root, whose format is in debug_root.h. See debug_root.c.
 *
 * Between begin and end the sequence is odd, and the calling thread has the root's lock, a leaf;
 * calls nest. The loader's lock is held, or, if nothing comes, goes or moves in the lists of
 * namespaces and objects, gorgon_threads_lock().
 */
#ifndef GORGON_NS_DEBUG_WRITER_H
#define GORGON_NS_DEBUG_WRITER_H

#include "debug_root.h"

void gorgon_debug_begin(void);
void gorgon_debug_end(void);
/* In between, for each namespace that is changed or whose objects are. */
void gorgon_debug_touch(struct gorgon_debug_ns *ns);
void gorgon_debug_ns_link(struct gorgon_debug_ns *ns);
void gorgon_debug_ns_unlink(struct gorgon_debug_ns *ns);
void gorgon_debug_object_link(struct gorgon_debug_ns *ns, struct gorgon_debug_object *object);
void gorgon_debug_object_unlink(struct gorgon_debug_object *object);

#endif
