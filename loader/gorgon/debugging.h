/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_DEBUGGING_H
#define GORGON_DEBUGGING_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- debugging: what gdb and lldb are told ------------------------------ */

/*
 * Every private object is described to debuggers through GDB's JIT interface: plain gdb and
 * lldb set breakpoints by name and show backtraces in all copies. `gorgon info` prints the line
 * that enables the scripts which add the rest; gorgon-symdump(1) answers without a debugger.
 * What they all read is in debug_root.h.
 */

/** What debuggers are told about private objects. */
enum gorgon_debug_mode {
	/** as FULL with up to 8 namespaces and 400 objects in the process; as LAZY with more */
	GORGON_DEBUG_AUTO = 0,
	GORGON_DEBUG_FULL = 1, /**< a symfile for each object, referring to its DWARF */
	/** one symfile for all objects of a namespace, once the namespace has loaded nothing for a
	 * while: names, lines and unwind data. Debuggers' scripts attach the whole DWARF to the
	 * copies that matter */
	GORGON_DEBUG_LAZY = 3,
	GORGON_DEBUG_OFF = 2,  /**< nothing through the JIT interface; the debug root remains */
};

/**
 * From now on no interpreter of this process runs code that another process asks for with
 * `gorgon exec`. Whoever may trace the process (ptrace(2)) may ask, for code that runs with the
 * rights of the process. A process that has more rights than who has started it (AT_SECURE of
 * getauxval(3)) takes no requests anyway, nor does one with PYTHON_DISABLE_REMOTE_DEBUG, not empty,
 * in its environment. Cannot be taken back; code that runs already goes on. Since 1.0.
 */
GORGON_API void gorgon_exec_refuse(void);

#ifdef __cplusplus
}
#endif

#endif
