/* SPDX-License-Identifier: MIT */
/**
 * @file
 * How the ELF header names the machine that this is compiled for.
 */
#ifndef JITREG_MACHINE_H
#define JITREG_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define JITREG_HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define JITREG_HOST_MACHINE EM_AARCH64
#else
#error "jitreg: which e_machine does this processor have?"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define JITREG_HOST_DATA ELFDATA2LSB
#else
#define JITREG_HOST_DATA ELFDATA2MSB
#endif

#endif
