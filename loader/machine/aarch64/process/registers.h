/* SPDX-License-Identifier: MIT */
/* AArch64: registers as unwind tables number them, and as handlers of signals get them (aadwarf64).
 */
#ifndef GORGON_PROCESS_REGISTERS_H
#define GORGON_PROCESS_REGISTERS_H

#include <signal.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define REGISTERS 33 // x0 to x30, then these
#define SP	  31
#define PC	  32
#define RA	  30 // where calls leave the return address

static inline uint64_t gorgon_arch_stack_pointer(const ucontext_t *context)
{
	return context->uc_mcontext.sp;
}

static inline void gorgon_arch_read_context(const ucontext_t *context, uint64_t *registers)
{
	memcpy(registers, context->uc_mcontext.regs, 31 * sizeof(*registers));
	registers[SP] = context->uc_mcontext.sp;
	registers[PC] = context->uc_mcontext.pc;
}

/* A return address without its signature. Processors that sign none take the instruction, XPACLRI,
 * for none. */
static inline uint64_t gorgon_arch_code_address(uint64_t addr)
{
	register uint64_t lr __asm__("x30") = addr;

	__asm__("hint #7" : "+r"(lr));
	return lr;
}

/* From the first instruction of what was called to behind the call. */
static inline void gorgon_arch_undo_call(uint64_t *registers)
{
	registers[PC] = gorgon_arch_code_address(registers[RA]);
}

/*
 * From what a handler of a signal returns to, to the code that the signal has interrupted. False:
 * it is not that. No tables describe these instructions, which are the kernel's: a call of
 * rt_sigreturn(2), with the registers behind a siginfo_t on the stack.
 */
static inline bool gorgon_arch_undo_signal(uint64_t *registers)
{
	static const uint32_t code[2] = {0xd2801168, 0xd4000001}; // mov x8, #139; svc #0

	if (memcmp((const void *)(uintptr_t)registers[PC], code, sizeof(code)) != 0)
		return false;
	gorgon_arch_read_context((const ucontext_t *)(uintptr_t)(registers[SP] + sizeof(siginfo_t)),
				 registers);
	return true;
}

/* Whether the kernel will run the system call anew that a signal has interrupted, and which; or the
 * call has not begun. */
static inline bool gorgon_arch_restarts(const ucontext_t *context, long *number, uint64_t *second)
{
	uint32_t instruction;

	memcpy(&instruction, (const void *)(uintptr_t)context->uc_mcontext.pc, sizeof(instruction));
	*number = (long)context->uc_mcontext.regs[8];
	*second = context->uc_mcontext.regs[1];
	return instruction == 0xd4000001; // svc #0
}

/* The system call does not run: it has failed. */
static inline void gorgon_arch_fail_call(ucontext_t *context, int err)
{
	context->uc_mcontext.pc += 4;
	context->uc_mcontext.regs[0] = (uint64_t)-(int64_t)err;
}

/* Where the jump at @pc (B) leads, if there is one before @end; else 0. */
static inline uint64_t gorgon_arch_jump_target(uint64_t pc, uint64_t end)
{
	uint32_t instruction;

	if (pc % 4 || end - pc < 4)
		return 0;
	memcpy(&instruction, (const void *)(uintptr_t)pc, sizeof(instruction));
	if (instruction >> 26 != 5)
		return 0;
	return pc + (uint64_t)((int64_t)(int32_t)(instruction << 6) >> 4);
}

/* The system call of this number, which the signal has ended, begins anew. */
static inline void gorgon_arch_repeat_call(ucontext_t *context, uint64_t number, uint64_t first)
{
	if (context->uc_mcontext.regs[0] != (uint64_t)-(int64_t)EINTR ||
	    context->uc_mcontext.regs[8] != number)
		return;
	context->uc_mcontext.pc -= 4;
	context->uc_mcontext.regs[0] = first;
}

#endif
