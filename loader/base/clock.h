/* SPDX-License-Identifier: MIT */
/* Clocks in nanoseconds. See clock.c. */
#ifndef GORGON_BASE_CLOCK_H
#define GORGON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* What a clock says; 0 if there is no such clock (any more). */
uint64_t gorgon_clock_ns(clockid_t clock);
/* CLOCK_MONOTONIC. */
uint64_t gorgon_now(void);
/* The time in so many milliseconds, for pthread_cond_timedwait(). */
struct timespec gorgon_deadline(int timeout_ms);

#endif
