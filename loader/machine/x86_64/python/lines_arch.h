/* SPDX-License-Identifier: MIT */
/* Python lines that have addresses: the code, and the rules by which debuggers unwind it. See
 * ../../../python/lines.c. */
#ifndef GORGON_MACHINE_PYTHON_LINES_ARCH_H
#define GORGON_MACHINE_PYTHON_LINES_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this machine has all that follows. */
#define GORGON_LINES_SUPPORTED 1

/*
 * What the evaluator's caller has on its stack for each frame of Python. Registers that a caller
 * keeps follow it, so the frame's real caller can be found from its address alone.
 */
struct gorgon_lines_record {
	uint64_t frame;   /* CPython's */
	union {
		uint64_t values; /* an array of texts, or 0: none were made */
		uint64_t state;	 /* of the thread; where frames have records of their own */
	};
	uint64_t waiting; /* where in a stub a debugger waits for the frame, or 0 */
	uint64_t
		/* the record that the thread has made before, or 0; its function may be gone */
		older;
	/* GORGON_LINES_ENTERED, GORGON_LINES_PASSED, or, before the function begins, its struct
	 * gorgon_lines_function if a debugger may step into it from its caller */
	uint64_t entry;
	uint64_t saved[6];
	union {
		uint64_t caller; /* return address */
		uint64_t next;	 /* of the frames that have the same place (lines_stops.c) */
	};
};

#define GORGON_LINES_ENTERED 1 /* the debugger has stopped at the call of the function */
/* while it waits for the frame, it has gone over a function that the frame has called */
#define GORGON_LINES_PASSED 2

/* Of an evaluator's record on the stack: frames that wait for its newest one have breakpoints; the
 * evaluator's first frame was called by a frame, and not by C code; @after is to be called. */
#define GORGON_LINES_HELD    4
#define GORGON_LINES_DIRECT  8
#define GORGON_LINES_RETURNS 16

/* What the code below reads and calls; it lies behind the code. */
struct gorgon_lines_links {
	uint64_t evaluator; /* _PyEval_EvalFrameDefault */
	/* void (*)(void *ctx, struct gorgon_lines_record *): called when @active is not 0, or a
	 * breakpoint is at @watched, or bit 31 of @counted is set and that of the limit of
	 * recursion in the state of a thread of CPython 3.11 is not */
	uint64_t before;
	/* the same, called after the evaluator, also when the record's @entry is not 0 */
	uint64_t after;
	uint64_t tracer; /* as Py_tracefunc, with @ctx as a fifth argument */
	uint64_t ctx;
	uint64_t active, counted;
	uint64_t watched; /* where debuggers have a breakpoint whenever the process runs */
	/* const char *(const char *text, uint64_t offset, void *ctx) */
	uint64_t evaluate;
	uint64_t rest; /* of the evaluator, behind what was copied */
	uint64_t leave;
	/* int (*)(uint64_t state, const char *where, void *ctx), which stands in front of CPython
	 * 3.11's function of the limit of recursion, and the rest of that */
	uint64_t depth, depth_rest;
};

/* A stub: the code of a line, for debuggers. */
#define GORGON_LINES_STUB_SIZE   16
#define GORGON_LINES_STUB_CALL   1  /* calls "leave" */
#define GORGON_LINES_STUB_RESUME 7  /* is where that call returns to; jumps to r11 */
#define GORGON_LINES_STUB_RETURN 10 /* becomes the frame of r13, and jumps to r10 */
#define GORGON_LINES_STUB_JUMP   13
#define GORGON_LINES_NOP         0x90 /* its first byte, while no breakpoint is there */

/*
 * rbx    the record of the frame that runs
 *      nop                    breakpoints are here
 *      call *links(%rip)      to "leave"; for debuggers, to what the line does
 *      jmp *%r11              to another line's stub, or to the entry of a function
 *      mov %r13,%rbx
 *      jmp *%r10
 */
static inline void gorgon_lines_write_stub(uint8_t *stub, const void *leave_link)
{
	static const uint8_t code[GORGON_LINES_STUB_SIZE] = {
		0x90, 0xff, 0x15, 0, 0, 0, 0, 0x41, 0xff, 0xe3, 0x4c, 0x89, 0xeb, 0x41, 0xff, 0xe2};
	int32_t distance =
		(int32_t)((const uint8_t *)leave_link - (stub + GORGON_LINES_STUB_RESUME));

	__builtin_memcpy(stub, code, sizeof(code));
	__builtin_memcpy(stub + 3, &distance, sizeof(distance));
}

