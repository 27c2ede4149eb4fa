// SPDX-License-Identifier: MIT
/*
 * Symfiles with functions and lines inside: what plain LLDB needs for breakpoints by file and line,
 * for static functions and for steps.
 *
 * GDB finds the lines of a pack in its companion, and the lines of a single library in the
 * library's DWARF. LLDB uses neither: it wants final addresses. So each symfile that is made while
 * LLDB traces this process has the lines of lines.c inside, some 2 MB for a copy of libpython.
 * Processes that LLDB does not trace have no such cost.
 *
 * Objects that were registered before LLDB attached have names only. The scripts add the files of
 * chosen copies.
 */
#include "relocated_lines.h"

#include "descriptor.h"
#include "library_lines.h"
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_library(struct jitreg_lines *lines, const struct jitreg_model *library,
		       uint64_t delta)
{
	struct jitreg_lines more;
	int r = jitreg_library_lines_find(library, &more);

	if (!r)
		r = jitreg_lines_append(lines, &more, delta);
	jitreg_lines_deinit(&more);
	return r;
}

static int read_lines(const struct jitreg_model *model, struct jitreg_dwarf **ret)
{
	struct jitreg_lines lines = {0};
	int r = model->members ? 0 : add_library(&lines, model, 0);

	for (size_t i = 0; !r && i < model->member_count; i++)
		r = add_library(&lines, model->members[i].model, model->members[i].delta);
	if (!r)
		r = jitreg_lines_make_dwarf(&lines, ret);
	jitreg_lines_deinit(&lines);
	return r;
}

/* Look what the model has. When two threads have made the same DWARF outside the lock, what the
 * first thread has made stays, and the other is destroyed. */
static const struct jitreg_dwarf *share(struct jitreg_dwarf **slot, struct jitreg_dwarf *dwarf)
{
	const struct jitreg_dwarf *ret;

	jitreg_lock();
	if (!*slot) {
		*slot = dwarf;
		dwarf = NULL;
	}
	ret = *slot;
	jitreg_unlock();
	jitreg_dwarf_destroy(dwarf);
	return ret;
}

static int find_lines(struct jitreg_model *model, const struct jitreg_dwarf **ret)
{
	struct jitreg_dwarf *lines;
	int r;

	*ret = share(&model->lines, NULL);
	if (*ret)
		return 0;
	r = read_lines(model, &lines);
	if (!r)
		*ret = share(&model->lines, lines);
	return r;
}

int jitreg_relocated_lines_create(struct jitreg_model *model, const void *symfile,
				  uint64_t bias, struct jitreg_relocated *ret)
{
	const struct jitreg_dwarf *lines;
	int r = find_lines(model, &lines);

	return r ? r : jitreg_relocated_create(symfile, lines, bias, ret);
}
