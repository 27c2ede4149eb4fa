/* SPDX-License-Identifier: MIT */
/* fork() in private code, and who is told of it. See fork.c. */
#ifndef GORGON_PROCESS_FORK_H
#define GORGON_PROCESS_FORK_H

#include <stdbool.h>
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

/* This process is a child that code of @ns has forked. */
bool gorgon_fork_has_made_us(const struct gorgon_ns *ns);

/* The calling thread is in a fork() that code of @ns has called. */
bool gorgon_fork_is_of(const struct gorgon_ns *ns);

/* --- replacements (see replacements.c) ------------------------------------------ */

int gorgon_register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			   void *dso, struct gorgon_ns *ns);
int gorgon_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			  struct gorgon_ns *ns);
pid_t gorgon_fork(struct gorgon_ns *ns);
int gorgon_forkpty(int *master, char *name, const struct termios *termios,
		   const struct winsize *size, struct gorgon_ns *ns);

#endif