/* Behind the stubs of a function: its entry, for debuggers that wait for a frame which calls it. */
#define GORGON_LINES_ENTRY_SIZE 16
#define GORGON_LINES_ENTRY_JUMP 3

/*
 * rbx    the record of the caller, which has called this from r10
 *      mov %r15,%rbx          from here on it is the frame of r15
 *      jmp *%r13              to a stub
 */
static inline void gorgon_lines_write_entry(uint8_t *entry)
{
	static const uint8_t code[] = {0x4c, 0x89, 0xfb, 0x41, 0xff, 0xe5};

	__builtin_memcpy(entry, code, sizeof(code));
}

/* Code of an interpreter, one page. */
#define GORGON_LINES_CODE_SIZE 272
#define GORGON_LINES_FRAME     0  /* what CPython calls for each frame, in place of the evaluator */
#define GORGON_LINES_CALL      73 /* calls the evaluator, */
#define GORGON_LINES_CALLED    79 /* the evaluator returns to here */
#define GORGON_LINES_FRAME_END 197
#define GORGON_LINES_TRACER    208 /* a function with four arguments; calls @tracer */
#define GORGON_LINES_LEAVE     224
#define GORGON_LINES_GENERIC   240 /* the stub of frames whose line is not known */
#define GORGON_LINES_GENERIC_RESUME (GORGON_LINES_GENERIC + GORGON_LINES_STUB_RESUME)
/* run when an exception is raised by the frame in rbx, r13 leads to a text; returns */
#define GORGON_LINES_RAISED    256
/* Debuggers call one of these functions with a text: the frame that has n older records has
 * function n. Each calls @evaluate with the distance of its own end from the first function's
 * beginning. The last function is that of frames with more older records, too. */
#define GORGON_LINES_EVALUATE      304
#define GORGON_LINES_EVALUATE_SIZE 5
#define GORGON_LINES_EVALUATE_ALL  740
/* what the evaluator began with before a jump to GORGON_LINES_FRAME, and a jump behind it */
#define GORGON_LINES_EVALUATOR  4048
/* the same of the function of the limit of recursion, which jumps to GORGON_LINES_DEPTH */
#define GORGON_LINES_DEPTH_COPY 4064
#define GORGON_LINES_DEPTH	4080
#define GORGON_LINES_PAGE_SIZE     4096

/* Write that code for @code, with @links at a distance of less than 2 GiB. @newest: offset from
 * the thread pointer of the address of the thread's newest record. */
void gorgon_lines_write_code(uint8_t *code, const struct gorgon_lines_links *links, int32_t newest);

/* The code is to be called by a jump at the beginning of the evaluator, in place of by CPython's
 * hook: copy what the jump replaces, and let records have the thread's state. @jump is set to the
 * jump. False: the evaluator does not begin as expected, or it is too far away. */
#define GORGON_LINES_JUMP_SIZE 5
bool gorgon_lines_write_evaluator(uint8_t *code, struct gorgon_lines_links *links,
				  const uint8_t *evaluator, uint8_t *jump);

/* The same of CPython 3.11's function of the limit of recursion, whose place @depth takes. */
bool gorgon_lines_write_depth(uint8_t *code, struct gorgon_lines_links *links,
			      const uint8_t *function, uint8_t *jump);

/* What a stub is run with; "leave" comes back from it. */
struct gorgon_lines_run {
	uint64_t stack;
	uint64_t resume; /* set: where the stub would have gone on */
	uint64_t target; /* a stub, or a place in it */
	uint64_t rbx;    /* set, too */
	uint64_t r11, r13, r10;
	uint64_t r15; /* the newest frame's record: that of rbx, or of a caller or callee of it */
	uint64_t r12; /* the thread's newest record on the stack */
};

void gorgon_lines_run(struct gorgon_lines_run *run);

/* DWARF's numbers of registers. */
enum {
	GORGON_LINES_RBX = 3,
	GORGON_LINES_RBP = 6,
	GORGON_LINES_RSP = 7,
	GORGON_LINES_R10 = 10,
	GORGON_LINES_R12 = 12,
	GORGON_LINES_R13 = 13,
	GORGON_LINES_R15 = 15,
	GORGON_LINES_RETURN_ADDRESS = 16,
};

#endif
