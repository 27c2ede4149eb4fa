// SPDX-License-Identifier: MIT
/*
 * Finding the debug information of an object.
 *
 * A symfile refers to DWARF in a file on disk, by build-id or by name and checksum. With a wrong
 * reference the user does not even have the names that the symfile would have without it. So a file
 * counts as debug information only when it has a compilation unit, and only when it belongs to the
 * object: it has the object's build-id, or the checksum that the object states.
 *
 * A file that defines __jit_debug_register_code (CPython 3.15, LLVM) is no use: GDB takes the name
 * from the detached file but the load bias from the symfile, whose addresses are absolute, and
 * cannot set its breakpoint at the sum (seen in GDB 13; its jit.c, function
 * jit_breakpoint_re_set_internal). After that GDB sets none of its breakpoints. If such a file
 * belongs to the object, GDB is referred to a copy without the two names (debug_copy.c),
 * relocated_lines.c gives its lines to LLDB, and where no copy can be made names.c takes the names
 * of functions from it.
 *
 * Candidates are regular files, inspected with libelf. All of a file's
 * sections are looked at (recognized.c): if GDB does not recognize a file, it shows the user
 * none of the private copies, of this library or another.
 *
 * Not handled: debuginfod, .gnu_debugaltlink (debuggers follow it from the
 * debug file), and what users set as debug-file-directory, which this process cannot
 * know.
 *
 * Specifications: DWARF 5 section 7.5; GDB manual, "Separate Debug Files".
 */
#define _GNU_SOURCE 1
#include "debuginfo.h"

#include "abbrevs.h"
#include "checksum.h"
#include "recognized.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char reason_none[] = "no debug information in the file, and no detached file for it";
static const char reason_malformed[] = "there is no compilation unit in the debug information";
static const char reason_unrecognized[] =
	"GDB would not recognize the file: the header of a section is damaged";
static const char reason_sectionless[] =
	"the file has no section headers, which a detached file would be matched with";
static const char reason_registrar[] =
	"the debug information has names of the GDB JIT interface, which GDB would look for at "
	"their addresses in the file";
static const char reason_unread[] = "the file with the debug information cannot be read to its end";
static const char reason_renamed[] =
	"the file has debug information, but its name is now that of another file";

/* Is there a .debug_info worth looking into? */
static bool has_debug_section(const struct jitreg_object *object)
{
	static const char *const names[] = {".debug_info", ".zdebug_info"};
	GElf_Shdr shdr;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (jitreg_object_find_section(object, names[i], &shdr) && shdr.sh_size)
			return true;
	}
	return false;
}

/* Does .debug_info begin with a unit? */
static bool has_unit(const struct jitreg_object *object)
{
	struct jitreg_dwarf *dwarf;
	struct jitreg_unit_header header;
	struct jitreg_cursor c;
	const char *reason;
	bool found;

	if (jitreg_dwarf_read(object, 1u << JITREG_DWARF_INFO | 1u << JITREG_DWARF_ABBREV, &dwarf,
			      &reason))
		return false;
	c = jitreg_cursor_open(dwarf->sections[JITREG_DWARF_INFO].bytes,
			       dwarf->sections[JITREG_DWARF_INFO].size, 0);
	found = !c.bad && !jitreg_unit_header_read(dwarf, &c, &header) &&
		header.abbrevs < dwarf->sections[JITREG_DWARF_ABBREV].size;
	jitreg_dwarf_destroy(dwarf);
	return found;
}

const char *jitreg_debuginfo_file(const struct jitreg_debug *debug)
{
	return debug->names_path ? debug->names_path : debug->path;
}

struct jitreg_object *jitreg_debuginfo_open_detached(const struct jitreg_debug *debug)
{
	const char *path = debug->kind == JITREG_DEBUG_SELF ? NULL : jitreg_debuginfo_file(debug);
	struct jitreg_object *object = NULL;

	return path && !jitreg_object_open(path, -1, &object) ? object : NULL;
}

bool jitreg_debuginfo_has_registrar(const struct jitreg_debug *debug)
{
	return debug->names_path;
}

