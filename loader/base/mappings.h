/* SPDX-License-Identifier: MIT */
/* The process's number of mappings. See mappings.c. */
#ifndef GORGON_BASE_MAPPINGS_H
#define GORGON_BASE_MAPPINGS_H

#include <stdbool.h>

/* How many mappings the process may have, and how many it has. */
unsigned long gorgon_mappings_limit(void);
unsigned long gorgon_mappings_count(void);

/* Whether the process has so many mappings that the kernel refuses more; then *@limit is
 * how many it allows. */
bool gorgon_mappings_are_used_up(unsigned long *limit);

#endif
