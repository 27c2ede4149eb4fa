// SPDX-License-Identifier: MIT
/*
 * Supplementary files: dwz moves what several debug files have in common, types mostly and
 * names, into one file, which .gnu_debugaltlink names by path and build-id.
 *
 * Not handled: DWARF 5's own way, .debug_sup.
 *
 * Specification: DWARF 5 section 7.3.6; the GNU extension is described with it.
 */
#define _GNU_SOURCE 1
#include "supplement.h"

#include "debuginfo.h"

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
