// SPDX-License-Identifier: MIT
/*
 * Symfiles with all DWARF inside: what gives LLDB lines, variables and types of a copy.
 *
 * LLDB does not move the DWARF of another file to where a copy is. It does take DWARF
 * from the symfile when every address in it is final. That costs as much memory as the
 * file has DWARF, in the process and again in LLDB, for each copy. So such symfiles are made
 * on request, for chosen copies.
 *
 * The DWARF of a file is read, and its addresses are found, once (dwarf/read_all.c); both are kept with the
 * template. The symfile of a copy is written from them (dwarf/symfile_writer.c).
 */
#include "relocated.h"

#include "arena.h"
#include "descriptor.h"
#include "dwarf/dwarf.h"
#include "file/debuginfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- per file ----------------------------------------------------------------------- */

/* Open the file that has the DWARF. It is looked for again: it may have gone or changed meanwhile. */
static int open_debug_file(const struct jitreg_template *template, struct jitreg_object **ret,
			   const char **reason)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_debug debug;
	int r = jitreg_object_open(template->path, -1, &object);

	*reason = "the library's file cannot be opened any more";
	if (r)
		return r;
	*reason = "the library's file has changed since it was registered";
	if (!jitreg_stat_is_same(&template->st, &object->st))
		return -ESTALE;
	*reason = "no memory";
	r = jitreg_debuginfo_find(object, &debug, NULL);
	if (r)
		return r;
	if (!jitreg_debuginfo_file(&debug)) {
		*reason = debug.reason;
		r = -ENODATA;
	} else {
		*reason = "the file with the debug information cannot be opened";
		r = jitreg_object_open(jitreg_debuginfo_file(&debug), -1, ret);
	}
	jitreg_debug_deinit(&debug);
	return r;
}

static int read_dwarf(const struct jitreg_template *template, struct jitreg_dwarf **ret,
		      const char **reason)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *file = NULL;
	int r = open_debug_file(template, &file, reason);

	return r ? r : jitreg_dwarf_read_all(file, ret, reason);
}

const struct jitreg_dwarf *jitreg_relocated_share(struct jitreg_dwarf **slot, struct jitreg_dwarf *dwarf)
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

int jitreg_relocated_find_dwarf(struct jitreg_template *template, const struct jitreg_dwarf **ret,
				const char **reason)
{
	struct jitreg_dwarf *dwarf;
	int r;

	*ret = jitreg_relocated_share(&template->dwarf, NULL);
	if (*ret)
		return 0;
	r = read_dwarf(template, &dwarf, reason);
	if (!r)
		*ret = jitreg_relocated_share(&template->dwarf, dwarf);
	return r;
}

/* ---- per copy ----------------------------------------------------------------------- */

int jitreg_relocated_create(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			    struct jitreg_relocated *ret)
{
	struct jitreg_relocated made;
	int r = jitreg_dwarf_write_symfile(symfile, dwarf, bias, NULL, &made.size);

	if (r)
		return r;
	jitreg_lock();
	made.bytes = jitreg_arena_alloc(made.size);
	jitreg_unlock();
	if (!made.bytes)
		return -ENOMEM;
	r = jitreg_dwarf_write_symfile(symfile, dwarf, bias, made.bytes, &made.size);
	if (!r)
		r = jitreg_arena_protect(made.bytes, made.size, PROT_READ);
	if (r)
		jitreg_relocated_destroy(&made);
	else
		*ret = made;
	return r;
}

void jitreg_relocated_destroy(struct jitreg_relocated *relocated)
{
	if (!relocated->bytes)
		return;
	jitreg_lock();
	jitreg_arena_free(relocated->bytes, relocated->size);
	jitreg_unlock();
	relocated->bytes = NULL;
}
