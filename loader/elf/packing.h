/* SPDX-License-Identifier: MIT */
/* How debuggers are told about namespaces: in full, or packed. See packing.c. */
#ifndef GORGON_ELF_PACKING_H
#define GORGON_ELF_PACKING_H

#include <stdbool.h>

struct gorgon_error;
struct gorgon_ns;

/* Take the lock in order to load something into @ns: it is not quiet while it waits. */
void gorgon_packing_lock(struct gorgon_ns *ns);

/* All of these: the lock is held. */

/* Whether an object that is loaded into @ns now is described without its DWARF. */
bool gorgon_packing_is_lean(struct gorgon_ns *ns);

/* Tell debuggers of objects that have been linked and are lean. */
struct gorgon_error *gorgon_packing_list(struct gorgon_ns *ns);

/* Objects of @ns have come. */
void gorgon_packing_changed(struct gorgon_ns *ns);

/* All objects of @ns are about to go: debuggers let go of them. */
void gorgon_packing_close(struct gorgon_ns *ns);

/* After the last object of @ns has gone. */
void gorgon_packing_forget(struct gorgon_ns *ns);

#endif
