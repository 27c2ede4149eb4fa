// SPDX-License-Identifier: MIT
// The extension module of the package: libgorgon's, for this CPython. python3 may be linked
// statically, so its C API is looked up where this module's own references would be bound.

#define _GNU_SOURCE
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <dlfcn.h>
#include <python/host_python.h>

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

PyMODINIT_FUNC PyInit__gorgon(void)
{
	return gorgon_module_create(find);
}
