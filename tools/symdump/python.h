/* SPDX-License-Identifier: MIT */
/*
 * Where a version of CPython has what python.c reads. Each is an offset into the structure
 * of its line; python_layout.c fills them in.
 */
#ifndef GORGON_SYMDUMP_PYTHON_H
#define GORGON_SYMDUMP_PYTHON_H

#include "symdump.h"

#define OB_TYPE  8   /* in PyObject */
#define GIL_SIZE 208 /* struct _gil_runtime_state; these two are equal from 3.11 to 3.15 */

struct python_layout {
	char *why_not;          /* or NULL */
	uint64_t runtime;       /* link-time address of _PyRuntime */
	uint64_t code_type;     /* that of PyCode_Type, or 0 */
	uint64_t interp_head;   /* _PyRuntimeState */
	uint64_t interp_next, thread_head; /* PyInterpreterState */
	uint64_t gil;           /* of 3.11: the GIL itself, in _PyRuntimeState; later: the
				   address of the GIL, in PyInterpreterState */
	uint64_t gil_locked, gil_holder; /* of the GIL */
	uint64_t thread_next, thread_id; /* PyThreadState */
	/* PyThreadState: the innermost frame, or the cframe if there is one */
	uint64_t frame;
	uint64_t current_frame; /* cframe: the innermost frame */
	uint64_t code, previous, instr; /* _PyInterpreterFrame */
	uint64_t owner;         /* _PyInterpreterFrame; of 3.11: is_entry */
	uint64_t filename, name, line_table, first_line, first_instr; /* PyCodeObject */
	uint64_t length, state, ascii_size, compact_size; /* PyASCIIObject */
	uint64_t bytes_size, bytes_data; /* PyBytesObject */
	bool has_cframe;        /* 3.11 and 3.12 */
	bool is_3_11;
};

#endif
