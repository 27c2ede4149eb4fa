/* SPDX-License-Identifier: MIT */
/* aarch64: how a test plays a debugger. */
#ifndef WATCH_H
#define WATCH_H

#include <stdint.h>
#include <ucontext.h>

typedef uint32_t watch_code;

#define WATCH_BREAKPOINT 0xd4200000 // brk #0

/* Go on at the breakpoint that was hit, which is there no more. */
static inline uint8_t *watch_again(const ucontext_t *context)
{
	return (uint8_t *)context->uc_mcontext.pc;
}

/* Do what "ret" does. */
static inline void watch_return(ucontext_t *context)
{
	context->uc_mcontext.pc = context->uc_mcontext.regs[30];
}

#endif
