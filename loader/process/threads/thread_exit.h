/* SPDX-License-Identifier: MIT */
/* A thread's end. See thread_exit.c. */
#ifndef GORGON_PROCESS_THREAD_EXIT_H
#define GORGON_PROCESS_THREAD_EXIT_H

#include "ns/thread.h"

/* For gorgon_thread_at_exit(). */
gorgon_thread_exit gorgon_thread_on_exit;

/* In a forked child: only the calling thread is left. The lock is held. */
void gorgon_thread_after_fork(void);

#endif
