/* SPDX-License-Identifier: MIT */
/* Interval timers of a namespace. See timers.c. */
#ifndef GORGON_PROCESS_TIMERS_H
#define GORGON_PROCESS_TIMERS_H

#include "process/part.h"

extern const struct gorgon_part gorgon_timers_part;

/* Delete all timers of a namespace, whose program goes on, and whose signals are silenced. */
void gorgon_timers_abandon(struct gorgon_ns *ns);

#endif
