// SPDX-License-Identifier: MIT
// An .eh_frame. When it is found sound it can be given to the unwinder, whose searches then read nothing outside of
// it.

#include "fuzz.h"

#include "image/eh_frame.h"

#include <stdlib.h>
#include <string.h>

extern void __register_frame(void *);
extern void __deregister_frame(void *);
extern void *_Unwind_Find_FDE(void *pc, void *bases);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = calloc(1, size ?: 1), *inside;
	void *bases[3];

	if (!bytes)
		abort();
	if (size)
		memcpy(bytes, data, size);
	gorgon_eh_frame_is_terminated(bytes, size);
	if (gorgon_eh_frame_is_sound(bytes, size) && size > 4) {
		__register_frame(bytes);
		inside = _Unwind_Find_FDE((void *)(uintptr_t)0x1000, bases);
		if (inside && (inside < bytes || inside >= bytes + size))
			abort();
		_Unwind_Find_FDE(bytes, bases);
		__deregister_frame(bytes);
	}
	free(bytes);
	return 0;
}
