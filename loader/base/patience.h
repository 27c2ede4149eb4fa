/* SPDX-License-Identifier: MIT */
/* Limits of time that a busy machine does not use up. See patience.c. */
#ifndef GORGON_BASE_PATIENCE_H
#define GORGON_BASE_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GORGON_PATIENCE_THREADS 16 /* that are looked at; others are not waited for */

struct gorgon_patience {
	uint64_t looked_at, left; /* when, and how much may still be added */
	uint64_t cpu_ns;	  /* processor time of all of them then */
	struct gorgon_waiting_thread {
		pid_t tid;
		/* how long it had waited for a processor when it was first seen */
		uint64_t before;
		uint64_t ran, turns;	 /* at the last look */
		/* it is waiting, so long at least; what was added on its account */
		uint64_t pending, added;
	} threads[GORGON_PATIENCE_THREADS];
	size_t count;
};

/* Who is waited for: threads, but for the calling one, which counts, too; and the processor time
 * that they and all others of their program have used. */
struct gorgon_awaited {
	pid_t tids[GORGON_PATIENCE_THREADS];
	size_t count;
	uint64_t cpu_ns;
};

/* A limit of @limit_ns begins now. */
void gorgon_patience_begin(struct gorgon_patience *patience, uint64_t limit_ns,
			   const struct gorgon_awaited *awaited);

/* By how many nanoseconds the end of the limit moves: how long, since the last look, one of the
 * threads was ready to run and had no processor. */
uint64_t gorgon_patience_look(struct gorgon_patience *patience,
			      const struct gorgon_awaited *awaited);

#endif
