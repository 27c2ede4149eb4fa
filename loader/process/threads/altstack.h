/* SPDX-License-Identifier: MIT */
/* Alternate signal stacks of threads. See altstack.c. */
#ifndef GORGON_PROCESS_ALTSTACK_H
#define GORGON_PROCESS_ALTSTACK_H

#include <signal.h>
#include <stdbool.h>

struct gorgon_thread;

/* Whether threads are provided with stacks from now on. */
void gorgon_altstack_want(bool want);
/* Code of an interpreter is about to run on the calling thread, whose record this is, or NULL: if
 * stacks are wanted, and it has none, it gets one. */
void gorgon_altstack_provide(struct gorgon_thread *thread);

/* The calling thread ends: its stack, if we have made it, is not used any more. */
void gorgon_altstack_disable(const struct gorgon_thread *thread);
/* Free the memory of such a stack. */
void gorgon_altstack_free(const struct gorgon_thread *thread);

/* Replacement (see replacements.c): as sigaltstack(2) says, but the stack is in memory of ours. */
int gorgon_altstack_set(const stack_t *stack, stack_t *old);

#endif
