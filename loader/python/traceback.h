/* SPDX-License-Identifier: MIT */
/* Python lines in a report of a fault. See traceback.c. */
#ifndef GORGON_PYTHON_TRACEBACK_H
#define GORGON_PYTHON_TRACEBACK_H

#include <stdbool.h>

/* As write_python of struct gorgon_ns_user. */
bool gorgon_traceback_write(void *interp, int fd);

#endif
