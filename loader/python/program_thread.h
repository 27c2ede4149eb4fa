/* SPDX-License-Identifier: MIT */
/* A thread with descriptors and a current directory of its own, for a program. See
 * program_thread.c. */
#ifndef GORGON_PYTHON_PROGRAM_THREAD_H
#define GORGON_PYTHON_PROGRAM_THREAD_H

#include "gorgon.h"

/*
 * Call @fn on a thread with the caller's name and signal mask, at least its stack, and copies of
 * its descriptors; wait for its end. GORGON_ERROR_OS: no thread, or the system forbids it
 * descriptors of its own; then @fn was not called.
 */
struct gorgon_error *gorgon_program_thread_run(void (*fn)(void *ctx), void *ctx);

#endif
