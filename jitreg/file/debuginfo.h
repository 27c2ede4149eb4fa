/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Where the DWARF of an object is. Internal; the public face is jitreg_find_debug().
 */
#ifndef JITREG_DEBUGINFO_H
#define JITREG_DEBUGINFO_H

#include "jitreg.h"
#include "object.h"

#include <stdint.h>

/** The directory compiled into gdb as `debug-file-directory`. */
#ifndef JITREG_DEBUG_DIR
#define JITREG_DEBUG_DIR "/usr/lib/debug"
#endif

/**
 * Look in the file itself, by build-id, then by .gnu_debuglink: the order in which
 * GDB takes them.
 *
 * @param[out] ret  Set on success only; release with jitreg_debug_deinit().
 * @param[out] crc  Checksum of the file for kinds SELF and LINK, otherwise of no meaning. NULL: it
 *                  is not wanted; to compute it takes the whole file.
 */
int jitreg_debuginfo_find(const struct jitreg_object *object, struct jitreg_debug *ret,
			  uint32_t *crc);

/** The name of the file with the DWARF or the names of an object; NULL: there is none. If debuggers
 * are referred to a copy of the file, the name is that of the file. */
const char *jitreg_debuginfo_file(const struct jitreg_debug *debug);

/** Open the detached file of an object, for the names in it, referred to or not. NULL: there is
 * none. */
struct jitreg_object *jitreg_debuginfo_open_detached(const struct jitreg_debug *debug);

/** Whether there is DWARF, which debuggers are not referred to because its file, @c names_path, has
 * names of the GDB JIT interface. */
bool jitreg_debuginfo_has_registrar(const struct jitreg_debug *debug);

/** Whether a file has the build-id of the object that @p debug is about. */
bool jitreg_debuginfo_is_of(const struct jitreg_object *object, const struct jitreg_debug *debug);

/** malloc()ed name of the file that has a build-id, two bytes at least:
 * DIR/.build-id/ab/cdef.debug. */
char *jitreg_debuginfo_build_id_path(const uint8_t *id, size_t size);

#endif
