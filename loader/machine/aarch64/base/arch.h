/* SPDX-License-Identifier: MIT */
/* AArch64: its names, and how a thunk is written. */
#ifndef GORGON_BASE_ARCH_H
#define GORGON_BASE_ARCH_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define GORGON_ARCH_MACHINE   EM_AARCH64
#define GORGON_ARCH_NAME      "AARCH64"
#define GORGON_ARCH_MULTIARCH "aarch64-linux-gnu"
#define GORGON_ARCH_LINKER    "ld-linux-aarch64.so.1"

/* Entries of ld.so.cache: FLAG_ELF_LIBC6 with the machine in the second byte (glibc: ldconfig.h).
 */
#define GORGON_ARCH_CACHE_FLAGS 0x0a03

/* How the C library aligns static thread-local storage at least: as its own record of a thread. */
#define GORGON_ARCH_STATIC_TLS_ALIGN 32

/* Callers always align the stack: the processor faults otherwise. */
#define GORGON_ARCH_ALIGN_STACK

/*
 * A thunk: put a context into the argument register after the callee's @args own ones and jump.
 * Encoded as
 *	bti  c
 *	ldr  x0|x1|..., context
 *	ldr  x16, target
 *	br   x16
 *	context, target
 * Without a target it jumps to the function whose address is the first word of the context:
 *	ldr  x16, [x0|x1|...]
 * With all eight taken it is x9, where the callee must look for it. x9 and x16 are scratch at every
 * call (AAPCS64, "General-purpose Registers"), and so is an argument register that the call does
 * not use. A jump by x16 may end at the beginning of a function where branches are checked.
 */
#define GORGON_ARCH_THUNK_SIZE     32
#define GORGON_ARCH_THUNK_ARGS_MAX 8

static inline void gorgon_arch_thunk_write(uint8_t *at, unsigned args, const void *context,
					   const void *target)
{
	uint32_t number = args < GORGON_ARCH_THUNK_ARGS_MAX ? args : 9;
	uint32_t code[4] = {0xd503245f, 0x58000060 | number,
			    target ? 0x58000090 : 0xf9400010 | number << 5, 0xd61f0200};

	memcpy(at, code, sizeof(code));
	memcpy(at + 16, &context, 8);
	memcpy(at + 24, &target, 8);
}

#endif
