/* SPDX-License-Identifier: MIT */
/* Which debugger listens to what this process registers. See debugger.c. Internal to jitreg. */
#ifndef JITREG_DEBUGGER_H
#define JITREG_DEBUGGER_H

enum jitreg_debugger {
	JITREG_DEBUGGER_NONE,
	JITREG_DEBUGGER_LLDB,
	/** Another debugger, or it cannot be told whether there is a debugger. */
	JITREG_DEBUGGER_OTHER,
};

enum jitreg_debugger jitreg_debugger_find(void);

#endif
