/* SPDX-License-Identifier: MIT */
/* x86-64: registers as unwind tables number them, and as handlers of signals get them (psABI, 3.6.2). */
#ifndef GORGON_PROCESS_REGISTERS_H
#define GORGON_PROCESS_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

#define REGISTERS 17 // the last one is the return address
#define SP	  7
#define RA	  16

static inline uint64_t gorgon_arch_stack_pointer(const ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline void gorgon_arch_read_context(const ucontext_t *context, uint64_t *registers)
{
	static const int order[REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
					     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < REGISTERS; i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

#endif
