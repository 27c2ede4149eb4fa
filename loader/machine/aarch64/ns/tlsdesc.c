// SPDX-License-Identifier: MIT
// What tlsdesc.S has to know of the processor and of our structures.

#include "ns/thread.h"
#include "ns/tls.h"

#include <sys/auxv.h>

#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif

_Static_assert(offsetof(struct gorgon_thread, slots) == 16, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_thread, slot_count) == 24, "tlsdesc.S");
_Static_assert(sizeof(struct gorgon_tls_slot) == 16, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_tls_slot, module) == 0, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_tls_slot, block) == 8, "tlsdesc.S");
_Static_assert(offsetof(struct gorgon_tls_index, offset) == 8, "tlsdesc.S");

extern uint32_t gorgon_tlsdesc_has_sve;
uint32_t gorgon_tlsdesc_has_sve;

void gorgon_tlsdesc_init(void)
{
	gorgon_tlsdesc_has_sve = getauxval(AT_HWCAP) & HWCAP_SVE ? 1 : 0;
}
