/* SPDX-License-Identifier: MIT */
/* Anonymous memory that private code has mapped. See memory.c. */
#ifndef GORGON_PROCESS_MEMORY_H
#define GORGON_PROCESS_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

struct gorgon_ns;

/* Unmap what the namespace's code has mapped and not unmapped; after its destructors. */
void gorgon_memory_release(struct gorgon_ns *ns);

void gorgon_memory_before_fork(void);
void gorgon_memory_after_fork(void);

/* --- replacements (see replacements.c) ------------------------------------------------ */

void *gorgon_memory_map(void *addr, size_t size, int prot, int flags, int fd, off_t off);
int gorgon_memory_unmap(void *addr, size_t size, struct gorgon_ns *ns);
void *gorgon_memory_remap(void *addr, size_t size, size_t new_size, int flags, void *new_addr);

#endif
