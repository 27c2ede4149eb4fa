// SPDX-License-Identifier: MIT
/*
 * Supplementary files: dwz moves what several debug files have in common, types mostly and
 * names, into one file, which .gnu_debugaltlink names by path and build-id.
 *
 * LLDB refuses a file that refers to another one. Therefore the sections of the other one
 * are put behind those of the first (fixups.c moves the references). Macros are left out,
 * since they have references that nobody moves.
 *
 * Not handled: DWARF 5's own way, .debug_sup.
 *
 * Specification: DWARF 5 section 7.3.6; the GNU extension is described with it.
 */
#define _GNU_SOURCE 1
#include "supplement.h"

#include "debuginfo.h"
#include "fixups.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
	char *name;
	const uint8_t *build_id; // behind the name
	size_t build_id_size;
};

/* .gnu_debugaltlink: file name, NUL, build-id. */
static int read_link(const struct jitreg_object *object, struct link *ret)
{
	GElf_Shdr shdr;
	size_t name_size;

	if (!jitreg_object_find_section(object, ".gnu_debugaltlink", &shdr) ||
	    shdr.sh_size > PATH_MAX + JITREG_BUILD_ID_MAX)
		return -ENOENT;
	ret->name = calloc(1, shdr.sh_size + 1);
	if (!ret->name)
		return -ENOMEM;
	name_size = jitreg_object_read(object, shdr.sh_offset, ret->name, shdr.sh_size)
			    ? 0
			    : strlen(ret->name);
	if (!name_size || name_size + 3 > shdr.sh_size) {
		free(ret->name);
		return -ENOENT;
	}
	ret->build_id = (const uint8_t *)ret->name + name_size + 1;
	ret->build_id_size = shdr.sh_size - name_size - 1;
	return 0;
}

/* A relative name counts from the real place of the file that has it. */
static char *format_path(const struct jitreg_object *object, const char *name)
{
	char *real, *path;
	int r;

	if (name[0] == '/')
		return strdup(name);
	real = realpath(object->path, NULL);
	if (!real)
		return NULL;
	r = asprintf(&path, "%.*s/%s", (int)(strrchr(real, '/') - real), real, name);
	free(real);
	return r < 0 ? NULL : path;
}

/* Open a candidate that has the build-id. Takes @path. */
static int open_candidate(char *path, const struct link *link, struct jitreg_object **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *candidate = NULL;
	uint8_t id[JITREG_BUILD_ID_MAX];
	int r = path ? jitreg_object_open(path, -1, &candidate) : -ENOMEM;

	free(path);
	if (r)
		return r;
	if (jitreg_object_build_id(candidate, id, sizeof(id)) != link->build_id_size ||
	    memcmp(id, link->build_id, link->build_id_size) != 0)
		return -ENOENT;
	*ret = candidate;
	candidate = NULL; // now the caller's
	return 0;
}

int jitreg_supplement_open(const struct jitreg_object *object, struct jitreg_object **ret)
{
	struct link link;
	int r = read_link(object, &link);

	if (r)
		return r;
	r = open_candidate(format_path(object, link.name), &link, ret);
	if (r && r != -ENOMEM)
		r = open_candidate(
			jitreg_debuginfo_build_id_path(link.build_id, link.build_id_size), &link,
			ret);
	free(link.name);
	return r == -ENOMEM ? r : r ? -ENOENT : 0;
}

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

int jitreg_supplement_append(const struct jitreg_object *object, struct jitreg_dwarf *dwarf,
			     const char **reason)
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
