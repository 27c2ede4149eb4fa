// SPDX-License-Identifier: MIT
// The clock that times and deadlines are in.

#include "clock.h"

uint64_t gorgon_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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
