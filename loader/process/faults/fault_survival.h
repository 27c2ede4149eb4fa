/* SPDX-License-Identifier: MIT */
/* Whether a process may go on after a fault. See fault_survival.c. */
#ifndef GORGON_PROCESS_FAULT_SURVIVAL_H
#define GORGON_PROCESS_FAULT_SURVIVAL_H

#include "backtrace.h"

struct gorgon_ns;

/* Whether the thread with these frames, the innermost first, holds no lock of the process, as far
 * as they tell. @own: it has sent the signal to itself. @ns: the namespace whose code has called
 * what had the fault. */
bool gorgon_fault_may_go_on(const struct gorgon_frame *frames, size_t count, bool own,
			    const struct gorgon_ns *ns);

#endif
