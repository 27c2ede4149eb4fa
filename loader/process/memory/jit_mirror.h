/* SPDX-License-Identifier: MIT */
/* Private registrars of the GDB JIT interface. See jit_mirror.c. */
#ifndef GORGON_PROCESS_JIT_MIRROR_H
#define GORGON_PROCESS_JIT_MIRROR_H

#include "ns/object.h"

struct gorgon_part;

/* Look after the descriptor of @object, which debuggers know by now, if it has one. The
 * loader's lock is held. */
struct gorgon_error *gorgon_jit_mirror_create(struct gorgon_object *object);
/* Take back all that the object has registered, also entries that it has forgotten. Lock as above.
 */
void gorgon_jit_mirror_destroy(struct gorgon_object *object);

/* Private code may have changed a descriptor: look. Any thread, no lock needed. */
void gorgon_jit_mirror_look(struct gorgon_ns *ns);
/* Private code is about to unmap [@start, @end): look, and take back what was registered of that
 * memory. */
void gorgon_jit_mirror_before_unmap(struct gorgon_ns *ns, uint64_t start, uint64_t end);

/* --- what private code gets instead of the functions of these names -------------- */

void gorgon_jit_mirror_register_code(struct gorgon_ns *ns);
int gorgon_jit_mirror_mutex_unlock(pthread_mutex_t *mutex, struct gorgon_ns *ns);

extern const struct gorgon_part gorgon_jit_mirror_part; /* its lock, for fork() */

#endif
