/* SPDX-License-Identifier: MIT */
/**
 * @file
 * gorgon: many private copies of CPython, and of unmodified C extensions, in one
 * process, all of them visible to GDB and LLDB.
 *
 * Words: a *namespace* is one private world; an *object* is one ELF file loaded
 * into it; a *provider* answers symbol names; an *interpreter* is a namespace
 * with a libpython in it, numbered from 0, numbers never reused in a process.
 *
 * Rules that hold for all functions
 * - Errors: a fallible function returns NULL on success or an error object that
 *   the caller releases with gorgon_error_destroy(). Results come through the
 *   last argument, written on success only. After a failure nothing stays
 *   mapped, registered or open that was not before the call. Every fallible
 *   function may return GORGON_ERROR_NOMEM; the other codes stand with it.
 * - Threads: any thread may call any function, unless the function says
 *   otherwise. Whoever destroys, closes or releases something sees to it that
 *   no other thread uses it at that time or later. One process-wide lock orders
 *   loading, unloading and look-ups; constructors, destructors and Python code
 *   run outside it. Do not call this library from a constructor of a library
 *   that the system's linker is loading: the linker holds its own lock then,
 *   and a thread that loads private code waits for that lock with ours held.
 * - Fork: the lock is taken around fork(); the child keeps every namespace.
 *   Of the interpreters only the one whose thread forked can go on running.
 * - Signals: nothing here is async-signal-safe but gorgon_waitpid() with WNOHANG.
 * - Strings that are passed in are copied. Addresses are run-time addresses.
 * - The library never prints and never ends the process.
 * - Structures of options and figures start with their own size, which the caller sets to
 *   sizeof; everything else zero means defaults. They may grow at the end in later versions.
 *   Members that a shorter structure of an older caller does not have are at their defaults. In
 *   a longer structure of a newer caller the bytes that this library does not know must be zero,
 *   or the call fails with GORGON_ERROR_ARGUMENT; figures that it does not know are set to zero.
 *   GORGON_ERROR_ARGUMENT is also the answer to a size that is none, and to a flag or an
 *   enumerator that this library does not know.
 */
#ifndef GORGON_H
#define GORGON_H

#include "gorgon/api.h"
#include "gorgon/errors.h"
#include "gorgon/providers.h"
#include "gorgon/debugging.h"
#include "gorgon/namespaces.h"
#include "gorgon/objects.h"
#include "gorgon/kept.h"
#include "gorgon/dependencies.h"
#include "gorgon/interpreters.h"
#include "gorgon/descriptors.h"
#include "gorgon/calls.h"
#include "gorgon/values.h"
#include "gorgon/pyobjects.h"
#include "gorgon/functions.h"
#include "gorgon/views.h"
#include "gorgon/process.h"
#include "gorgon/faults.h"
#include "gorgon/inspection.h"
#include "gorgon/pools.h"
#include "gorgon/templates.h"
#include "gorgon/arrays.h"

#endif
