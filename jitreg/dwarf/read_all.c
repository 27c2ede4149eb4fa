// SPDX-License-Identifier: MIT
/*
 * All DWARF of a file, with the places where addresses are (fixups.c).
 *
 * LLDB refuses a file that refers to a supplementary file (dwz). Therefore the sections of the supplementary
 * file are put behind the sections of the file (fixups.c moves the references). Macros are left out,
 * since fixups.c does not move their references.
 */
#include "dwarf.h"

#include "file/supplement.h"
#include "fixups.h"

#include <errno.h>

const bool jitreg_has_dwarf = true;

static int append_sections(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement)
{
	static const enum jitreg_dwarf_index appended[] = {
		JITREG_DWARF_INFO, JITREG_DWARF_ABBREV,	  JITREG_DWARF_STR,
		JITREG_DWARF_LINE, JITREG_DWARF_LINE_STR,
	};

	for (size_t i = 0; i < sizeof(appended) / sizeof(*appended); i++) {
		int r = jitreg_dwarf_append(dwarf, supplement, appended[i]);

		if (r)
			return r;
	}
	jitreg_dwarf_drop(dwarf, JITREG_DWARF_MACRO);
	return 0;
}

/* Put the supplementary file that @p object names behind its DWARF. */
static int append_supplement(const struct jitreg_object *object, struct jitreg_dwarf *dwarf, const char **reason)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *file = NULL;
	struct jitreg_dwarf *supplement = NULL;
	int r = jitreg_supplement_open(object, &file);

	*reason = "the supplementary file (dwz) that the debug information refers to is not there";
	if (!r)
		r = jitreg_dwarf_read(file, JITREG_DWARF_ALL, &supplement, reason);
	if (!r)
		r = jitreg_fixups_move(supplement, dwarf, reason);
	if (!r) {
		*reason = "no memory";
		r = append_sections(dwarf, supplement);
	}
	jitreg_dwarf_destroy(supplement);
	return r;
}

int jitreg_dwarf_read_all(const struct jitreg_object *file, struct jitreg_dwarf **ret, const char **reason)
{
	struct jitreg_dwarf *dwarf;
	int r = jitreg_dwarf_read(file, JITREG_DWARF_ALL, &dwarf, reason);

	if (r)
		return r;
	*reason = "the file has no .debug_info";
	r = dwarf->sections[JITREG_DWARF_INFO].bytes ? jitreg_fixups_find(dwarf, reason) : -ENODATA;
	if (!r && dwarf->supplemented)
		r = append_supplement(file, dwarf, reason);
	if (r) {
		jitreg_dwarf_destroy(dwarf);
		return r;
	}
	*ret = dwarf;
	return 0;
}
