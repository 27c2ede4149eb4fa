/* SPDX-License-Identifier: MIT */
/*
 * The C API of one interpreter.
 *
 * libgorgon is linked to no libpython. Of CPython's headers only structures of the stable
 * ABI (PEP 384) are used, and every function and object is taken by its address in the
 * interpreter's own copy. So of the headers' macros only those serve that call nothing.
 */
#ifndef GORGON_PYTHON_API_H
#define GORGON_PYTHON_API_H

#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "interp.h"

/* One function or variable of this interpreter's C API, typed as the header declares it. */
#define API(interp, name) ((__typeof__(&name))gorgon_interp_find_symbol(interp, #name))

#endif
