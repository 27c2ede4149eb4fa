/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Symfiles that this library has not made. See foreign.c. Internal to jitreg.
 */
#ifndef JITREG_FOREIGN_H
#define JITREG_FOREIGN_H

#include "descriptor.h"

/**
 * Copy a symfile into memory of this library and check it. Fills in the address of the copy
 * and the range of its sections' addresses. Free it with jitreg_foreign_free().
 *
 * @retval -ENOEXEC  no ELF64 object of this machine, or it contradicts itself
 * @retval -ENOMEM
 */
int jitreg_foreign_copy(const void *symfile, uint64_t size, struct jitreg_debug_entry *ret);

void jitreg_foreign_free(struct jitreg_debug_entry *entry);

#endif
