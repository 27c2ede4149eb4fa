/* SPDX-License-Identifier: MIT */
/* This file says where the parts of the code of Python lines are, and how debuggers unwind it.
 * python/lines/machine.h explains the parts. */
#ifndef GORGON_MACHINE_PYTHON_LINES_ARCH_H
#define GORGON_MACHINE_PYTHON_LINES_ARCH_H

#define GORGON_LINES_SAVED	 12 /* where the evaluator returns to, then x19 to x29 */
#define GORGON_LINES_RECORD_SIZE 144
/* Which word of the record is where the evaluator returns to while it runs. */
#define GORGON_LINES_CALLED_WORD 5

/* A function that was just called has nothing on the stack. */
#define GORGON_LINES_CALL_DEPTH 0

/* Each register that a caller keeps, and where the record has it. Those of vectors are not there:
 * debuggers see them as they are now. */
#define GORGON_LINES_SAVED_REGISTERS \
	{{30, 136}, {19, 48}, {20, 56}, {21, 64}, {22, 72}, {23, 80}, {24, 88}, {25, 96}, \
	 {26, 104}, {27, 112}, {28, 120}, {29, 128}}

/* Where in the code of FRAME the stack is so deep; whether the record has the registers. */
#define GORGON_LINES_DEPTHS \
	{{8, 144, 0}, {32, 144, 1}, {GORGON_LINES_CALLED, 144, 1}, {204, 144, 0}, {208, 0, 0}, \
	 {212, 144, 1}}

/* A stub: the code of a line, for debuggers. */
#define GORGON_LINES_STUB_SIZE   24
#define GORGON_LINES_STUB_CALL   4  /* calls "leave" */
#define GORGON_LINES_STUB_RESUME 8  /* is where that call returns to; jumps to x11 */
#define GORGON_LINES_STUB_RETURN 12 /* becomes the frame of x21, and jumps to x10 */
#define GORGON_LINES_STUB_JUMP   16
#define GORGON_LINES_STUB_TAIL   20 /* jumps to GORGON_LINES_STUB_CALL of the stub before */

/* Behind the stubs of a function: its entry, for debuggers that wait for a frame which calls it. */
#define GORGON_LINES_ENTRY_SIZE 24
#define GORGON_LINES_ENTRY_JUMP 4

/* Code of an interpreter, as lines/frame.S has it. What it reads lies behind the largest page that
 * there may be. */
#define GORGON_LINES_CODE_SIZE	   384
#define GORGON_LINES_FRAME	   0
#define GORGON_LINES_CALL	   120
#define GORGON_LINES_CALLED	   124
#define GORGON_LINES_FRAME_END	   284
#define GORGON_LINES_TRACER	   304
#define GORGON_LINES_LEAVE	   320
#define GORGON_LINES_GENERIC	   336
#define GORGON_LINES_RAISED	   368
#define GORGON_LINES_UNCAUGHT	   376
#define GORGON_LINES_DEPTH	   400
#define GORGON_LINES_EVALUATOR	   416
#define GORGON_LINES_DEPTH_COPY	   432
#define GORGON_LINES_EVALUATE	   448
#define GORGON_LINES_EVALUATE_SIZE 8
#define GORGON_LINES_EVALUATE_ALL  740
#define GORGON_LINES_PAGE_SIZE	   65536

#define GORGON_LINES_JUMP_SIZE 8

#define GORGON_LINES_NOP    0xd503201f
#define GORGON_LINES_BR_X11 0xd61f0160

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of registers: x19 has the frame, or its record, and so on, as in struct
 * gorgon_lines_run. */
enum {
	GORGON_LINES_REG_BACK = 10,
	GORGON_LINES_REG_FRAME = 19,
	GORGON_LINES_REG_RECORD = 20,
	GORGON_LINES_REG_ARGUMENT = 21,
	GORGON_LINES_REG_NEWEST = 22,
	GORGON_LINES_REG_RETURN = 30,
	GORGON_LINES_REG_STACK = 31,
};

/*
 * x19    the record of the frame that runs
 *      nop                    breakpoints are here
 *      blr x12                to "leave"; for debuggers, to what the line does
 *      br x11                 to another line's stub, or to the entry of a function
 *      mov x19, x21
 *      br x10
 *      b                      to the call of the stub before
 */
static inline void gorgon_lines_write_stub(uint8_t *stub)
{
	static const uint32_t code[] = {GORGON_LINES_NOP, 0xd63f0180, GORGON_LINES_BR_X11,
					0xaa1503f3, 0xd61f0140, 0x17fffff6};

	__builtin_memcpy(stub, code, sizeof(code));
}

/*
 * x19    the record of the caller, which has called this from x10
 *      mov x19, x22           from here on it is the frame of x22
 *      br x21                 to a stub
 * and, at the tail, the jump to the call of the last stub
 */
static inline void gorgon_lines_write_entry(uint8_t *entry)
{
	static const uint32_t code[] = {0xaa1603f3, 0xd61f02a0}, tail = 0x17fffff6;

	__builtin_memcpy(entry, code, sizeof(code));
	__builtin_memcpy(entry + GORGON_LINES_STUB_TAIL, &tail, sizeof(tail));
}

/* Whether a debugger has a breakpoint at a place of a stub: its beginning, or
 * GORGON_LINES_STUB_RESUME. */
static inline bool gorgon_lines_is_hot(const uint8_t *stub, size_t place)
{
	const uint32_t *at = (const uint32_t *)(const void *)(stub + place);

	return __atomic_load_n(at, __ATOMIC_RELAXED) !=
	       (place == GORGON_LINES_STUB_RESUME ? GORGON_LINES_BR_X11 : GORGON_LINES_NOP);
}

/* Whether a function begins with a debugger's breakpoint. The code of FRAME compares the function
 * at @watched in the same way. */
static inline bool gorgon_lines_is_breakpoint(const void *function)
{
	return __atomic_load_n((const uint32_t *)function, __ATOMIC_RELAXED) == 0xd4200000;
}

#endif

#endif
