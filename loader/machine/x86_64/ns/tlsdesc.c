// SPDX-License-Identifier: MIT
// What tlsdesc.S has to know of the processor and of our structures.

#include "ns/thread.h"
#include "ns/tls.h"

#include <cpuid.h>

#define FXSAVE_SIZE 512

_Static_assert(offsetof(struct gorgon_thread, slots) == 16, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_thread, slot_count) == 24, "tlsdesc.S");
_Static_assert(sizeof(struct gorgon_tls_slot) == 16, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_tls_slot, block) == 8, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_tls_index, offset) == 8, "tlsdesc.S");

uint64_t gorgon_tlsdesc_state_size = FXSAVE_SIZE;
uint32_t gorgon_tlsdesc_has_xsave;

// CPUID leaf 1: the system uses XSAVE. Leaf 13: the size of the state that it has
// switched on (Intel SDM volume 1, chapter 13).
void gorgon_tlsdesc_init(void)
{
	unsigned eax, ebx, ecx, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
		return;
	__cpuid_count(13, 0, eax, ebx, ecx, edx);
	gorgon_tlsdesc_state_size = ebx;
	gorgon_tlsdesc_has_xsave = 1;
}
