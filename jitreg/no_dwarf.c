// SPDX-License-Identifier: MIT
/*
 * What a build without dwarf/ has in its place (DWARF=no). Symfiles then have names and unwind data, and refer to
 * DWARF on disk, which GDB follows; LLDB has no lines or variables of copies.
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