bool jitreg_debuginfo_is_of(const struct jitreg_object *object, const struct jitreg_debug *debug)
{
	uint8_t id[JITREG_BUILD_ID_MAX];

	return jitreg_object_build_id(object, id, sizeof(id)) == debug->build_id_size &&
	       !memcmp(id, debug->build_id, debug->build_id_size);
}

/* Does the name that debuggers will open still lead to the file that was mapped? */
static bool is_named_by_path(const struct jitreg_object *object)
{
	struct stat st;

	return !stat(object->path, &st) && st.st_dev == object->st.st_dev &&
	       st.st_ino == object->st.st_ino;
}

/*
 * NULL when the file has DWARF, otherwise the reason why not. @look_into: read the DWARF. A file in
 * the folder of build-ids is known to be a debug file, and to inflate a libpython's DWARF takes a
 * tenth of a second.
 */
static const char *debuginfo_judge(const struct jitreg_object *object, bool look_into)
{
	const char *reason = NULL;

	if (!has_debug_section(object))
		return reason_none;
	if (!jitreg_object_is_recognized(object))
		return reason_unrecognized;
	if (look_into && !has_unit(object))
		reason = reason_malformed;
	if (!jitreg_object_is_intact(object))
		return reason_malformed; // what was read was another file
	return !reason && jitreg_names_have_registrar(object) ? reason_registrar : reason;
}

/* Remember the first file with names that belongs to the object. If there is no memory for that, no
 * file is remembered. */
static const char *keep_names(struct jitreg_debug *debug, const char *path, const char *reason)
{
	if (reason == reason_registrar && !debug->names_path)
		debug->names_path = strdup(path);
	return reason;
}

static const char *try_self(const struct jitreg_object *object, struct jitreg_debug *debug,
			    uint32_t *crc)
{
	const char *reason = debuginfo_judge(object, true);

	if (reason && reason != reason_registrar)
		return reason;
	if (!is_named_by_path(object))
		return reason_renamed;
	if (reason)
		return keep_names(debug, object->path, reason);
	if (crc && (jitreg_checksum(object, crc) || !jitreg_object_is_intact(object)))
		return reason_unread;
	debug->path = strdup(object->path);
	debug->kind = JITREG_DEBUG_SELF;
	return NULL;
}

char *jitreg_debuginfo_build_id_path(const uint8_t *id, size_t size)
{
	static const char head[] = JITREG_DEBUG_DIR "/.build-id/";
	char *path = malloc(sizeof(head) + size * 2 + sizeof("/.debug"));
	char *at = path;

	if (!path)
		return NULL;
	at += sprintf(at, "%s%02x/", head, id[0]);
	for (size_t i = 1; i < size; i++)
		at += sprintf(at, "%02x", id[i]);
	strcpy(at, ".debug");
	return path;
}

static const char *try_build_id(const struct jitreg_object *object, struct jitreg_debug *debug)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *candidate = NULL;
	uint8_t id[JITREG_BUILD_ID_MAX];
	const char *reason;
	char *path;

	if (debug->build_id_size < 2)
		return reason_none;
	path = jitreg_debuginfo_build_id_path(debug->build_id, debug->build_id_size);
	if (!path || jitreg_object_open(path, -1, &candidate)) {
		free(path);
		return reason_none;
	}
	if (candidate->machine != object->machine ||
	    jitreg_object_build_id(candidate, id, sizeof(id)) != debug->build_id_size ||
	    memcmp(id, debug->build_id, debug->build_id_size) != 0)
		reason = reason_none;
	else
		reason = keep_names(debug, path, debuginfo_judge(candidate, false));
	if (reason) {
		free(path);
		return reason;
	}
	debug->path = path;
	debug->kind = JITREG_DEBUG_BUILD_ID;
	return NULL;
}

/* .gnu_debuglink: file name, NUL, padding to four bytes, checksum. */
static char *read_debuglink(const struct jitreg_object *object, uint32_t *crc)
{
	size_t name_size, crc_off;
	GElf_Shdr shdr;
	char *link;

	if (!jitreg_object_find_section(object, ".gnu_debuglink", &shdr) || shdr.sh_size < 8 ||
	    shdr.sh_size > PATH_MAX)
		return NULL;
	link = malloc(shdr.sh_size);
	if (!link || jitreg_object_read(object, shdr.sh_offset, link, shdr.sh_size)) {
		free(link);
		return NULL;
	}
	name_size = strnlen(link, shdr.sh_size);
	crc_off = (name_size + 4) & ~(size_t)3;
	// the file is searched for, so a name with a directory in it is not followed
	if (!name_size || !jitreg_range_ok(crc_off, sizeof(*crc), shdr.sh_size) ||
	    strchr(link, '/')) {
		free(link);
		return NULL;
	}
	memcpy(crc, link + crc_off, sizeof(*crc));
	return link;
}

