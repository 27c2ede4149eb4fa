// SPDX-License-Identifier: MIT
/*
 * Loading libdwarf.
 *
 * It is loaded when the first debug information turns up and stays loaded. Two things
 * need care:
 *  - libdw exports 34 of the same names, and may already be in the process with
 *    global scope. RTLD_DEEPBIND makes libdwarf prefer its own. The sanitizers
 *    refuse that flag, so it is left out when the runtime of one is present.
 *  - dlopen() takes the dynamic linker's lock and may run while another thread,
 *    inside a constructor, holds that lock and wants ours. So no lock of ours is
 *    held here; two threads may both load the library, and the second one to
 *    finish drops its reference again.
 */
#define _GNU_SOURCE 1
#include "load_libdwarf.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

static struct jitreg_libdwarf *loaded; // set once, atomically

static bool resolve_functions(struct jitreg_libdwarf *lib)
{
#define RESOLVE(name)                                                                              \
	lib->name = (typeof(lib->name))dlsym(lib->handle, #name);                                  \
	if (!lib->name)                                                                            \
		return false;
	JITREG_LIBDWARF_FUNCTIONS(RESOLVE)
#undef RESOLVE
	return true;
}

static struct jitreg_libdwarf *load(void)
{
	int flags = RTLD_NOW | RTLD_LOCAL;
	struct jitreg_libdwarf *lib;

	if (!dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace"))
		flags |= RTLD_DEEPBIND;
	lib = calloc(1, sizeof(*lib));
	if (!lib)
		return NULL;
	lib->handle = dlopen(JITREG_LIBDWARF_SONAME, flags);
	if (lib->handle && resolve_functions(lib))
		return lib;
	if (lib->handle)
		dlclose(lib->handle);
	free(lib);
	return NULL;
}

const struct jitreg_libdwarf *jitreg_libdwarf_get(void)
{
	struct jitreg_libdwarf *lib = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
	struct jitreg_libdwarf *first = NULL;

	if (lib)
		return lib;
	lib = load();
	if (!lib)
		return NULL;
	if (__atomic_compare_exchange_n(&loaded, &first, lib, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return lib;
	dlclose(lib->handle); // another thread was faster; the handle is counted
	free(lib);
	return first;
}

void jitreg_libdwarf_drop_error(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg,
				Dwarf_Error error)
{
	if (error)
		lib->dwarf_dealloc(dbg, error, DW_DLA_ERROR);
}
