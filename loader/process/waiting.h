/* SPDX-License-Identifier: MIT */
/* Threads that wait when their namespace ends. See waiting.c. */
#ifndef GORGON_PROCESS_WAITING_H
#define GORGON_PROCESS_WAITING_H

struct gorgon_ns;

/* From now on a thread of the namespace that is woken (gorgon_signals_wake()) while it waits in
 * the C library ends there. Its code has been finalised. */
void gorgon_waiting_end(struct gorgon_ns *ns);

#endif
