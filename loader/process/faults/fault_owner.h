/* SPDX-License-Identifier: MIT */
/* Whether the host is asked first about a fault. See fault_owner.c. */
#ifndef GORGON_PROCESS_FAULT_OWNER_H
#define GORGON_PROCESS_FAULT_OWNER_H

#include "process/kernel/dispositions.h"

#include <signal.h>
#include <stdbool.h>

/* In the handler of a fault's signal, with its arguments. @aborts: abort() has raised the signal,
 * and will end the process when the handler returns. */
bool gorgon_fault_is_hosts(const siginfo_t *info, const void *context, bool *aborts);

/* Whether a fault ends the process after the host's handler has returned: the default is back for
 * an instruction that runs again, or for a signal that waits. */
bool gorgon_fault_ends_process(int number, const siginfo_t *info);

/* As gorgon_fault_report(). The host's handler may have put another disposition in the place of
 * our dispatcher, which is there meanwhile: it catches faults of the report. */
void gorgon_fault_report_below(gorgon_signals_handler *dispatch, int number, const siginfo_t *info,
			       const void *context, const struct gorgon_signals *view);

#endif
