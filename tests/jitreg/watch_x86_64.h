/* SPDX-License-Identifier: MIT */
/* x86-64: how a test plays a debugger. */
#ifndef WATCH_H
#define WATCH_H

#include <stdint.h>
#include <ucontext.h>

typedef uint8_t watch_code;

#define WATCH_BREAKPOINT 0xcc

/* Go on at the breakpoint that was hit, which is there no more. */
static inline uint8_t *watch_again(ucontext_t *context)
{
	return (uint8_t *)--context->uc_mcontext.gregs[REG_RIP];
}

/* Do what "ret" does. */
static inline void watch_return(ucontext_t *context)
{
	greg_t *regs = context->uc_mcontext.gregs;

	regs[REG_RIP] = *(greg_t *)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

#endif
