/* SPDX-License-Identifier: MIT */
/**
 * @file
 * DWARF inside symfiles, for LLDB: the functions of this folder that the rest of jitreg calls. A build without the
 * folder (DWARF=no) has ../no_dwarf.c instead.
 */
#ifndef JITREG_DWARF_DWARF_H
#define JITREG_DWARF_DWARF_H

#include "file/dwarf_sections.h"

/** False in a build without this folder, where the functions below fail. */
extern const bool jitreg_has_dwarf;

/**
 * Read all DWARF of a debug file, and find the addresses in it. See read_all.c.
 *
 * @param[out] ret     Release with jitreg_dwarf_destroy().
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -ENODATA     the file has no DWARF
 * @retval -EOPNOTSUPP  not in this build; split DWARF, or something unknown
 * @retval -ENOEXEC     malformed
 * @retval -ENOENT      the file refers to a supplementary file that is not there
 * @retval -ENOMEM
 */
int jitreg_dwarf_read_all(const struct jitreg_object *file, struct jitreg_dwarf **ret, const char **reason);

/**
 * Write the symfile of one copy with DWARF from the symfile without. See symfile_writer.c.
 *
 * @param      to    NULL: only measure.
 * @param[out] size  Set on success.
 *
 * @retval -EOPNOTSUPP  not in this build
 * @retval -ENOEXEC     the symfile has no place for DWARF
 * @retval -ENOMEM
 */
int jitreg_dwarf_write_symfile(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias, void *to,
			       size_t *size);

#endif
