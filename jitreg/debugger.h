/* SPDX-License-Identifier: MIT */
/* Which debugger listens to what this process registers. See debugger.c. Internal to jitreg. */
#ifndef JITREG_DEBUGGER_H
#define JITREG_DEBUGGER_H

#include "jitreg.h"

/** As jitreg_find_tracer(), if that listens; JITREG_TRACER_OTHER where it cannot be told. */
enum jitreg_tracer jitreg_find_listener(void);

#endif
