/* SPDX-License-Identifier: MIT */
/**
 * @file
 * What differs from machine to machine: the numbers of the processor's supplement to the ELF documents, and how its code
 * looks. Each machine has a file of its own. Object files of all of these machines are read on all of them, so a file's
 * header says which machine counts.
 */
#ifndef JITREG_MACHINE_H
#define JITREG_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitreg_machine {
	uint16_t number;       /**< e_machine */
	uint32_t unwind_type;  /**< The type that .eh_frame may have; SHT_PROGBITS it may have on all machines. */
	uint32_t jump_slot;    /**< The relocations that fill a slot with the address of a function: its own table's, */
	uint32_t glob_dat;     /**< and another table's. */
	uint32_t absolute_64;  /**< The relocations of DWARF in object files that are not linked. */
	uint32_t absolute_32;

	/**
	 * Look at an entry of a procedure linkage table. Its slot, which the entry jumps through, goes to @p slot, or 0: no
	 * entry begins here.
	 *
	 * @param entry_size  What the section says of the size of its entries, which is not always true.
	 * @return how many bytes further on the next entry may begin, from 1 on; it may be more than @p size
	 */
	size_t (*read_plt)(const uint8_t *code, size_t size, uint64_t entry_size, uint64_t vaddr, uint64_t *slot);

	/**
	 * Whether a symbol without a type says of the bytes from there on that they are code, or data amid code.
	 * NULL: the assembler writes no such symbols.
	 */
	bool (*is_mapping)(const char *name, bool *is_data);

	/** Whether a debugger's breakpoint is at the beginning of a function of this process. */
	bool (*is_breakpoint)(const void *code);
};

extern const struct jitreg_machine jitreg_machine_x86_64, jitreg_machine_aarch64;

/** The machine with this e_machine, or NULL. */
const struct jitreg_machine *jitreg_machine_find(unsigned number);

/* This process's own. */
#if defined(__x86_64__)
#define JITREG_HOST         jitreg_machine_x86_64
#define JITREG_HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define JITREG_HOST         jitreg_machine_aarch64
#define JITREG_HOST_MACHINE EM_AARCH64
#else
#error "jitreg: which machine is this? It needs a file in jitreg/machine."
#endif

/* The order of bytes of all of them. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "jitreg: only machines whose numbers begin with the lowest byte"
#endif
#define JITREG_DATA ELFDATA2LSB

#endif
