/* SPDX-License-Identifier: MIT */
/* x86-64: psABI, "Relocation" (table of types) and "Thread-Local Storage". */
#ifndef GORGON_IMAGE_ARCH_H
#define GORGON_IMAGE_ARCH_H

#include "image/reloc_kind.h"

#include <elf.h>
#include <stdint.h>

#define GORGON_ARCH_R_NONE  R_X86_64_NONE
#define GORGON_ARCH_R_TPOFF R_X86_64_TPOFF64

static inline enum gorgon_reloc_kind gorgon_arch_reloc_kind(uint32_t type)
{
	switch (type) {
	case R_X86_64_RELATIVE:
		return GORGON_RELOC_RELATIVE;
	case R_X86_64_64:
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_32:
		return GORGON_RELOC_SYMBOL;
	case R_X86_64_PC32:
	case R_X86_64_PC64:
		return GORGON_RELOC_PC;
	case R_X86_64_SIZE32:
	case R_X86_64_SIZE64:
		return GORGON_RELOC_SIZE;
	case R_X86_64_IRELATIVE:
		return GORGON_RELOC_IRELATIVE;
	case R_X86_64_DTPMOD64:
		return GORGON_RELOC_TLS_MODULE;
	case R_X86_64_DTPOFF64:
		return GORGON_RELOC_TLS_OFFSET;
	case R_X86_64_TPOFF64:
		return GORGON_RELOC_TLS_STATIC;
	case R_X86_64_TLSDESC:
		return GORGON_RELOC_TLS_DESC;
	default:
		return GORGON_RELOC_NONE;
	}
}

/* GLOB_DAT and JUMP_SLOT ignore their addend (psABI: the value is S). */
static inline int gorgon_arch_reloc_has_addend(uint32_t type)
{
	return type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT;
}

/* Bytes that a relocation writes; 0 for those that are not applied. */
static inline unsigned gorgon_arch_reloc_width(uint32_t type)
{
	switch (type) {
	case R_X86_64_32:
	case R_X86_64_PC32:
	case R_X86_64_SIZE32:
		return 4;
	case R_X86_64_TLSDESC:
		return 16;
	default:
		return gorgon_arch_reloc_kind(type) == GORGON_RELOC_NONE ? 0 : 8;
	}
}

/* Whether @value can be written in a field of that type. */
static inline int gorgon_arch_reloc_fits(uint32_t type, uint64_t value)
{
	switch (type) {
	case R_X86_64_32:
	case R_X86_64_SIZE32:
		return value <= UINT32_MAX;
	case R_X86_64_PC32:
		return (int64_t)value == (int32_t)value;
	default:
		return 1;
	}
}

/* More about a type that is refused, to follow the error's text. */
static inline const char *gorgon_arch_reloc_hint(uint32_t type)
{
	switch (type) {
	case R_X86_64_COPY:
		return " (R_X86_64_COPY belongs into executables)";
	default:
		return "";
	}
}

/* What a resolver of IFUNCs says. */
static inline uint64_t gorgon_arch_resolve(uint64_t resolver)
{
	return ((uint64_t(*)(void))(uintptr_t)resolver)();
}

/* The levels that a file's ISA property names and this processor has. */
#define GORGON_ARCH_PROPERTY_ISA GNU_PROPERTY_X86_ISA_1_NEEDED

static inline uint32_t gorgon_arch_isa(void)
{
	return GNU_PROPERTY_X86_ISA_1_BASELINE |
	       (__builtin_cpu_supports("x86-64-v2") ? GNU_PROPERTY_X86_ISA_1_V2 : 0) |
	       (__builtin_cpu_supports("x86-64-v3") ? GNU_PROPERTY_X86_ISA_1_V3 : 0) |
	       (__builtin_cpu_supports("x86-64-v4") ? GNU_PROPERTY_X86_ISA_1_V4 : 0);
}

/* How code of a file with these features is mapped: none of them has a bit of mmap(). */
#define GORGON_ARCH_PROPERTY_FEATURES GNU_PROPERTY_X86_FEATURE_1_AND

static inline int gorgon_arch_code_prot(uint32_t features)
{
	(void)features;
	return 0;
}

#endif
