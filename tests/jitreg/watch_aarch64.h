/* SPDX-License-Identifier: MIT */
/* aarch64: how a test plays a debugger at the beginning of a function. */
#ifndef WATCH_H
#define WATCH_H

#include <stdint.h>
#include <ucontext.h>

typedef uint32_t watch_code;

#define WATCH_BREAKPOINT 0xd4200000 // brk #0

/* Do what "ret" does. */
static inline void watch_return(ucontext_t *context)
{
	context->uc_mcontext.pc = context->uc_mcontext.regs[30];
}

#endif
