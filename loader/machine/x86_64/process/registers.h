/* SPDX-License-Identifier: MIT */
/* x86-64: registers as unwind tables number them, and as handlers of signals get them (psABI,
 * 3.6.2). */
#ifndef GORGON_PROCESS_REGISTERS_H
#define GORGON_PROCESS_REGISTERS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define REGISTERS 17
#define SP	  7
#define PC	  16
// where calls leave the return address: to the tables, which restore it, that is the PC
#define RA	  16

static inline uint64_t gorgon_arch_stack_pointer(const ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline void gorgon_arch_read_context(const ucontext_t *context, uint64_t *registers)
{
	static const int order[REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < REGISTERS; i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

/* A return address without what else may be in its bits: nothing. */
static inline uint64_t gorgon_arch_code_address(uint64_t addr)
{
	return addr;
}

/* From the first instruction of what was called to behind the call: the return address is on top of
 * the stack. */
static inline void gorgon_arch_undo_call(uint64_t *registers)
{
	memcpy(&registers[PC], (const void *)(uintptr_t)registers[SP], sizeof(*registers));
	registers[SP] += 8;
}

/* The C library has tables for what a handler of a signal returns to. */
static inline bool gorgon_arch_undo_signal(uint64_t *registers)
{
	(void)registers;
	return false;
}

/* Whether the kernel will run the system call anew that a signal has interrupted, and which. The
 * instruction `syscall` has left its return address in RCX, but for kernels that keep RCX: there
 * the call may not have begun. */
static inline bool gorgon_arch_restarts(const ucontext_t *context, long *number, uint64_t *second)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	const uint8_t *pc = (const uint8_t *)(uintptr_t)registers[REG_RIP];
	long result = SYS_getpid;
	uint64_t kept = 0;

	if (pc[0] != 0x0f || pc[1] != 0x05)
		return false;
	asm volatile("syscall" : "+a"(result), "+c"(kept) : : "r11", "memory");
	*number = (long)registers[REG_RAX];
	*second = (uint64_t)registers[REG_RSI];
	return !kept || registers[REG_RCX] == registers[REG_RIP] + 2;
}

/* The system call does not run: it has failed. */
static inline void gorgon_arch_fail_call(ucontext_t *context, int err)
{
	context->uc_mcontext.gregs[REG_RIP] += 2;
	context->uc_mcontext.gregs[REG_RAX] = -err;
}

/* Where the jump at @pc leads, if there is one before @end; else 0. */
static inline uint64_t gorgon_arch_jump_target(uint64_t pc, uint64_t end)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
	uint64_t size = *code == 0x0f ? 6 : 5; // jcc, jmp
	int32_t distance;

	if (end - pc < size || (size == 6 ? (code[1] & 0xf0) != 0x80 : *code != 0xe9))
		return 0;
	memcpy(&distance, code + size - 4, 4);
	return pc + size + (uint64_t)(int64_t)distance;
}

/* The system call of this number, which the signal has ended, begins anew. */
static inline void gorgon_arch_repeat_call(ucontext_t *context, uint64_t number, uint64_t first)
{
	(void)first;
	if (context->uc_mcontext.gregs[REG_RAX] != -EINTR)
		return;
	context->uc_mcontext.gregs[REG_RIP] -= 2;
	context->uc_mcontext.gregs[REG_RAX] = (greg_t)number;
}

#endif
