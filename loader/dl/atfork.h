/* SPDX-License-Identifier: MIT */
/* What is done around fork(). See atfork.c. */
#ifndef GORGON_DL_ATFORK_H
#define GORGON_DL_ATFORK_H

#include <stdbool.h>

/* A caller of a fork() that skips the functions given to pthread_atfork() calls these around it. */
void gorgon_before_fork(void);
void gorgon_after_fork(bool child);

#endif
