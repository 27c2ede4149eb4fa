/* SPDX-License-Identifier: MIT */
/* x86-64: its names, and how a thunk is written. */
#ifndef GORGON_BASE_ARCH_H
#define GORGON_BASE_ARCH_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define GORGON_ARCH_MACHINE   EM_X86_64
#define GORGON_ARCH_NAME      "X86_64"
#define GORGON_ARCH_MULTIARCH "x86_64-linux-gnu"
#define GORGON_ARCH_LINKER    "ld-linux-x86-64.so.2"

/* Entries of ld.so.cache: FLAG_ELF_LIBC6 with the machine in the second byte (glibc: ldconfig.h).
 */
#define GORGON_ARCH_CACHE_FLAGS 0x0303

/* How the C library aligns static thread-local storage at least: as its own record of a thread. */
#define GORGON_ARCH_STATIC_TLS_ALIGN 64

/* Compilers have called __tls_get_addr with a stack that is not aligned to 16 bytes (GCC before 4.9
 * in some cases), which the callees do not survive. */
#define GORGON_ARCH_ALIGN_STACK __attribute__((force_align_arg_pointer))

/*
 * A thunk: put a context into the integer argument register after the callee's
 * @args own ones and jump. Encoded as
 *	movabs $context, %rsi|%rdx|...
 *	jmp    *target(%rip)
 *	target
 * or, without a target, as a jump to the function whose address is the first word of the context:
 *	movabs $context, %rsi|%rdx|...
 *	jmp    *(%rsi|%rdx|...)
 * With all six taken it is r10, the static chain pointer, where the callee must look for it.
 * r10 is scratch at every call (psABI, "Registers"), and so is an argument
 * register that the call does not use; al, which counts vector registers of a
 * variadic call, is left alone.
 */
#define GORGON_ARCH_THUNK_SIZE     32
#define GORGON_ARCH_THUNK_ARGS_MAX 6

static inline void gorgon_arch_thunk_write(uint8_t *at, unsigned args, const void *context,
					   const void *target)
{
	/* REX prefix and opcode of movabs for rdi, rsi, rdx, rcx, r8, r9, r10. */
	static const uint8_t move[7][2] = {{0x48, 0xbf}, {0x48, 0xbe}, {0x48, 0xba},
					   {0x48, 0xb9}, {0x49, 0xb8}, {0x49, 0xb9}, {0x49, 0xba}};
	/* REX prefix, opcode and ModRM byte of the jump to where the register points. */
	static const uint8_t jump[7][3] = {
		{0x40, 0xff, 0x27}, {0x40, 0xff, 0x26}, {0x40, 0xff, 0x22}, {0x40, 0xff, 0x21},
		{0x41, 0xff, 0x20}, {0x41, 0xff, 0x21}, {0x41, 0xff, 0x22}};

	memset(at, 0xcc, GORGON_ARCH_THUNK_SIZE);
	memcpy(at, move[args], 2);
	memcpy(at + 2, &context, 8);
	if (!target) {
		memcpy(at + 10, jump[args], 3);
		return;
	}
	memcpy(at + 10, "\xff\x25\0\0\0", 6);
	memcpy(at + 16, &target, 8);
}

#endif
