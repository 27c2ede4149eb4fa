/* SPDX-License-Identifier: MIT */
/* A folder of this process for files that must not outlive it. See folder.c. */
#ifndef GORGON_ISOLATE_FOLDER_H
#define GORGON_ISOLATE_FOLDER_H

#include "gorgon.h"

/*
 * The folder, made when it is first asked for; a forked child gets one of its own. The caller
 * sees to it that one thread asks at a time.
 */
struct gorgon_error *gorgon_folder_get(const char **ret);

#endif
