/* SPDX-License-Identifier: MIT */
/* What /proc says of children. See proc_children.c. */
#ifndef GORGON_PROCESS_PROC_CHILDREN_H
#define GORGON_PROCESS_PROC_CHILDREN_H

#include <stdbool.h>

struct gorgon_children;

/* If @path is a file that the namespace of @children must not see as it is: open it. False: it is
 * another file. As @ret a descriptor, or -1 with errno. */
bool gorgon_proc_children_open(const struct gorgon_children *children, const char *path, int flags,
			       int *ret);

#endif
