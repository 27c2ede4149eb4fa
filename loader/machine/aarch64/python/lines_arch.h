/* SPDX-License-Identifier: MIT */
/* Python lines that have addresses: not on this machine. See ../../../python/lines.c. */
#ifndef GORGON_MACHINE_PYTHON_LINES_ARCH_H
#define GORGON_MACHINE_PYTHON_LINES_ARCH_H

#define GORGON_LINES_SUPPORTED 0

#endif