static const char *try_link_candidate(const struct jitreg_object *object, char *path,
				      uint32_t want, struct jitreg_debug *debug)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *candidate = NULL;
	const char *reason;
	uint32_t crc;

	if (jitreg_object_open(path, -1, &candidate) || candidate->machine != object->machine)
		return reason_none;
	if (candidate->st.st_dev == object->st.st_dev && candidate->st.st_ino == object->st.st_ino)
		return reason_none; // the name leads to the object itself
	reason = debuginfo_judge(candidate, true);
	if (reason && reason != reason_registrar)
		return reason;
	if (jitreg_checksum(candidate, &crc) || !jitreg_object_is_intact(candidate))
		return reason_unread;
	if (crc != want)
		return reason_none;
	if (reason)
		return keep_names(debug, path, reason);
	debug->path = path;
	debug->kind = JITREG_DEBUG_LINK;
	return NULL;
}

static const char *try_link(const struct jitreg_object *object, struct jitreg_debug *debug,
			    uint32_t *ret)
{
	static const char *const formats[] = {"%.*s/%s", "%.*s/.debug/%s",
					      JITREG_DEBUG_DIR "%.*s/%s"};
	const char *reason = reason_none, *of_candidate;
	char *link, *real, *path;
	uint32_t crc;
	int dir_size;

	link = read_debuglink(object, &crc);
	// like debuggers, search beside the file itself and not beside a symbolic link
	real = link ? realpath(object->path, NULL) : NULL;
	if (!real) {
		free(link);
		return reason_none;
	}
	dir_size = (int)(strrchr(real, '/') - real);
	for (size_t i = 0; reason && i < sizeof(formats) / sizeof(*formats); i++) {
		if (asprintf(&path, formats[i], dir_size, real, link) < 0)
			break;
		of_candidate = try_link_candidate(object, path, crc, debug);
		if (of_candidate)
			free(path);
		if (of_candidate != reason_none)
			reason = of_candidate;
	}
	if (!reason && ret)
		*ret = crc;
	free(real);
	free(link);
	return reason;
}

int jitreg_debuginfo_find(const struct jitreg_object *object, struct jitreg_debug *ret,
			  uint32_t *crc)
{
	struct jitreg_debug debug = {.kind = JITREG_DEBUG_NAMES};
	const char *reason, *first;

	if (crc)
		*crc = 0;
	debug.build_id_size =
		jitreg_object_build_id(object, debug.build_id, sizeof(debug.build_id));

	// GDB moves each section of a detached file to where the section of the same
	// name is; sections that are made up lie elsewhere and would shift all lines and functions
	if (object->sectionless) {
		debug.reason = reason_sectionless;
		*ret = debug;
		return 0;
	}

	// the caller is told the first reason that says more than "nothing there"
	first = try_self(object, &debug, crc);
	reason = first ? try_build_id(object, &debug) : NULL;
	if (first == reason_none)
		first = reason;
	reason = reason ? try_link(object, &debug, crc) : NULL;
	if (first == reason_none)
		first = reason;

	if (debug.kind == JITREG_DEBUG_NAMES) {
		debug.reason = first;
	} else if (!debug.path) {
		jitreg_debug_deinit(&debug);
		return -ENOMEM;
	}
	*ret = debug;
	return 0;
}

int jitreg_find_debug(const char *path, int fd, struct jitreg_debug *ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	int r;

	if (path[0] != '/')
		return -EINVAL;
	r = jitreg_object_open(path, fd, &object);
	if (r)
		return r;
	return jitreg_debuginfo_find(object, ret, NULL);
}

void jitreg_debug_deinit(struct jitreg_debug *debug)
{
	free(debug->path);
	free(debug->names_path);
	*debug = (struct jitreg_debug){0};
}
