/* SPDX-License-Identifier: MIT */
/* A host that is a python3: for the Python package's extension module alone, which is of the same
 * version. See host_python.c. */
#ifndef GORGON_PYTHON_HOST_PYTHON_H
#define GORGON_PYTHON_HOST_PYTHON_H

/*
 * Create the module that makes the CPython of the process itself a host, for the PyInit function of
 * an extension module to return: a new reference to a PyObject, or NULL with a Python exception
 * set. The module has the functions for arrays that programs in interpreters have, and those that
 * the Python package `gorgon` is made of. The caller holds the GIL of that CPython.
 *
 * @find answers names of that CPython's C API with their addresses, or NULL; it is called later,
 * too, as long as the process runs.
 */
__attribute__((visibility("default"))) void *gorgon_module_create(void *(*find)(const char *name));

#endif
