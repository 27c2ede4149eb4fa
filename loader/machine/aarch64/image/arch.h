/* SPDX-License-Identifier: MIT */
/*
 * AArch64: ELF for the Arm 64-bit Architecture (aaelf64), "Dynamic relocations"; System V ABI for
 * the Arm 64-bit Architecture (sysvabi64), "Program Property".
 */
#ifndef GORGON_IMAGE_ARCH_H
#define GORGON_IMAGE_ARCH_H

#include "image/reloc_kind.h"

#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/ifunc.h>

#ifndef HWCAP2_BTI
#define HWCAP2_BTI (1 << 17)
#endif
#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif

#define GORGON_ARCH_R_NONE  R_AARCH64_NONE
#define GORGON_ARCH_R_TPOFF R_AARCH64_TLS_TPREL

static inline enum gorgon_reloc_kind gorgon_arch_reloc_kind(uint32_t type)
{
	switch (type) {
	case R_AARCH64_RELATIVE:
		return GORGON_RELOC_RELATIVE;
	case R_AARCH64_ABS64:
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_JUMP_SLOT:
	case R_AARCH64_ABS32:
		return GORGON_RELOC_SYMBOL;
	case R_AARCH64_PREL64:
	case R_AARCH64_PREL32:
		return GORGON_RELOC_PC;
	case R_AARCH64_IRELATIVE:
		return GORGON_RELOC_IRELATIVE;
	case R_AARCH64_TLS_DTPMOD:
		return GORGON_RELOC_TLS_MODULE;
	case R_AARCH64_TLS_DTPREL:
		return GORGON_RELOC_TLS_OFFSET;
	case R_AARCH64_TLS_TPREL:
		return GORGON_RELOC_TLS_STATIC;
	case R_AARCH64_TLSDESC:
		return GORGON_RELOC_TLS_DESC;
	default:
		return GORGON_RELOC_NONE;
	}
}

/* All types have one: the value of GLOB_DAT and JUMP_SLOT is S + A, too. */
static inline int gorgon_arch_reloc_has_addend(uint32_t type)
{
	(void)type;
	return 1;
}

/* Bytes that a relocation writes; 0 for those that are not applied. */
static inline unsigned gorgon_arch_reloc_width(uint32_t type)
{
	switch (type) {
	case R_AARCH64_ABS32:
	case R_AARCH64_PREL32:
		return 4;
	case R_AARCH64_TLSDESC:
		return 16;
	default:
		return gorgon_arch_reloc_kind(type) == GORGON_RELOC_NONE ? 0 : 8;
	}
}

/* Whether @value can be written in a field of that type: with or without a sign. */
static inline int gorgon_arch_reloc_fits(uint32_t type, uint64_t value)
{
	return gorgon_arch_reloc_width(type) != 4 || value <= UINT32_MAX ||
	       (int64_t)value == (int32_t)value;
}

/* More about a type that is refused, to follow the error's text. */
static inline const char *gorgon_arch_reloc_hint(uint32_t type)
{
	return type == R_AARCH64_COPY ? " (R_AARCH64_COPY belongs into executables)" : "";
}

/* What a resolver of IFUNCs says. It is told what the processor has. */
static inline uint64_t gorgon_arch_resolve(uint64_t resolver)
{
	__ifunc_arg_t has = {sizeof(has), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};

	return ((uint64_t (*)(uint64_t, const __ifunc_arg_t *))(uintptr_t)resolver)(
		has._hwcap | _IFUNC_ARG_HWCAP, &has);
}

/* There are no levels of instructions that a file could name. */
#define GORGON_ARCH_PROPERTY_ISA 0

static inline uint32_t gorgon_arch_isa(void)
{
	return UINT32_MAX;
}

/* How code of a file with these features is mapped: branches are checked where each of them ends at
 * an instruction that is made for it. */
#define GORGON_ARCH_PROPERTY_FEATURES GNU_PROPERTY_AARCH64_FEATURE_1_AND

static inline int gorgon_arch_code_prot(uint32_t features)
{
	return features & GNU_PROPERTY_AARCH64_FEATURE_1_BTI && getauxval(AT_HWCAP2) & HWCAP2_BTI
		       ? PROT_BTI
		       : 0;
}

#endif
