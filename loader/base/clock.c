// SPDX-License-Identifier: MIT
// CLOCK_MONOTONIC, which times and deadlines are in, and clocks of processor time.

#include "clock.h"

uint64_t gorgon_clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t gorgon_now(void)
{
	return gorgon_clock_ns(CLOCK_MONOTONIC);
}

struct timespec gorgon_deadline(int timeout_ms)
{
	struct timespec ret;

	clock_gettime(CLOCK_MONOTONIC, &ret);
	ret.tv_sec += timeout_ms / 1000;
	ret.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (ret.tv_nsec >= 1000000000L) {
		ret.tv_nsec -= 1000000000L;
		ret.tv_sec++;
	}
	return ret;
}
