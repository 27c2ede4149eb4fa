/* SPDX-License-Identifier: MIT */
/* What is done around fork(). See atfork.c. */
#ifndef GORGON_DL_ATFORK_H
#define GORGON_DL_ATFORK_H

#include <stdbool.h>

/* What a caller does around a fork() that does not call the functions which were given to
 * pthread_atfork(). */
void gorgon_before_fork(void);
void gorgon_after_fork(bool child);

#endif
