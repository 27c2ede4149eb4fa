/* SPDX-License-Identifier: MIT */
/**
 * @file What differs from machine to machine: the numbers of the processor's supplement to the ELF
 * documents, and how its code looks. Each machine has a file of its own. On each machine object
 * files of every machine can be read, so these questions are about the machine that a file's header
 * names.
 */
#ifndef JITREG_MACHINE_H
#define JITREG_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitreg_machine {
	uint16_t number;       /**< e_machine */
	uint32_t unwind_type;  /**< The type that .eh_frame may have besides SHT_PROGBITS. */
	/** The relocation that fills a slot of .got.plt with the address of a function, */
	uint32_t jump_slot;
	uint32_t glob_dat;     /**< and the relocation that fills a slot of .got. */
	/** The relocations of DWARF in object files that are not linked, of 64 and of 32 bits. */
	uint32_t absolute_64;
	uint32_t absolute_32;

	/**
	 * Look for an entry of a procedure linkage table. @p slot becomes the address of the slot
	 * that the entry jumps through; 0: no entry begins here.
	 *
	 * @param entry_size  What the section says of the size of its entries, which is not always
	 *                    true.
	 * @return how many bytes further on the next entry may begin, from 1 on; it may be more
	 *         than @p size
	 */
	size_t (*read_plt)(const uint8_t *code, size_t size, uint64_t entry_size, uint64_t vaddr,
			   uint64_t *slot);

	/**
	 * Whether the name of a symbol without a type says that the bytes from the symbol on are
	 * code, or data amid code. NULL: the assembler writes no such symbols.
	 */
	bool (*is_mapping)(const char *name, bool *is_data);

	/** Whether a debugger's breakpoint is at the beginning of a function of this process. */
	bool (*is_breakpoint)(const void *code);
};

extern const struct jitreg_machine jitreg_machine_x86_64, jitreg_machine_aarch64;

/** The machine with the e_machine @p number, or NULL. */
const struct jitreg_machine *jitreg_machine_find(unsigned number);

/* The machine of this process. */
#if defined(__x86_64__)
#define JITREG_HOST         jitreg_machine_x86_64
#define JITREG_HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define JITREG_HOST         jitreg_machine_aarch64
#define JITREG_HOST_MACHINE EM_AARCH64
#else
#error "jitreg: which machine is this? It needs a file in jitreg/machine."
#endif

/* All machines have the same order of bytes. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "jitreg: only machines whose numbers begin with the lowest byte"
#endif
#define JITREG_DATA ELFDATA2LSB

#endif
