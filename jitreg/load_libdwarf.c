// SPDX-License-Identifier: MIT
/*
 * Loading libdwarf.
 *
 * It is loaded when the first debug information turns up and stays loaded. Three things
 * need care:
 *  - libdw exports 34 of the same names, and may already be in the process with
 *    global scope. RTLD_DEEPBIND makes libdwarf prefer its own. The sanitizers
 *    refuse that flag, so it is left out when the runtime of one is present.
 *  - dlopen() takes the dynamic linker's lock and may run while another thread,
 *    inside a constructor, holds that lock and wants ours. So no lock of ours is
 *    held here; two threads may both load the library, and the second one to
 *    finish drops its reference again.
 *  - of two functions there are two kinds, which have the same names. dwarf_init() went
 *    when the newer ones came.
 */
#define _GNU_SOURCE 1
#include "load_libdwarf.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

typedef int init_path(const char *path, char *real_path, unsigned int real_size,
		      unsigned int group, Dwarf_Handler handler, Dwarf_Ptr handler_arg,
		      Dwarf_Debug *ret, Dwarf_Error *error);
typedef int init_path_old(const char *path, char *real_path, unsigned int real_size,
			  Dwarf_Unsigned access, unsigned int group, Dwarf_Handler handler,
			  Dwarf_Ptr handler_arg, Dwarf_Debug *ret, char *reserved1,
			  Dwarf_Unsigned reserved2, Dwarf_Unsigned *reserved3, Dwarf_Error *error);
typedef int finish(Dwarf_Debug dbg);
typedef int finish_old(Dwarf_Debug dbg, Dwarf_Error *error);

static struct jitreg_libdwarf *loaded; // set once, atomically

static bool resolve_functions(struct jitreg_libdwarf *lib)
{
#define RESOLVE(name)                                                                              \
	lib->name = (typeof(lib->name))dlsym(lib->handle, #name);                                  \
	if (!lib->name)                                                                            \
		return false;
	JITREG_LIBDWARF_FUNCTIONS(RESOLVE)
#undef RESOLVE
	lib->init_path = dlsym(lib->handle, "dwarf_init_path");
	lib->finish = dlsym(lib->handle, "dwarf_finish");
	lib->is_old = dlsym(lib->handle, "dwarf_init");
	return lib->init_path && lib->finish;
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

int jitreg_libdwarf_open(const struct jitreg_libdwarf *lib, const char *path, Dwarf_Debug *ret,
			 Dwarf_Error *error)
{
	if (lib->is_old) // 0: for reading
		return ((init_path_old *)lib->init_path)(path, NULL, 0, 0, DW_GROUPNUMBER_ANY, NULL,
							 NULL, ret, NULL, 0, NULL, error);
	return ((init_path *)lib->init_path)(path, NULL, 0, DW_GROUPNUMBER_ANY, NULL, NULL, ret,
					     error);
}

void jitreg_libdwarf_close(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg)
{
	if (lib->is_old)
		((finish_old *)lib->finish)(dbg, NULL);
	else
		((finish *)lib->finish)(dbg);
}

void jitreg_libdwarf_drop_error(const struct jitreg_libdwarf *lib, Dwarf_Debug dbg,
				Dwarf_Error error)
{
	if (error)
		lib->dwarf_dealloc(dbg, error, DW_DLA_ERROR);
}
