/* SPDX-License-Identifier: MIT */
/* Alternate signal stacks of threads. See altstack.c. */
#ifndef GORGON_PROCESS_ALTSTACK_H
#define GORGON_PROCESS_ALTSTACK_H

#include <signal.h>

struct gorgon_thread;

/* The calling thread ends: its stack, if we have made it, is not used any more. */
void gorgon_altstack_disable(const struct gorgon_thread *thread);
/* Free the memory of such a stack. */
void gorgon_altstack_free(const struct gorgon_thread *thread);

/* Replacement (see replacements.c): as sigaltstack(2) says, but the stack is in memory of ours. */
int gorgon_altstack_set(const stack_t *stack, stack_t *old);

#endif
