/* SPDX-License-Identifier: MIT */
/* Abandoned namespaces: where their threads are parked. See parking.c. */
#ifndef GORGON_PROCESS_PARKING_H
#define GORGON_PROCESS_PARKING_H

#include <stdbool.h>
#include <stdint.h>

struct gorgon_ns;

/* From now on threads of the namespace are parked where its CPython asks for one of its locks. For
 * good. Safe in the handler of a fault. */
void gorgon_parking_abandon(struct gorgon_ns *ns);
bool gorgon_parking_is_abandoned(const struct gorgon_ns *ns);

/* Whether the calling thread is to be parked when it waits for a lock of that CPython. */
bool gorgon_parking_is_due(const struct gorgon_ns *ns);

/* The calling thread leaves private code for good: it goes where the namespace's user sends it, or
 * waits for ever, with all signals blocked. It holds no lock of this library. */
_Noreturn void gorgon_park(struct gorgon_ns *ns);

/* A thread that takes a lock of a CPython, and does not wait for it for ever. */
struct gorgon_gil_deadline {
	struct gorgon_ns *ns;  /* whose CPython it is; there this thread is not parked */
	uint64_t until;	       /* a time of gorgon_now() */
	/* Called at that time, if the thread still waits, and CPython has asked the holder of the
	 * GIL for it; does not return. */
	void (*give_up)(void);
	bool gil_requested; /* set when CPython has */
};

/* Begin, or with NULL end, the deadline of the calling thread; @deadline lives until then. */
void gorgon_parking_set_deadline(struct gorgon_gil_deadline *deadline);

/* A thread that libpython has started needs no longer be waited for. */
void gorgon_parking_leave_start(void);

#endif
