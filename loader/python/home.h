/* SPDX-License-Identifier: MIT */
/* A thread with descriptors and a current directory of its own, for an interpreter. See home.c. */
#ifndef GORGON_PYTHON_HOME_H
#define GORGON_PYTHON_HOME_H

#include "../gorgon.h"

#include <stdbool.h>

struct gorgon_home;

/*
 * Start the thread: with the caller's name, signal mask and at least its stack, and with copies
 * of the caller's descriptors. GORGON_ERROR_OS: no thread, or the system forbids it descriptors
 * of its own.
 */
struct gorgon_error *gorgon_home_create(struct gorgon_home **ret);

/* Call @fn on it and wait. False: something runs there already, and @fn was not called. */
bool gorgon_home_run(struct gorgon_home *home, void (*fn)(void *ctx), void *ctx);

/* From within: call @fn on the thread that waits in gorgon_home_run(), and wait. */
void gorgon_home_call_back(struct gorgon_home *home, void (*fn)(void *ctx), void *ctx);

/* End it. Nothing runs on it. NULL is ignored. */
void gorgon_home_destroy(struct gorgon_home *home);

#endif
