/* SPDX-License-Identifier: MIT */
/* libdwarf, loaded when it is needed. Internal to jitreg. See load_libdwarf.c. */
#ifndef JITREG_LOAD_LIBDWARF_H
#define JITREG_LOAD_LIBDWARF_H

#include <libdwarf/libdwarf.h>

#define JITREG_LIBDWARF_SONAME "libdwarf.so.1"

/* The functions in use, declared by libdwarf's own header. */
#define JITREG_LIBDWARF_FUNCTIONS(X)                                                               \
	X(dwarf_attr_offset)                                                                       \
	X(dwarf_attrlist)                                                                          \
	X(dwarf_child)                                                                             \
	X(dwarf_basic_crc32)                                                                       \
	X(dwarf_crc32)                                                                             \
	X(dwarf_dealloc)                                                                           \
	X(dwarf_finish)                                                                            \
	X(dwarf_get_form_class)                                                                    \
	X(dwarf_get_section_info_by_name)                                                          \
	X(dwarf_init_path)                                                                         \
	X(dwarf_next_cu_header_d)                                                                  \
	X(dwarf_siblingof_b)                                                                       \
	X(dwarf_whatattr)                                                                          \
	X(dwarf_whatform)

struct jitreg_libdwarf {
	void *handle;
#define JITREG_LIBDWARF_DECLARE(name) typeof(&name) name;
	JITREG_LIBDWARF_FUNCTIONS(JITREG_LIBDWARF_DECLARE)
#undef JITREG_LIBDWARF_DECLARE
};

/** The library, or NULL when it could not be loaded. Never called under jitreg_lock(). */
const struct jitreg_libdwarf *jitreg_libdwarf_get(void);

/** Free what a call that failed has left; NULL is ignored. */
void jitreg_libdwarf_drop_error(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg,
				Dwarf_Error error);

#endif
