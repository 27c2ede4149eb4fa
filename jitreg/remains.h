/* SPDX-License-Identifier: MIT */
/* What GDB keeps of libraries whose last copy has gone. See remains.c. Internal to jitreg. */
#ifndef JITREG_REMAINS_H
#define JITREG_REMAINS_H

#include "listing.h"

/** Debuggers have been told of the entry's image. */
void jitreg_remains_count(struct jitreg_entry *entry);

/** Debuggers are about to be told that the entry's image goes. */
void jitreg_remains_leave(struct jitreg_entry *entry);

/** How many remains are in the list; the lock is held. */
size_t jitreg_remains_listed(void);

/** Remove the remains of libraries that have a copy again. */
void jitreg_remains_sweep(void);

#endif
