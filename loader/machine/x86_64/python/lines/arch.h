/* SPDX-License-Identifier: MIT */
/* This file says where the parts of the code of Python lines are, and how debuggers unwind it.
 * python/lines/machine.h explains the parts. */
#ifndef GORGON_MACHINE_PYTHON_LINES_ARCH_H
#define GORGON_MACHINE_PYTHON_LINES_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GORGON_LINES_SAVED	 6 /* r15 to r12, rbp, rbx */
#define GORGON_LINES_RECORD_SIZE 96
/* The return address of the evaluator's call is below the record. */
#define GORGON_LINES_CALLED_WORD (-1)

/* DWARF's numbers of registers: rbx has the frame, or its record, and so on, as in struct
 * gorgon_lines_run. */
enum {
	GORGON_LINES_REG_FRAME = 3,
	GORGON_LINES_REG_STACK = 7,
	GORGON_LINES_REG_BACK = 10,
	GORGON_LINES_REG_RECORD = 12,
	GORGON_LINES_REG_ARGUMENT = 13,
	GORGON_LINES_REG_NEWEST = 15,
	GORGON_LINES_REG_RETURN = 16,
};

/* How deep a function's stack is that was just called: it has the return address. */
#define GORGON_LINES_CALL_DEPTH 8

/* Each register that a caller keeps, and where the record has it. */
#define GORGON_LINES_SAVED_REGISTERS \
	{{16, 88}, {3, 80}, {6, 72}, {12, 64}, {13, 56}, {14, 48}, {15, 40}}

/* Where in the code of FRAME the stack is so deep; whether the record has the registers. Those that
 * the end has taken from it already are still below the stack, where signals leave 128 bytes. */
#define GORGON_LINES_DEPTHS \
	{{1, 16, 0}, {2, 24, 0}, {4, 32, 0}, {6, 40, 0}, {8, 48, 0}, {10, 56, 0}, {21, 64, 0}, \
	 {22, 72, 0}, {24, 80, 0}, {26, 88, 0}, {27, 96, 1}, {79, 96, 1}, {113, 56, 1}, \
	 {115, 48, 1}, {117, 40, 1}, {119, 32, 1}, {121, 24, 1}, {122, 16, 1}, {123, 8, 0}, \
	 {124, 96, 1}}

/* A stub: the code of a line, for debuggers. */
#define GORGON_LINES_STUB_SIZE   16
#define GORGON_LINES_STUB_CALL   1  /* calls "leave" */
#define GORGON_LINES_STUB_RESUME 4 /* is where that call returns to; jumps to r11 */
#define GORGON_LINES_STUB_RETURN 7 /* becomes the frame of r13, and jumps to r10 */
#define GORGON_LINES_STUB_JUMP   10
#define GORGON_LINES_STUB_TAIL   13 /* jumps to GORGON_LINES_STUB_CALL of the stub before */

/*
 * rbx    the record of the frame that runs
 *      nop                    breakpoints are here
 *      call *%r14             to "leave"; for debuggers, to what the line does
 *      jmp *%r11              to another line's stub, or to the entry of a function
 *      mov %r13,%rbx
 *      jmp *%r10
 *      jmp                    to the call of the stub before
 */
static inline void gorgon_lines_write_stub(uint8_t *stub)
{
	static const uint8_t code[] = {0x90, 0x41, 0xff, 0xd6, 0x41, 0xff, 0xe3,
				       0x4c, 0x89, 0xeb, 0x41, 0xff, 0xe2, 0xeb, 0xe2};

	__builtin_memcpy(stub, code, sizeof(code));
}

/* Whether a debugger has a breakpoint at a place of a stub: its beginning, or
 * GORGON_LINES_STUB_RESUME. */
static inline bool gorgon_lines_is_hot(const uint8_t *stub, size_t place)
{
	uint8_t now = __atomic_load_n(stub + place, __ATOMIC_RELAXED);

	return now != (place == GORGON_LINES_STUB_RESUME ? 0x41 : 0x90);
}

/* Whether a function begins with a debugger's breakpoint. The code of FRAME compares the function
 * at @watched in the same way. */
static inline bool gorgon_lines_is_breakpoint(const void *function)
{
	return __atomic_load_n((const uint8_t *)function, __ATOMIC_RELAXED) == 0xcc;
}

/* Behind the stubs of a function: its entry, for debuggers that wait for a frame which calls it. */
#define GORGON_LINES_ENTRY_SIZE 16
#define GORGON_LINES_ENTRY_JUMP 3

/*
 * rbx    the record of the caller, which has called this from r10
 *      mov %r15,%rbx          from here on it is the frame of r15
 *      jmp *%r13              to a stub
 * and, at the tail, the jump to the call of the last stub
 */
static inline void gorgon_lines_write_entry(uint8_t *entry)
{
	static const uint8_t code[] = {0x4c, 0x89, 0xfb, 0x41, 0xff, 0xe5}, tail[] = {0xeb, 0xe2};

	__builtin_memcpy(entry, code, sizeof(code));
	__builtin_memcpy(entry + GORGON_LINES_STUB_TAIL, tail, sizeof(tail));
}

/* Code of an interpreter, one page. */
#define GORGON_LINES_CODE_SIZE	   272
#define GORGON_LINES_FRAME	   0
#define GORGON_LINES_CALL	   73
#define GORGON_LINES_CALLED	   79
#define GORGON_LINES_FRAME_END	   185
#define GORGON_LINES_TRACER	   208
#define GORGON_LINES_LEAVE	   224
#define GORGON_LINES_GENERIC	   240
#define GORGON_LINES_RAISED	   256
#define GORGON_LINES_UNCAUGHT	   264
#define GORGON_LINES_EVALUATE	   304
#define GORGON_LINES_EVALUATE_SIZE 5
#define GORGON_LINES_EVALUATE_ALL  740
#define GORGON_LINES_EVALUATOR	   4048
#define GORGON_LINES_DEPTH_COPY	   4064
#define GORGON_LINES_DEPTH	   4080
#define GORGON_LINES_PAGE_SIZE	   4096

#define GORGON_LINES_JUMP_SIZE 5

#endif
