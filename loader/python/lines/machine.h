/* SPDX-License-Identifier: MIT */
/* Python lines that have addresses: what code of each machine and C code share. See lines.c. */
#ifndef GORGON_PYTHON_LINES_MACHINE_H
#define GORGON_PYTHON_LINES_MACHINE_H

#include "python/lines/arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the evaluator's caller has on its stack. Registers that a caller keeps follow it, so the
 * evaluator's real caller can be found from its address alone. Frames that debuggers stop at have
 * such records elsewhere (lines/records.c).
 */
struct gorgon_lines_record {
	uint64_t frame;   /* CPython's */
	union {
		uint64_t values; /* of a frame: an array of texts, or 0: none were made */
		uint64_t state;  /* of an evaluator: that of the thread */
	};
	uint64_t waiting; /* where in a stub a debugger waits for the frame, or 0 */
	/* the record that the thread has made before, or 0; of a frame: its code object */
	uint64_t older;
	uint64_t entry; /* GORGON_LINES_ENTERED, and so on */
	uint64_t saved[GORGON_LINES_SAVED];
	union {
		uint64_t caller; /* return address */
		uint64_t next;	 /* of the frames that have the same place (lines/records.c) */
	};
};

_Static_assert(sizeof(struct gorgon_lines_record) == GORGON_LINES_RECORD_SIZE,
	       "each machine's code, and its rules");

#define GORGON_LINES_ENTERED 1 /* the debugger has stopped at the call of the function */
/* while it waits for the frame, it has gone over a function that the frame has called */
#define GORGON_LINES_PASSED 2

/* Of an evaluator's record on the stack: frames that wait for its newest one have breakpoints; the
 * evaluator's first frame was called by a frame, and not by C code; @after is to be called. */
#define GORGON_LINES_HELD    4
#define GORGON_LINES_DIRECT  8
#define GORGON_LINES_RETURNS 16

/* What the machine's code reads and calls; it lies GORGON_LINES_PAGE_SIZE bytes behind the code. */
struct gorgon_lines_links {
	uint64_t evaluator; /* _PyEval_EvalFrameDefault */
	/* void (*)(void *ctx, struct gorgon_lines_record *). FRAME calls it before the evaluator
	 * when @active is not 0, when a breakpoint is at @watched, or when bit 31 of @counted is
	 * set and the thread's limit of recursion is not negative, so that CPython 3.11 does not
	 * count the thread's calls yet. */
	uint64_t before;
	/* FRAME calls it after the evaluator when @active or the record's @entry is not 0 */
	uint64_t after;
	uint64_t tracer; /* as Py_tracefunc, with @ctx as a fifth argument */
	uint64_t ctx;
	uint64_t active, counted;
	uint64_t watched; /* where debuggers have a breakpoint whenever the process runs */
	/* const char *(const char *text, uint64_t offset, void *ctx) */
	uint64_t evaluate;
	uint64_t rest; /* of the evaluator, behind what was copied */
	/* int (*)(uint64_t state, const char *where, void *ctx), which stands in front of CPython
	 * 3.11's function of the limit of recursion, and the rest of that */
	uint64_t depth, depth_rest;
};

/*
 * The code of an interpreter, and where its parts are, is in lines/arch.h:
 *
 * FRAME      the evaluator begins with a jump to it. CALL calls the evaluator, which returns to
 *            CALLED.
 * TRACER     a function with four arguments; calls @tracer
 * LEAVE      what stubs call
 * GENERIC    the stub of frames whose line is not known
 * RAISED     run when an exception is raised by the frame that runs, and its argument leads to a
 *            text; goes on at @back, in the frame's stub, which calls LEAVE
 * UNCAUGHT   the same, run when an exception leaves a thread's oldest frame; with two texts
 * EVALUATE   functions; debuggers call one of them with a text: the frame that has n older records
 *            has function n. Each calls @evaluate with the distance of its own end from the first
 *            function's beginning. Function EVALUATE_ALL is that of frames with more older records,
 *            too.
 * EVALUATOR  what the evaluator began with before a jump to FRAME, and a jump behind it
 * DEPTH_COPY the same of the function of the limit of recursion, which jumps to DEPTH
 *
 * Debuggers are told of the code up to CODE_SIZE.
 */

/* From a stub to a jump to the stub's call: the tail of the next stub, or of the entry. */
#define GORGON_LINES_STUB_AGAIN (GORGON_LINES_STUB_SIZE + GORGON_LINES_STUB_TAIL)

#define GORGON_LINES_GENERIC_RESUME (GORGON_LINES_GENERIC + GORGON_LINES_STUB_RESUME)

/* Write that code for @code. @newest: offset from the thread pointer of the address of the
 * thread's newest record. */
void gorgon_lines_write_code(uint8_t *code, int32_t newest);

/* The code is to be called by a jump at the beginning of the evaluator: copy what that replaces.
 * @jump is set to the jump, of GORGON_LINES_JUMP_SIZE bytes. False: the evaluator does not begin as
 * expected, or it is too far away. */
bool gorgon_lines_write_evaluator(uint8_t *code, struct gorgon_lines_links *links,
				  const uint8_t *evaluator, uint8_t *jump);

/* CPython 3.11's function of the limit of recursion is to begin with a jump to @depth: copy what
 * the jump replaces, as gorgon_lines_write_evaluator() does. */
bool gorgon_lines_write_depth(uint8_t *code, struct gorgon_lines_links *links,
			      const uint8_t *function, uint8_t *jump);

/* What a stub is run with; "leave" comes back from it. */
struct gorgon_lines_run {
	uint64_t stack;
	uint64_t resume; /* set: where the stub would have gone on */
	uint64_t target; /* a stub, or a place in it */
	/* The values of registers (lines/arch.h): */
	uint64_t frame;	   /* set, too */
	uint64_t jump;     /* where the stub goes on */
	uint64_t argument; /* the frame that is returned to, or where an entry goes on */
	uint64_t back;     /* and where in the caller */
	uint64_t newest;   /* the newest frame: @frame, or a caller or callee of it */
	uint64_t record;   /* the thread's newest record on the stack */
	uint64_t leave;    /* what stubs call */
};

void gorgon_lines_run(struct gorgon_lines_run *run);

#endif
