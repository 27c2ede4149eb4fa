/* SPDX-License-Identifier: MIT */
/* x86-64: how a test plays a debugger at the beginning of a function. */
#ifndef WATCH_H
#define WATCH_H

#include <stdint.h>
#include <ucontext.h>

typedef uint8_t watch_code;

#define WATCH_BREAKPOINT 0xcc

/* Do what "ret" does. */
static inline void watch_return(ucontext_t *context)
{
	greg_t *regs = context->uc_mcontext.gregs;

	regs[REG_RIP] = *(greg_t *)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

#endif
