/* SPDX-License-Identifier: MIT */
/* CLOCK_MONOTONIC. See clock.c. */
#ifndef GORGON_BASE_CLOCK_H
#define GORGON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In nanoseconds. */
uint64_t gorgon_now(void);
/* The time in so many milliseconds, for pthread_cond_timedwait(). */
struct timespec gorgon_deadline(int timeout_ms);

#endif
