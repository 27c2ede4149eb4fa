// SPDX-License-Identifier: MIT
// How much memory the code of a namespace holds, and a limit for it.
//
// Counted are what libpython has from malloc() (heap.c), what all code has mapped
// (memory.c), blocks of extensions (blocks.c), and blocks of the host that numpy has
// (data_handler.c). The limit is a soft one, because not all C code survives a malloc() that
// fails: who passes it is told, and told again for each sixteenth more, so that between two
// times there is memory for cleaning up. Beyond the hard limit allocations fail. Threads can be
// exempt while they are in code that would end the process without memory.

#include "usage.h"

#define NEVER UINT64_MAX

static __thread bool exempt __attribute__((tls_model("initial-exec")));

uint64_t gorgon_usage_held(const struct gorgon_usage *usage)
{
	return __atomic_load_n(&usage->heap_bytes, __ATOMIC_RELAXED) +
	       __atomic_load_n(&usage->mapped_bytes, __ATOMIC_RELAXED) +
	       __atomic_load_n(&usage->extension_bytes, __ATOMIC_RELAXED) +
	       __atomic_load_n(&usage->block_bytes, __ATOMIC_RELAXED);
}

void gorgon_usage_set_limit(struct gorgon_usage *usage, uint64_t limit, uint64_t hard_limit)
{
	__atomic_store_n(&usage->hard_limit, hard_limit, __ATOMIC_RELAXED);
	__atomic_store_n(&usage->alarm, limit, __ATOMIC_RELAXED);
	__atomic_store_n(&usage->limit, limit, __ATOMIC_RELEASE);
	__atomic_store_n(&usage->quick_below, limit ? 0 : usage->quick, __ATOMIC_RELEASE);
}

bool gorgon_usage_is_exceeded(struct gorgon_usage *usage)
{
	uint64_t limit = __atomic_load_n(&usage->limit, __ATOMIC_ACQUIRE),
		 now = gorgon_usage_held(usage);
	bool ret = limit && now > limit;

	__atomic_store_n(&usage->alarm, ret ? now + limit / 16 : limit, __ATOMIC_RELAXED);
	return ret;
}

bool gorgon_usage_allow_within(struct gorgon_usage *usage, size_t size)
{
	uint64_t limit = __atomic_load_n(&usage->limit, __ATOMIC_ACQUIRE), alarm, sum;

	if (!limit || exempt)
		return true;
	// The size of one allocation is below PTRDIFF_MAX, and so is the sum of all.
	sum = gorgon_usage_held(usage) + size;
	alarm = __atomic_load_n(&usage->alarm, __ATOMIC_RELAXED);
	if (sum <= limit) {
		// Well below: the next time is a first one again.
		if (alarm != NEVER && sum < limit - limit / 16)
			__atomic_store_n(&usage->alarm, limit, __ATOMIC_RELAXED);
		return true;
	}
	if (sum > alarm && __atomic_compare_exchange_n(&usage->alarm, &alarm, NEVER, false,
						       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		usage->exceeded(usage->ctx);
	return sum <= __atomic_load_n(&usage->hard_limit, __ATOMIC_RELAXED);
}

bool gorgon_usage_exempt(bool wanted)
{
	bool before = exempt;

	exempt = wanted;
	return before;
}
