/* SPDX-License-Identifier: MIT */
/* The handler of all signals that views have something to say on. See signal_dispatch.c. */
#ifndef GORGON_PROCESS_SIGNAL_DISPATCH_H
#define GORGON_PROCESS_SIGNAL_DISPATCH_H

#include "dispositions.h"

/* The process's handler; may run at any time on any thread. */
gorgon_signals_handler gorgon_signals_dispatch;

#endif
