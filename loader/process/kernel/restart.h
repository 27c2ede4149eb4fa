/* SPDX-License-Identifier: MIT */
/* System calls that a signal has interrupted. See restart.c. */
#ifndef GORGON_PROCESS_RESTART_H
#define GORGON_PROCESS_RESTART_H

/* Called by the handler of a signal with its third argument: if the kernel would restart the system
 * call that the signal has interrupted (SA_RESTART), the call fails with EINTR. */
void gorgon_restart_prevent(void *context);

#endif
