/* SPDX-License-Identifier: MIT */
#ifndef GORGON_BASE_CHECKER_H
#define GORGON_BASE_CHECKER_H

#include <stdbool.h>

/* Whether the process's malloc() is a memory checker's: valgrind's or a sanitizer's. Nothing may change the sizes that code asks
 * for then. */
extern bool gorgon_checker;

#endif
