/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_MODULE_H
#define GORGON_MODULE_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- module: a host that is a python3 ----------------------------------- */

/**
 * Create the module that makes the CPython of the process itself a host, for the PyInit function of
 * an extension module to return. The module has the functions for arrays that programs in
 * interpreters have, and those that the Python package `gorgon` is made of. The caller holds the
 * GIL of that CPython.
 *
 * @param find  Answers names of that CPython's C API with their addresses, or NULL; called later,
 *              too, as long as the process runs.
 * @return a new reference to a PyObject, or NULL with a Python exception set. Since 0.1.
 */
GORGON_API void *gorgon_module_create(void *(*find)(const char *name));

#ifdef __cplusplus
}
#endif

#endif
