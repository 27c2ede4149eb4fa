/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_MODULE_H
#define GORGON_MODULE_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- module: a host that is a python3 ----------------------------------- */

/**
 * The module that makes a CPython, the one that the process itself runs, a host: an extension
 * module's PyInit function returns it. It has the functions for arrays that programs inside
 * have, and what the Python package `gorgon` is made from. The caller holds the GIL.
 *
 * @param find  Answers names of that CPython's C API, at any time later, too.
 * @return a new PyObject, or NULL with a Python exception set. Since 0.1.
 */
GORGON_API void *gorgon_module_create(void *(*find)(const char *name));

#ifdef __cplusplus
}
#endif

#endif
