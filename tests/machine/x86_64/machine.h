/* SPDX-License-Identifier: MIT */
/* x86-64, for tests: its names, types of relocations, and a few instructions. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define TEST_MACHINE   EM_X86_64
#define TEST_MULTIARCH "x86_64-linux-gnu"
#define TEST_LINKER    "ld-linux-x86-64.so.2"

/* Another machine, of the same class and order of bytes. */
#define TEST_OTHER_MACHINE EM_AARCH64
#define TEST_OTHER_NUMBER  "183"
#define TEST_REFUSES_OTHER "e_machine is 183, this process is X86_64 (62)"
/* The first version of the C library for this machine, and the largest alignment of variables in static blocks. */
#define TEST_LIBC_VERSION     "GLIBC_2.2.5"
#define TEST_STATIC_TLS_ALIGN 64

#define TEST_R_NONE	 R_X86_64_NONE
#define TEST_R_RELATIVE	 R_X86_64_RELATIVE
#define TEST_R_64	 R_X86_64_64
#define TEST_R_32	 R_X86_64_32
#define TEST_R_PC64	 R_X86_64_PC64
#define TEST_R_PC32	 R_X86_64_PC32
#define TEST_R_SIZE64	 R_X86_64_SIZE64
#define TEST_R_SIZE32	 R_X86_64_SIZE32
#define TEST_R_GLOB_DAT	 R_X86_64_GLOB_DAT
#define TEST_R_JUMP_SLOT R_X86_64_JUMP_SLOT
#define TEST_R_IRELATIVE R_X86_64_IRELATIVE
#define TEST_R_COPY	 R_X86_64_COPY
#define TEST_R_TLS_MOD	 R_X86_64_DTPMOD64
#define TEST_R_TLS_OFF	 R_X86_64_DTPOFF64
#define TEST_R_TLS_TP	 R_X86_64_TPOFF64
#define TEST_R_TLS_DESC	 R_X86_64_TLSDESC
#define TEST_REFUSES_COPY "relocation type 5 is not supported (R_X86_64_COPY belongs into executables)"

/* The linker writes any of these into a library that is asked for it in assembly. */
#define TEST_LINKER_WRITES_ALL 1
#define TEST_LINKER_SAYS       " 1 1 1 1 1"

/* The first word at DT_PLTGOT is the address of the dynamic section. */
#define TEST_GOT_HAS_DYNAMIC 1

/* At which index the registers of a core have the program counter and the stack pointer. */
#define TEST_CORE_PC 16
#define TEST_CORE_SP 19

/* Files can ask for a level of instructions. */
#define TEST_HAS_LEVELS 1

/* Versions of the ABI that the C library knows are the machine's. */
#define TEST_ABI_SAYS "3/3 loaded"
#define TEST_ABI_OURS

/* Of a library that is mapped: constants, code, constants, what is protected after relocation, data. */
#define TEST_BASIC_MAPPINGS 5

/* The types of relocations that messages have. */
#define TEST_NUMBER_32 "10"

/* What addends of GLOB_DAT and JUMP_SLOT count. */
#define TEST_SLOT_ADDEND(addend) 0

/* A function that returns @value, in at most 16 bytes. */
static inline void test_write_function(uint8_t *at, uint8_t value)
{
	uint8_t code[6] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov $value, %eax; ret */

	memcpy(at, code, sizeof(code));
}

/* A function that calls what its second argument says, in a frame of its own. */
#define TEST_CODE_CALL                                                                             \
	{                                                                                          \
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3                                     \
	} /* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */

/* An instruction that no processor has; one that writes to address 0 with a stack pointer that leads nowhere. */
#define TEST_ASM_INVALID    "ud2"
// xor %eax, %eax; mov (%rax), %eax; ret
#define TEST_CODE_READS_NULL 0x31, 0xc0, 0x8b, 0x00, 0xc3
#define TEST_ASM_LOSE_STACK "mov $0x123456780, %%rsp\n\tmovl $0, 0"

#endif
