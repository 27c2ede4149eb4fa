/* SPDX-License-Identifier: MIT */
/* fork() in private code, and who is told of it. See fork.c. */
#ifndef GORGON_PROCESS_FORK_H
#define GORGON_PROCESS_FORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gorgon_ns;
struct gorgon_object;
struct termios;
struct winsize;

/* Forget the handlers of an object that is unloaded. */
void gorgon_fork_drop(const struct gorgon_object *object);

/* Run the handlers before fork(), and those after it, without a lock. */
void gorgon_fork_prepare(void);
void gorgon_fork_done(bool child);

/* Run the handlers of @ns alone, in the order in which a fork() of its code runs them, without a
 * lock.  */
enum gorgon_fork_phase { GORGON_FORK_PREPARE, GORGON_FORK_PARENT, GORGON_FORK_CHILD };
void gorgon_fork_rehearse(struct gorgon_ns *ns, enum gorgon_fork_phase phase);
/* Call @fn with each handler that code of @ns has registered, the oldest first, and an address in
 * the object that has registered it; under the loader's lock. */
void gorgon_fork_each(const struct gorgon_ns *ns,
		      void (*fn)(void *ctx, void (*const fns[3])(void), uintptr_t owner),
		      void *ctx);
/* Register a handler for an object. False: no memory. */
bool gorgon_fork_add(const struct gorgon_ns *ns, uintptr_t owner, void (*const fns[3])(void));

/* This process is a child that code of @ns has forked. */
bool gorgon_fork_has_made_us(const struct gorgon_ns *ns);

/* The namespace whose code has called the fork() that the calling thread is in; NULL: somebody
 * else. */
const struct gorgon_ns *gorgon_fork_caller(void);

/* In a child: @ns goes on as in the parent, because the fork() was the host's. */
bool gorgon_fork_keeps(const struct gorgon_ns *ns);

/* --- replacements (see replacements.c) ------------------------------------------ */

int gorgon_register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			   void *dso, struct gorgon_ns *ns);
int gorgon_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			  struct gorgon_ns *ns);
pid_t gorgon_fork(struct gorgon_ns *ns);
int gorgon_forkpty(int *master, char *name, const struct termios *termios,
		   const struct winsize *size, struct gorgon_ns *ns);

#endif
