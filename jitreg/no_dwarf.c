// SPDX-License-Identifier: MIT
/*
 * Instead of dwarf/ in a build without it (DWARF=no). Debuggers then have names, unwind data and, in
 * GDB, what refers to DWARF on disk; LLDB has no lines or variables of copies.
 */
#include "dwarf/dwarf.h"

#include <errno.h>

const bool jitreg_has_dwarf = false;

int jitreg_dwarf_read_all(const struct jitreg_object *file, struct jitreg_dwarf **ret, const char **reason)
{
	(void)file;
	(void)ret;
	*reason = "this libjitreg was built without DWARF in symfiles (DWARF=no)";
	return -EOPNOTSUPP;
}

int jitreg_dwarf_write_symfile(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias, void *to,
			       size_t *size)
{
	(void)symfile;
	(void)dwarf;
	(void)bias;
	(void)to;
	(void)size;
	return -EOPNOTSUPP;
}
