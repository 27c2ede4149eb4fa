/* SPDX-License-Identifier: MIT */
/* libdwarf, loaded when it is needed. Internal to jitreg. See load_libdwarf.c. */
#ifndef JITREG_LOAD_LIBDWARF_H
#define JITREG_LOAD_LIBDWARF_H

#include <libdwarf/libdwarf.h>
#include <stdbool.h>

#define JITREG_LIBDWARF_SONAME "libdwarf.so.1"

/* The functions in use, declared by libdwarf's own header. */
#define JITREG_LIBDWARF_FUNCTIONS(X)                                                               \
	X(dwarf_attr_offset)                                                                       \
	X(dwarf_attrlist)                                                                          \
	X(dwarf_child)                                                                             \
	X(dwarf_basic_crc32)                                                                       \
	X(dwarf_dealloc)                                                                           \
	X(dwarf_get_form_class)                                                                    \
	X(dwarf_get_section_info_by_name)                                                          \
	X(dwarf_next_cu_header_d)                                                                  \
	X(dwarf_siblingof_b)                                                                       \
	X(dwarf_whatattr)                                                                          \
	X(dwarf_whatform)

struct jitreg_libdwarf {
	void *handle;
	void *init_path, *finish; /* see jitreg_libdwarf_open() */
	bool is_old;
#define JITREG_LIBDWARF_DECLARE(name) typeof(&name) name;
	JITREG_LIBDWARF_FUNCTIONS(JITREG_LIBDWARF_DECLARE)
#undef JITREG_LIBDWARF_DECLARE
};

/** The library, or NULL when it could not be loaded. Never called under jitreg_lock(). */
const struct jitreg_libdwarf *jitreg_libdwarf_get(void);

/**
 * Open a file by name, and close it: dwarf_init_path() and dwarf_finish(), which lost arguments in
 * late 2021. Debian's soname stayed, so the library that is loaded decides, not the header.
 */
int jitreg_libdwarf_open(const struct jitreg_libdwarf *lib, const char *path, Dwarf_Debug *ret,
			 Dwarf_Error *error);
void jitreg_libdwarf_close(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg);

/** Free what a call that failed has left; NULL is ignored. */
void jitreg_libdwarf_drop_error(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg,
				Dwarf_Error error);

#endif
