/* SPDX-License-Identifier: MIT */
/* AArch64, for tests: its names, types of relocations, and a few instructions. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define TEST_MACHINE   EM_AARCH64
#define TEST_MULTIARCH "aarch64-linux-gnu"
#define TEST_LINKER    "ld-linux-aarch64.so.1"

/* Another machine, of the same class and order of bytes. */
#define TEST_OTHER_MACHINE EM_X86_64
#define TEST_OTHER_NUMBER  "62"
#define TEST_REFUSES_OTHER "e_machine is 62, this process is AARCH64 (183)"
/* The first version of the C library for this machine, and the largest alignment of variables in static blocks. */
#define TEST_LIBC_VERSION     "GLIBC_2.17"
#define TEST_STATIC_TLS_ALIGN 32

#define TEST_R_NONE	 R_AARCH64_NONE
#define TEST_R_RELATIVE	 R_AARCH64_RELATIVE
#define TEST_R_64	 R_AARCH64_ABS64
#define TEST_R_32	 R_AARCH64_ABS32
#define TEST_R_PC64	 R_AARCH64_PREL64
#define TEST_R_PC32	 R_AARCH64_PREL32
#define TEST_R_GLOB_DAT	 R_AARCH64_GLOB_DAT
#define TEST_R_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define TEST_R_IRELATIVE R_AARCH64_IRELATIVE
#define TEST_R_COPY	 R_AARCH64_COPY
#define TEST_R_TLS_MOD	 R_AARCH64_TLS_DTPMOD
#define TEST_R_TLS_OFF	 R_AARCH64_TLS_DTPREL
#define TEST_R_TLS_TP	 R_AARCH64_TLS_TPREL
#define TEST_R_TLS_DESC	 R_AARCH64_TLSDESC
#define TEST_REFUSES_COPY "relocation type 1024 is not supported (R_AARCH64_COPY belongs into executables)"

/* Of relocations that are of 32 bits, of distances or of sizes the linker writes none into a library. */
#define TEST_LINKER_SAYS ""

/* At which index the registers of a core have the program counter and the stack pointer. */
#define TEST_CORE_PC 32
#define TEST_CORE_SP 31

/* Versions of the ABI that the C library knows are the machine's. */
#define TEST_ABI_SAYS "3/3 refused"
#define TEST_ABI_OURS \
	.private_says = "0/0 loaded 0/1 refused 3/0 loaded 3/1 loaded 3/2 loaded 3/3 loaded 3/40 refused " \
			"9/0 refused 255/0 refused padding refused", \
	.why = "absolute symbols are absolute on each machine"

/* Of a library that is mapped: code, a hole, what is protected after relocation, data. */
#define TEST_BASIC_MAPPINGS 4

/* The types of relocations that messages have. */
#define TEST_NUMBER_32 "258"

/* What addends of GLOB_DAT and JUMP_SLOT count. */
#define TEST_SLOT_ADDEND(addend) (addend)

/* A function that returns @value, in at most 16 bytes. */
static inline void test_write_function(uint8_t *at, uint8_t value)
{
	uint32_t code[2] = {0x52800000 | (uint32_t)value << 5, 0xd65f03c0}; /* mov w0, #value; ret */

	memcpy(at, code, sizeof(code));
}

/* A function that calls what its second argument says, in a frame of its own. */
#define TEST_CODE_CALL                                                                             \
	{                                                                                          \
		0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x20, 0x00, 0x3f, 0xd6, 0xfd,      \
			0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6                                   \
	} /* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret */

/* An instruction that no processor has; one that writes to address 0 with a stack pointer that leads nowhere. */
#define TEST_ASM_INVALID    "udf #0"
// mov x0, #0; ldr w0, [x0]
#define TEST_CODE_READS_NULL 0x00, 0x00, 0x80, 0xd2, 0x00, 0x00, 0x40, 0xb9
#define TEST_ASM_LOSE_STACK "movz x9, #0x4560\n\tmovk x9, #0x1, lsl #32\n\tmov sp, x9\n\tmov x9, #0\n\tstr wzr, [x9]"

#endif
