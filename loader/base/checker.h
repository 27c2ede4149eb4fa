/* SPDX-License-Identifier: MIT */
#ifndef GORGON_BASE_CHECKER_H
#define GORGON_BASE_CHECKER_H

#include <stdbool.h>

/* Whether the process's malloc() is a memory checker's: valgrind's or a sanitizer's. If it is, the
 * library asks it for exactly the size that private code asks for. */
extern bool gorgon_checker;

#endif
