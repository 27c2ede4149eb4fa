/* SPDX-License-Identifier: MIT */
/* A folder of this process for files that must not outlive it. See folder.c. */
#ifndef GORGON_ISOLATE_FOLDER_H
#define GORGON_ISOLATE_FOLDER_H

#include "gorgon.h"

/*
 * Get the folder; the first call makes it. A forked child gets a folder of its own. Only one
 * thread may call at a time.
 */
struct gorgon_error *gorgon_folder_get(const char **ret);

#endif
