// SPDX-License-Identifier: MIT
// One of two libraries, UNIQUE_A and UNIQUE_B, with the same inline variable.

#include "unique.h"

#ifdef UNIQUE_A
extern "C" int *unique_a_at()
{
	return &unique::counter;
}
#else
extern "C" int *unique_b_at()
{
	return &unique::counter;
}
#endif
